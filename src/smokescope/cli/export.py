"""`smokescope export`: a model for other engines."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class FormatChoice(StrEnum):
    """As `smokescope.export.files.Format`, which would load torch."""

    onnx = "onnx"
    openvino = "openvino"


def export(
    format: Annotated[FormatChoice, typer.Option(help="onnx: one file; openvino: .xml and .bin beside it.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write, .onnx or .xml.")],
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A safetensors model; by default the embedded one.")
    ] = None,
) -> None:
    """Write a model that runs without PyTorch.

    It takes RGB pictures (uint8, any number, any size) and gives probability, total, aleatoric and epistemic
    maps of their size: resizing, normalising, temperature and uncertainty are inside. Before it is written it
    is run, and compared with PyTorch. docs/export.md says more.
    """
    from smokescope.export.files import export_model

    difference = export_model(model, format.value, out)
    typer.echo(f"{out} is written; its maps differ from PyTorch's by {difference:.1e} at most")
