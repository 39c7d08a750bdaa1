"""Where to compute, and what to say when there is no room."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from smokescope.errors import SmokescopeError

if TYPE_CHECKING:
    import torch

DEVICE_HELP = "Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps."

# Elsewhere than on CUDA, torch tells of it in a bare RuntimeError.
_NO_ROOM = ("can't allocate memory", "not enough memory", "out of memory")


def choose_device(name: str) -> "torch.device":
    """Turn what the user asked for into a device that is there.

    Raises:
        SmokescopeError: There is no such device, or not on this machine.
    """
    import torch

    there = devices()
    if name == "auto":
        return torch.device(there[0])
    if name == "cuda" and any(each.startswith("cuda") for each in there):
        return torch.device(name)
    if name not in there:
        raise SmokescopeError(f"there is no device {name!r} here: choose auto or one of {', '.join(there)}")
    return torch.device(name)


def devices() -> list[str]:
    """Names of this machine's devices, the best first."""
    import torch

    there = (
        [f"cuda:{index}" for index in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    )
    if torch.backends.mps.is_available():
        there.append("mps")
    return [*there, "cpu"]


@contextmanager
def enough_memory(path: Path) -> Iterator[None]:
    """Turn running out of memory, while working on a file, into a sentence that names it."""
    import torch

    try:
        yield
    except (MemoryError, RuntimeError) as error:
        told = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if told or any(words in str(error) for words in _NO_ROOM):
            raise SmokescopeError(f"{path} does not fit into the memory: make it smaller first") from error
        raise
