"""Where to compute."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from smokescope.errors import SmokescopeError

if TYPE_CHECKING:
    import torch

GPU_FILES = ("/dev/nvidiactl", "/dev/nvmap", "/dev/kfd", "/dev/dxg")  # NVIDIA, Jetson, AMD, Windows' Linux


def choose_device(name: str) -> "torch.device":
    """Turn what the user asked for into a device that is there.

    Args:
        name: "auto" for the best there is, or a device's name.

    Raises:
        SmokescopeError: There is no such device on this machine.
    """
    import torch  # here: exported models run without it

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


def has_gpu() -> bool:
    """Whether torch has a GPU; where Linux shows none, torch is not loaded, which takes seconds, to ask."""
    if sys.platform == "linux" and not any(Path(each).exists() for each in GPU_FILES):
        return False
    return devices()[0] != "cpu"
