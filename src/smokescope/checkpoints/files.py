"""Safetensors files: tensors and what they say of themselves, read without running anything."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import NamedTuple, Protocol, cast

import safetensors
import safetensors.torch
from torch import Tensor

from smokescope.checkpoints.quantise import SCALE
from smokescope.data.files import open_input, write_atomically
from smokescope.errors import SmokescopeError


class Summary(NamedTuple):
    """What a safetensors file holds, from its header alone."""

    metadata: dict[str, str]
    tensors: int
    parameters: int
    """Values in all tensors together, but for the scales of 8-bit ones."""
    dtypes: list[str]
    bytes: int


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read a safetensors file: its tensors by name, on the CPU, and its metadata.

    Raises:
        SmokescopeError: The file is missing, damaged, or something else; a pickle is not opened.
    """
    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118


def summarise(path: Path) -> Summary:
    """Say what a safetensors file holds without reading its tensors.

    Raises:
        SmokescopeError: As for `read_tensors`.
    """
    with _opened(path) as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        scales = {name + SCALE for name, each in slices.items() if each.get_dtype() == "I8"}
        return Summary(
            metadata=dict(sorted((file.metadata() or {}).items())),
            tensors=len(slices),
            parameters=sum(prod(each.get_shape()) for name, each in slices.items() if name not in scales),
            dtypes=sorted({each.get_dtype() for each in slices.values()}),
            bytes=path.stat().st_size,
        )


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file whole or not at all.

    Raises:
        SmokescopeError: The file cannot be written.
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, safetensors.torch.save(plain, dict(metadata)))


class _Slice(Protocol):
    def get_shape(self) -> list[int]: ...
    def get_dtype(self) -> str: ...


class _File(Protocol):
    """The part of `safetensors.safe_open`, which has no types, that is used here. It is no dict."""

    def keys(self) -> list[str]: ...
    def metadata(self) -> dict[str, str] | None: ...
    def get_tensor(self, name: str) -> Tensor: ...
    def get_slice(self, name: str) -> _Slice: ...


@contextmanager
def _opened(path: Path) -> Iterator[_File]:
    with open_input(path) as stream:
        start = stream.read(4)
    try:
        with safetensors.safe_open(path, framework="pt", device="cpu") as file:
            yield cast(_File, file)
    except safetensors.SafetensorError:
        # Only now: a good file may begin with a pickle's 0x80, as the lowest byte of its header's length.
        if start == b"PK\x03\x04" or (
            start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
        ):
            raise SmokescopeError(
                f"{path} is a PyTorch pickle, which could run code, and is not opened: "
                "`smokescope convert` turns one of ResNet-50 weights into safetensors"
            ) from None
        raise SmokescopeError(
            f"{path} is not a safetensors file, or is damaged or cut short: get a fresh copy"
        ) from None
