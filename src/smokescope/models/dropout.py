"""Dropout whose mask depends on a key for each sample: the same alone, in a batch and on every device.

A mask is drawn apart from its use, so that a graph can be given one that was drawn elsewhere.
"""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor

from smokescope.chance import uniform

DropoutUnit = Literal["element", "channel"]


def draw_mask(keys: Tensor, shape: Sequence[int], share: float, unit: DropoutUnit) -> Tensor:
    """Draw what is kept of features [N, C, H, W].

    Args:
        keys: random keys, int64 [N].
        shape: C, H and W.
        share: share that is dropped, below 1.
        unit: what is dropped at a time: an "element" or a whole "channel".

    Returns:
        bool [N, C, H, W], or [N, C, 1, 1] for channels.
    """
    return uniform(keys, *(shape if unit == "element" else (shape[0], 1, 1))) >= share


def drop(x: Tensor, kept: Tensor, share: float) -> Tensor:
    """Set x [N, C, H, W] to zero where it is not kept, and raise the rest so that the mean stays."""
    return x * kept * (1 / (1 - share))
