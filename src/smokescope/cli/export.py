"""`smokescope export`: a model for other engines."""

from pathlib import Path
from typing import Annotated

import typer

from smokescope.errors import SmokescopeError
from smokescope.settings.choices import Format


def export(
    format: Annotated[Format, typer.Option(help="onnx: one file; openvino: .xml and .bin beside it.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write, .onnx or .xml.")],
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A safetensors model; by default the embedded one.")
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Compute in 8 bits: faster and smaller; openvino only.")
    ] = False,
    calibrate: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Real pictures for --int8, such as it will see; may be repeated."),
    ] = None,
    monte_carlo: Annotated[
        bool,
        typer.Option("--monte-carlo", help="Also write a model that samples: NAME.samples.onnx or .xml."),
    ] = False,
) -> None:
    """Write a model that runs without PyTorch.

    It takes RGB pictures (uint8, any number, any size) and gives probability, total, aleatoric and epistemic
    maps of their size: resizing, normalising, temperature and uncertainty are inside. Before it is written it
    is run, and compared with PyTorch. docs/export.md says more.
    """
    from smokescope.export.files import export_model

    if calibrate and not int8:
        raise SmokescopeError("--calibrate is for --int8, which is not given")
    found = export_model(model, format, out, int8=int8, calibrate=calibrate or [], monte_carlo=monte_carlo)
    told = (
        f"its maps differ from PyTorch's by {found.difference:.1e} at most"
        if found.correlation is None
        else f"in 8 bits, its maps follow PyTorch's with a correlation of {found.correlation:.3f} or more"
    )
    typer.echo(f"{out} is written; {told}")
