"""What every figure stands on: the one decision, pixel counts, and a metric that streams."""

from collections.abc import Callable
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torchmetrics import Metric

DECISION = 0.5  # a pixel is called smoke when its probability *exceeds* this: a tie is "no smoke", everywhere


class StreamingMetric(Metric):
    """A torchmetrics metric whose states are sums, counts and (for picture scores only) lists.

    States merge by adding up, so updates may come in any order, in any batches and in any processes.
    """

    is_differentiable = False
    full_state_update = False

    def __init__(self) -> None:
        # compute is cheap, and torchmetrics' cache outlives a merge_state
        super().__init__(compute_with_cache=False)

    @property
    def dtype(self) -> torch.dtype:
        """Always float64, as our lists are: torchmetrics sends a process's empty list as this type."""
        return torch.float64

    @property
    def update_called(self) -> bool:
        """Always true: a figure without input is None, which needs no warning."""
        return True

    def add_sum(self, name: str, *shape: int) -> None:
        """Add a float64 state that is summed over updates and processes."""
        self.add_state(name, torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")

    def add_count(self, name: str, *shape: int) -> None:
        """Add an int64 state that is summed over updates and processes."""
        self.add_state(name, torch.zeros(shape, dtype=torch.int64), dist_reduce_fx="sum")

    def add_scores(self, name: str) -> None:
        """Add a list of float64 [n] tensors, one number a picture."""
        self.add_state(name, [], dist_reduce_fx="cat")

    def reductions(self) -> dict[str, Callable[[Tensor], Tensor]]:
        """Function that reduces each state of many parts, [parts, ...], to one of the whole."""
        return {name: cast("Callable[[Tensor], Tensor]", each) for name, each in self._reductions.items()}


class Overlap(NamedTuple):
    """How flagged pixels and smoke meet: pixel counts, int64, all of one shape."""

    both: Tensor
    flagged: Tensor
    smoke: Tensor


def overlap(flagged: Tensor, mask: Tensor) -> Overlap:
    """Count each picture's pixels: bool [N, H, W] twice to three counts [N]."""
    return Overlap(*(pixels.sum((-2, -1)) for pixels in (flagged & mask, flagged, mask)))


def histogram(level: Tensor, group: Tensor, levels: int) -> Tensor:
    """Count pixels by group and level.

    Args:
        level: Level of each pixel, int16 [...] in [0, levels); overwritten.
        group: Group of each pixel, bool [...].
        levels: Number of levels.

    Returns:
        int64 [2, levels].
    """
    return torch.bincount(level.add_(group, alpha=levels).flatten(), minlength=2 * levels).view(2, levels)


def joined(scores: list[Tensor] | Tensor) -> Tensor:
    """Join picture scores into one float64 [n]; across processes torchmetrics has already done so."""
    if isinstance(scores, Tensor):
        return scores
    return torch.cat(scores) if scores else torch.empty(0, dtype=torch.float64)


def ratio(numerator: Tensor, denominator: Tensor) -> float | None:
    """Divide two scalars; None where there was nothing to count."""
    return float(numerator) / float(denominator) if denominator > 0 else None
