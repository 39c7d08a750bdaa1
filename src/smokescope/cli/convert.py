"""`smokescope convert`: foreign encoder weights to safetensors, and models to smaller or retuned ones."""

from pathlib import Path
from typing import Annotated

import typer

from smokescope.errors import SmokescopeError
from smokescope.settings.choices import Stride


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="A model (.safetensors), or torchvision's ResNet-50 weights (.pth)."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Safetensors file to write.")],
    int8: Annotated[bool, typer.Option("--int8", help="Store the model's weights in 8 bits.")] = False,
    override: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Override a value, e.g. verdicts.smoke_above=0.6."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Store these figures (from `evaluate --json`) in the model file."),
    ] = None,
    stride: Annotated[
        Stride | None,
        typer.Option(help="ResNet-50 variant: torchvision's v1.5 if not given, or the original v1."),
    ] = None,
) -> None:
    """Shrink a model, change its thresholds or input size, or convert ResNet-50 weights to safetensors.

    A .pth file is read as weights only: code in it is never run. Anything but ResNet-50 is refused.
    """
    if out.suffix.lower() != ".safetensors":
        raise SmokescopeError(f"{out} must end in .safetensors: files are recognised by their ending")
    if source.suffix.lower() == ".safetensors":
        if stride:
            raise SmokescopeError(f"{source} is a model, whose strides are fixed: leave --stride out")
        from smokescope.checkpoints.rewrite import rewrite_model

        rewrite_model(source, out, _numbers(override or []), int8=int8, figures=figures)
        typer.echo(f"{out}: {out.stat().st_size / 2**20:.1f} MiB")
        return
    if int8 or override or figures:
        raise SmokescopeError(
            f"{source} is not a .safetensors model, which --int8, --set and --figures need: leave them out"
        )
    from smokescope.checkpoints.encoder import convert_encoder

    strides = stride or "v1.5"
    convert_encoder(source, out, strides)
    typer.echo(f"{out}: ResNet-50 encoder with {strides} strides")


def _numbers(overrides: list[str]) -> dict[str, float]:
    found = {}
    for override in overrides:
        name, _, value = override.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise SmokescopeError(f"{override} is not NAME=NUMBER") from None
    return found
