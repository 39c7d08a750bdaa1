"""`smokescope export`: a model for other engines."""

from pathlib import Path
from typing import Annotated

import typer

from smokescope.errors import SmokescopeError
from smokescope.settings.choices import Format


def export(
    format: Annotated[
        Format, typer.Option(help="Output format; onnx: one file; openvino: an .xml and a .bin file.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File to write, .onnx or .xml.")],
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Safetensors model; default: the embedded model.")
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Compute in 8 bits: faster and smaller (openvino only).")
    ] = False,
    calibrate: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Folder of typical pictures to tune --int8 on; may be repeated."),
    ] = None,
    monte_carlo: Annotated[
        bool,
        typer.Option(
            "--monte-carlo", help="Also write a model that draws samples: NAME.samples.onnx or .xml."
        ),
    ] = False,
) -> None:
    """Write a model that runs without PyTorch.

    It takes RGB pictures (uint8, any number, any size) and gives probability, total, aleatoric and epistemic
    maps of the same size: resizing, normalising, temperature and uncertainty are part of the file. Before it
    is written, its results are compared with PyTorch's. See docs/export.md.
    """
    from smokescope.export.files import export_model

    if calibrate and not int8:
        raise SmokescopeError("--calibrate needs --int8: add it, or leave --calibrate out")
    found = export_model(model, format, out, int8=int8, calibrate=calibrate or [], monte_carlo=monte_carlo)
    told = (
        f"its maps differ from PyTorch's by {found.difference:.1e} at most"
        if found.correlation is None
        else f"in 8 bits, its maps follow PyTorch's with a correlation of {found.correlation:.3f} or more"
    )
    typer.echo(f"{out} was written; {told}")
