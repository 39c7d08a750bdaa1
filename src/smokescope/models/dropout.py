"""Dropout whose mask depends on a key for each sample: the same alone, in a batch and on every device."""

from typing import Literal

from torch import Tensor

from smokescope.chance import uniform

DropoutUnit = Literal["element", "channel"]


def keyed_dropout(x: Tensor, keys: Tensor, share: float, unit: DropoutUnit) -> Tensor:
    """Set a share of x to zero, and raise what is left so that the mean stays.

    Args:
        x: [N, C, H, W].
        keys: int64 [N], on the device of x.
        share: of what is dropped, below 1.
        unit: whether "element"s fall one by one, or a whole "channel".

    Returns:
        [N, C, H, W], of the type and memory format of x.
    """
    shape = x.shape[1:] if unit == "element" else (x.shape[1], 1, 1)
    return x * (uniform(keys, *shape) >= share) * (1 / (1 - share))
