"""From a model file to exported files, tried against PyTorch before they get their names."""

import tempfile
from importlib.resources import as_file
from pathlib import Path
from typing import Literal

import numpy as np

from smokescope.checkpoints.embedded import embedded_weights
from smokescope.checkpoints.files import summarise
from smokescope.checkpoints.model import load_model
from smokescope.data.files import write_together
from smokescope.errors import SmokescopeError
from smokescope.export.onnx import describe, need, to_onnx
from smokescope.export.openvino import to_openvino
from smokescope.inference.engines.torch import TorchEngine
from smokescope.inference.segmenter import load_engine
from smokescope.models.pipeline import Pipeline

Format = Literal["onnx", "openvino"]

SUFFIXES: dict[Format, str] = {"onnx": ".onnx", "openvino": ".xml"}
TOLERANCE = 1e-4
"""The most by which any value of any map may differ from PyTorch's."""
OWN = ("layout", "class", "weights")  # of the safetensors file: how its weights are stored says nothing here


def export_model(model: Path | None, format: Format, out: Path) -> float:
    """Export a model file; what is written has been run, and compared with PyTorch.

    Args:
        model: The safetensors file; None is the embedded model.
        format: "onnx" writes one file, "openvino" two: .xml and, beside it, .bin.
        out: The file to write, with the format's ending.

    Returns:
        The largest difference from PyTorch that was found.

    Raises:
        SmokescopeError: The model cannot be read, the file cannot be written, a package is missing, or the
            engine's answer is not PyTorch's.
    """
    if out.suffix != SUFFIXES[format]:
        raise SmokescopeError(f"{out} must end in {SUFFIXES[format]}: loading goes by a file's ending")
    need("onnxruntime" if format == "onnx" else "openvino")
    pipeline, notes = _read(model)
    files = exported_files(pipeline, notes, format, out)
    difference = try_out(files, out, pipeline)
    if not difference <= TOLERANCE:
        raise SmokescopeError(
            f"{out} was not written: its maps would differ from PyTorch's by {difference:.1e}, "
            f"which is more than {TOLERANCE:.0e}"
        )
    write_together(files)
    return difference


def exported_files(pipeline: Pipeline, notes: dict[str, str], format: Format, out: Path) -> dict[Path, bytes]:
    """The files to write, and what is in them."""
    onnx = to_onnx(pipeline, notes)
    if format == "onnx":
        return {out: onnx}
    both = to_openvino(onnx, describe(pipeline, notes), pipeline.input)
    return {out.with_suffix(".bin"): both.bin, out: both.xml}


def try_out(files: dict[Path, bytes], out: Path, pipeline: Pipeline) -> float:
    """Run exported files on a few pictures of noise: the largest difference from PyTorch's maps."""
    with tempfile.TemporaryDirectory() as folder:
        for path, data in files.items():
            (Path(folder) / path.name).write_bytes(data)
        theirs, ours = load_engine(Path(folder) / out.name, "cpu"), TorchEngine(pipeline, "cpu")
        chance, worst = np.random.default_rng(0), [0.0]
        for count, height, width in ((1, 480, 640), (2, 301, 199)):
            noise = [chance.integers(0, 256, (height, width, 3), dtype=np.uint8) for _ in range(count)]
            pairs = zip(theirs.predict(noise, "never"), ours.predict(noise, "never"), strict=True)
            worst += [float(np.abs(their - our).max()) for their, our in pairs]
        return float(np.max(worst))  # which is undefined if one is


def _read(model: Path | None) -> tuple[Pipeline, dict[str, str]]:
    """A model, and what its file says of it."""
    if model is None:
        embedded = embedded_weights()
        if embedded is None:
            raise SmokescopeError("this build of smokescope ships no weights: name a model file with --model")
        with as_file(embedded) as path:
            return _read(path)
    pipeline = load_model(model)
    notes = {key: value for key, value in summarise(model).metadata.items() if key not in OWN}
    return pipeline, notes
