"""From a model file to exported files, tried against PyTorch before they get their names."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from smokescope.checkpoints.embedded import model_file
from smokescope.checkpoints.files import summarise
from smokescope.checkpoints.model import load_model
from smokescope.data.files import try_file, write_together
from smokescope.errors import SmokescopeError
from smokescope.export.calibration import calibration_pictures
from smokescope.export.int8 import quantise
from smokescope.export.onnx import need, to_onnx
from smokescope.export.openvino import to_openvino
from smokescope.export.samples import samples_to_onnx
from smokescope.export.trial import check_correlation, check_difference
from smokescope.inference.engines.exported import samples_file
from smokescope.inference.engines.formats import ENDINGS
from smokescope.inference.engines.maps import Pixels
from smokescope.models.pipeline import Pipeline
from smokescope.settings.choices import Format

TRIAL = 6  # pictures on which 8 bits are tried
OWN = ("layout", "class", "weights")  # of the safetensors file: how its weights are stored says nothing here


class Agreement(NamedTuple):
    """How far exported files follow PyTorch."""

    difference: float
    """The largest of any value in float32."""
    correlation: float | None = None
    """The least of any map in 8 bits."""


def export_model(
    model: Path | None,
    format: Format,
    out: Path,
    *,
    int8: bool = False,
    calibrate: Sequence[Path] = (),
    monte_carlo: bool = False,
) -> Agreement:
    """Export a model file; what is written has been run, and compared with PyTorch.

    Args:
        model: The safetensors file; None is the embedded model.
        format: "onnx" writes one file, "openvino" two: .xml and, beside it, .bin.
        out: The file to write, with the format's ending.
        int8: Compute in 8 bits.
        calibrate: Folders of real pictures for that; without any, they are made up.
        monte_carlo: Write a second model beside it, which samples, in float32.

    Raises:
        SmokescopeError: The model cannot be read, the file cannot be written, a package is missing, or the
            engine's answer is not PyTorch's.
    """
    if out.suffix != ENDINGS[format]:
        raise SmokescopeError(f"{out} must end in {ENDINGS[format]}: files are recognised by their ending")
    if int8 and format != "openvino":
        raise SmokescopeError("--int8 is not available for ONNX: export with --format openvino")
    need("onnxruntime" if format == "onnx" else "openvino", *(["nncf"] if int8 else []))
    try_file(out)  # now: exporting takes minutes
    pipeline, notes = _read(model)
    calibration = calibration_pictures(calibrate) if int8 else []  # now: a bad folder is told of at once
    beside = _files(samples_to_onnx(pipeline, notes), format, samples_file(out)) if monte_carlo else {}
    onnx = to_onnx(pipeline, notes)
    files = _files(onnx, format, out) | beside
    agreement = Agreement(check_difference(files, out, pipeline))
    if int8:
        files = _files(onnx, format, out, calibration) | beside
        trial = calibration_pictures(calibrate, TRIAL, seed=1)
        agreement = agreement._replace(correlation=check_correlation(files, out, pipeline, trial))
    write_together(files)
    return agreement


def _files(onnx: bytes, format: Format, out: Path, calibration: Sequence[Pixels] = ()) -> dict[Path, bytes]:
    """The files to write, and what is in them; in 8 bits if there are pictures for that."""
    if format == "onnx":
        return {out: onnx}
    both = to_openvino(onnx, partial(quantise, calibration=calibration) if calibration else None)
    return {out.with_suffix(".bin"): both.bin, out: both.xml}


def _read(model: Path | None) -> tuple[Pipeline, dict[str, str]]:
    """A model, and what its file says of it."""
    with model_file(model) as path:
        pipeline = load_model(path)
        notes = {key: value for key, value in summarise(path).metadata.items() if key not in OWN}
    return pipeline, notes
