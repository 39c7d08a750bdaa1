"""The one rule about number formats: halves are stored and multiplied, not summed or exponentiated."""

import torch
from torch import Tensor


def at_least_float32(x: Tensor) -> Tensor:
    """Raise float16 and bfloat16 to float32; leave float32 and float64 as they are."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
