"""What comes in is checked before anything of it counts.

A batch is `probability` [N, H, W] in [0, 1] and `mask` [N, H, W], smoke where it is above 0.5. Each of the N
is one picture; pictures of another size come in another call. Uncertainty maps are in nats.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from smokescope.precision import at_least_float32
from smokescope.uncertainty import LN2

_NATS_SLACK = 1e-3  # rounding of half-precision maps; a map in bits is far outside


class UncertaintyMaps(Protocol):
    """The three maps in nats, each [N, H, W]; a `smokescope.uncertainty.Decomposition` is one."""

    @property
    def total(self) -> Tensor:
        """Entropy of the mean prediction."""
        ...

    @property
    def aleatoric(self) -> Tensor:
        """Mean entropy of the predictions."""
        ...

    @property
    def epistemic(self) -> Tensor:
        """Total less aleatoric."""
        ...


class CheckedMaps(NamedTuple):
    """The three maps once checked."""

    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor


def check_pictures(probability: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Check a batch and return it as float32 or float64 and bool, both [N, H, W].

    Raises:
        ValueError: The shapes are not the same [N, H, W] with at least one pixel, or a probability is not a
            number in [0, 1].
    """
    if probability.ndim != 3 or probability.shape != mask.shape or probability.numel() == 0:
        raise ValueError(
            "probability and mask must have the same shape [N, H, W] with at least one pixel, "
            f"not {list(probability.shape)} and {list(mask.shape)}"
        )
    probability = _check_range("probability", probability, 0.0, 1.0)
    return probability, mask if mask.dtype == torch.bool else mask > 0.5


def check_nats(name: str, value: Tensor, shape: torch.Size) -> Tensor:
    """Check an uncertainty map [N, H, W] in nats; returned in [0, ln 2], without what rounding put outside.

    Raises:
        ValueError: The map has another shape than the pictures, or values that are no binary entropy in nats.
    """
    if value.shape != shape:
        raise ValueError(f"{name} must have the pictures' shape {list(shape)}, not {list(value.shape)}")
    return _check_range(name, value, -_NATS_SLACK, LN2 + _NATS_SLACK).clamp(0, LN2)


def check_maps(maps: UncertaintyMaps, shape: torch.Size, kind: str = "") -> CheckedMaps:
    """Check the three maps as `check_nats` does one; `kind` goes before their names in an error."""
    return CheckedMaps(
        check_nats(f"{kind}total uncertainty", maps.total, shape),
        check_nats(f"{kind}aleatoric uncertainty", maps.aleatoric, shape),
        check_nats(f"{kind}epistemic uncertainty", maps.epistemic, shape),
    )


def _check_range(name: str, value: Tensor, low: float, high: float) -> Tensor:
    if not value.is_floating_point():
        raise ValueError(f"{name} must be a floating-point tensor, not {value.dtype}")
    value = at_least_float32(value)
    smallest, largest = torch.stack(value.aminmax()).tolist()  # one wait for the device; a NaN shows in both
    if not (smallest >= low and largest <= high):
        raise ValueError(f"{name} must be in [{low:.4g}, {high:.4g}], found {smallest:.6g} to {largest:.6g}")
    return value
