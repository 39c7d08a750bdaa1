"""Ours beside a bare ResNet-50 FCN of stride 32, in every engine: what the maps cost.

    python -m benchmarks.engines [--model MODEL.safetensors] [--int8]

All take turns, one picture of 640 x 480 each. Ours is timed as it is used, from 8-bit pixels to four maps at
their size; the FCN from floating-point pixels to its logits, which is the least that a network of that size
can do. Untrained weights are as fast as others. `--int8` adds both in 8 bits, which takes minutes to prepare.

OpenVINO leaves out what a network does not need: of the last block of stages 1 to 3 the FCN reads every other
row and column, and three quarters are then never computed. Ours reads all of it, as any network that reads
features of every stage does. So OpenVINO also runs a whole FCN, in which nothing can be left out.
"""

import argparse
import logging
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.model import FCN
from benchmarks.timing import compare, table
from smokescope.benchmark.measure import PAUSE
from smokescope.benchmark.picture import soft_colours
from smokescope.checkpoints.model import save_model
from smokescope.export.files import export_model
from smokescope.export.int8 import need_nncf
from smokescope.export.onnx import quietly
from smokescope.inference.engines.exported import threads
from smokescope.inference.engines.formats import ENDINGS
from smokescope.inference.engines.openvino_graph import SETTINGS
from smokescope.inference.segmenter import load_engine
from smokescope.models import DEFAULT, InputSettings, Pipeline, ResNet, SmokeBVM
from smokescope.settings.choices import Format

if TYPE_CHECKING:
    from openvino import Model

HEIGHT, WIDTH = 480, 640
MOST = 1.35  # times the FCN's time that ours may take, in every engine
LEAST = 2.5  # times faster that 8 bits in OpenVINO should be than our own eager pass
OURS, BARE, WHOLE = "ours, all maps", "bare ResNet-50 FCN", "whole FCN"
INT8 = "OpenVINO, int8"
OPENVINO = {**SETTINGS, "INFERENCE_NUM_THREADS": threads()}
FORMATS: dict[Format, str] = {"onnx": "onnxruntime", "openvino": "OpenVINO"}

Work = Callable[[], object]


def ours(model: Path, folder: Path, int8: bool) -> dict[str, Work]:
    """Our model in every engine, as the Segmenter runs it."""
    picture = [soft_colours(HEIGHT, WIDTH)]
    files = {"PyTorch": model}
    for format, name in FORMATS.items():
        files[name] = folder / f"ours{ENDINGS[format]}"
        export_model(model, format, files[name])
    if int8:
        files[INT8] = folder / "int8.xml"
        export_model(model, "openvino", files[INT8], int8=True)

    def predicting(path: Path) -> Work:
        engine = load_engine(path, "cpu")
        return lambda: engine.predict(picture, "never")

    return {name: predicting(path) for name, path in files.items()}


class WholeFCN(FCN):
    """An FCN that gives a value of each stage away, for which all of it must be computed."""

    def forward(self, pictures: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        """Logits [N, 1, H, W], and values [N, 1, 1, 1]."""
        features = self.encoder(pictures)
        return self.read(features, pictures), *(each[:, :1, :1, :1] for each in features[:-1])


def traced(network: nn.Module, path: Path) -> Path:
    """A network as an ONNX file, for pictures of one size."""
    example = torch.rand(1, 3, HEIGHT, WIDTH)
    torch.onnx.export(network, (example,), path, dynamo=True, input_names=["pixels"], verbose=False)
    return path


def bare(folder: Path) -> dict[str, Work]:
    """The FCN where nothing is left out anyway."""
    import onnxruntime

    fcn = FCN(ResNet()).eval()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads()
    path = traced(fcn, folder / "bare.onnx")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    fcn.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    pixels = torch.rand(1, 3, HEIGHT, WIDTH)
    given, last = {"pixels": pixels.numpy()}, pixels.contiguous(memory_format=torch.channels_last)
    return {
        "PyTorch": torch.inference_mode()(lambda: fcn(last)),
        "onnxruntime": lambda: session.run(None, given),
    }


def in_openvino(network: FCN, path: Path, int8: bool) -> dict[str, Work]:
    """An FCN in OpenVINO."""
    import openvino

    given = torch.rand(1, 3, HEIGHT, WIDTH).numpy()

    def inferring(model: "Model") -> Work:
        request = openvino.Core().compile_model(model, "CPU", OPENVINO).create_infer_request()
        return lambda: request.infer([given])

    graph = openvino.Core().read_model(traced(network.eval(), path))
    eight = {INT8: inferring(eight_bits(graph, given))} if int8 else {}
    return {"OpenVINO": inferring(graph), **eight}


def eight_bits(graph: "Model", pixels: NDArray[np.float32]) -> "Model":
    """All of a graph in 8 bits, as NNCF has it by itself."""
    need_nncf()
    import nncf

    with quietly():
        quantised: Model = nncf.quantize(graph, nncf.Dataset([pixels]), subset_size=1)
    return quantised


def compared(own: float, other: float | None) -> tuple[str, str]:
    """Another's time in ms, and how many times as long ours is."""
    if other is None:
        return "", ""
    return f"{1e3 * other:.0f}", f"{own / other:.2f}{'' if own <= MOST * other else f', above {MOST}'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, help="a safetensors model; by default an untrained network")
    parser.add_argument("--int8", action="store_true", help="both networks in 8 bits too")
    parser.add_argument("--rounds", type=int, default=20)
    given, _ = parser.parse_known_args()
    torch.manual_seed(0)
    logging.disable(logging.WARNING)  # the exporter tells of its own affairs
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        if given.model is None:
            given.model = folder / "untrained.safetensors"
            save_model(Pipeline(SmokeBVM(DEFAULT), InputSettings(height=HEIGHT, width=WIDTH)), given.model)
        networks = {
            OURS: ours(given.model, folder, given.int8),
            BARE: bare(folder) | in_openvino(FCN(ResNet()), folder / "bare.onnx", given.int8),
            WHOLE: in_openvino(WholeFCN(ResNet()), folder / "whole.onnx", given.int8),
        }
        turns = {f"{name}, {engine}": work for name in networks for engine, work in networks[name].items()}
        seconds = compare(turns, given.rounds, pause=PAUSE)
    eager = seconds[f"{OURS}, PyTorch"]
    rows = []
    for engine in networks[OURS]:
        own = seconds[f"{OURS}, {engine}"]
        others = [seconds.get(f"{name}, {engine}") for name in (BARE, WHOLE)]
        times = [cell for other in others for cell in compared(own, other)]
        rows.append((engine, f"{1e3 * own:.0f}", *times, f"{eager / own:.2f}"))
    header = ("", "ours, ms", "bare FCN, ms", "times it", "whole FCN, ms", "times it", "faster than eager")
    table(f"Engines, one picture of {WIDTH} x {HEIGHT}", header, rows)
    if given.int8 and eager < LEAST * seconds[f"{OURS}, {INT8}"]:
        print(f"\n8 bits are not {LEAST} times faster than our eager pass.")


if __name__ == "__main__":
    main()
