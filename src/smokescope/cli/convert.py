"""`smokescope convert`: foreign encoder weights to safetensors."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class StrideChoice(StrEnum):
    """Where a stage of the network strides."""

    V1 = "v1"
    V1_5 = "v1.5"


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="ResNet-50 weights as torchvision saves them (.pth).")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The safetensors file to write.")],
    stride: Annotated[
        StrideChoice, typer.Option(help="Where the network strides: torchvision's v1.5, or the original v1.")
    ] = StrideChoice.V1_5,
) -> None:
    """Turn ResNet-50 weights into safetensors.

    The source is read as weights only: code in it is never run. Anything but ResNet-50 is refused.
    """
    from smokescope.checkpoints.encoder import convert_encoder

    convert_encoder(source, out, stride.value)
    typer.echo(f"{out}: ResNet-50 encoder with {stride.value} strides")
