"""What 8 bits cost and gain: figures and maps beside float32's, size and time of a picture.

    python -m benchmarks.quantisation --data smoke5k/train --negatives negatives --folds F --fold 1
        [--model M] [--calibrate DIR] [--kept 'REGEX REGEX' ...]

The first row of 8 bits is what `smokescope export --int8` writes. Each `--kept` adds one in which just those
nodes stay in float32 ('' is none), so that the list in `smokescope.export.int8` can be put to the test.
"""

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.pictures import chosen, options
from benchmarks.timing import compare, table
from smokescope.benchmark.picture import soft_colours
from smokescope.checkpoints.embedded import model_file
from smokescope.checkpoints.model import load_model
from smokescope.data.layouts import Pair
from smokescope.export.calibration import calibration_pictures
from smokescope.export.int8 import KEPT, quantise
from smokescope.export.onnx import to_onnx
from smokescope.export.openvino import to_openvino
from smokescope.export.trial import joint_moments
from smokescope.inference.engines.base import Engine
from smokescope.inference.engines.maps import Maps
from smokescope.inference.evaluation import read_ahead
from smokescope.inference.segmenter import load_engine
from smokescope.metrics import SmokeMetrics
from smokescope.metrics.agreement import merge_moments, pearson
from smokescope.models.pipeline import Pipeline
from smokescope.uncertainty import Decomposition

FLOAT, INT = "float32", "int8"
MAPS = Maps._fields


class Measured:
    """An engine's figures, and its maps' moments with those of float32."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.metrics, self.parts = SmokeMetrics(engine.threshold), list[Tensor]()

    def add(self, maps: Maps, reference: Maps, smoke: Tensor) -> None:
        """Take in a picture's maps, by this engine and in float32."""
        tensors = Decomposition(*map(torch.from_numpy, maps))
        self.metrics.update(tensors.probability, smoke, tensors)
        self.parts.append(joint_moments(maps, reference))

    def row(self, name: str, size: int, seconds: float, eager: float) -> tuple[str, ...]:
        """All of it, as a table shows it."""
        report = self.metrics.compute()
        figures = (report["f_beta"]["mean"], report["ece"]["image"], report["alarm"]["auroc"])
        related = [pearson(each) for each in merge_moments(torch.stack(self.parts))]
        told = ["-" if each is None else f"{each:.4f}" for each in (*figures, *related)]
        return name, *told, f"{size / 2**20:.1f}", f"{1e3 * seconds:.0f}", f"{eager / seconds:.2f}"


def measure(engines: dict[str, Engine], pairs: Sequence[Pair]) -> dict[str, Measured]:
    measured = {name: Measured(engine) for name, engine in engines.items()}
    for reading in read_ahead(pairs):
        picture, mask = reading.result()
        smoke = torch.from_numpy(mask > 0.5)[None]
        maps = {name: each.engine.predict([picture], "never") for name, each in measured.items()}
        for name, each in measured.items():
            each.add(maps[name], maps[FLOAT], smoke)
    return measured


def export(
    pipeline: Pipeline, folder: Path, calibrate: Sequence[Path], kept: Sequence[str]
) -> dict[str, Path]:
    onnx, pictures = to_onnx(pipeline, {"sha256": "of no matter"}), calibration_pictures(calibrate)
    scopes = {INT: KEPT, **{f"{INT}, kept {each!r}": each.split() for each in kept}}
    made = {FLOAT: to_openvino(onnx)}
    for name, own in scopes.items():
        made[name] = to_openvino(onnx, partial(quantise, calibration=pictures, kept=own))
    files = {name: folder / f"{number}.xml" for number, name in enumerate(made)}
    for name, path in files.items():
        path.write_bytes(made[name].xml)
        path.with_suffix(".bin").write_bytes(made[name].bin)
    return files


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--calibrate", type=Path, action="append", default=[])
    parser.add_argument("--kept", action="append", default=[], help="names that stay in float32")
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    pairs = chosen(given)
    with model_file(given.model) as path:
        pipeline = load_model(path)
    with tempfile.TemporaryDirectory() as folder:
        files = export(pipeline, Path(folder), given.calibrate, given.kept)
        engines = {name: load_engine(path, "cpu") for name, path in files.items()}
        sizes = {name: path.with_suffix(".bin").stat().st_size for name, path in files.items()}
        measured = measure(engines, pairs)
        picture, eager = [soft_colours(480, 640)], load_engine(given.model, "cpu")
        turns = {name: partial(each.predict, picture, "never") for name, each in engines.items()}
        seconds = compare({"eager": partial(eager.predict, picture, "never"), **turns}, given.rounds)
    table(
        f"8 bits, {len(pairs)} pictures; the times are those of one of 640 x 480",
        (
            *("", "F mean", "ece image", "alarm auroc", *(f"{name}, r" for name in MAPS)),
            *("MiB", "ms", "times faster than eager"),
        ),
        [each.row(name, sizes[name], seconds[name], seconds["eager"]) for name, each in measured.items()],
    )


if __name__ == "__main__":
    main()
