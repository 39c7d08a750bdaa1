"""Feature maps and logits brought to another, as a rule larger, size."""

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional


def enlarge(x: Tensor, size: Sequence[int]) -> Tensor:
    """Bilinear, [N, C, h, w] to [N, C, *size], so that their outer edges meet."""
    return functional.interpolate(x, tuple(size), mode="bilinear", align_corners=False)
