"""Structure loss: cross-entropy and IoU, both weighted towards the edges of smoke (Eq. 4).

Wei, Wang and Huang, "F3Net: Fusion, Feedback and Focus for Salient Object Detection", AAAI 2020. It stands
for the expected negative log-likelihood in Eq. 2.
"""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from smokescope.precision import at_least_float32

WINDOW = 31
EMPHASIS = 5.0

Edges = Literal["surround", "band"]
"""What weighs more: pixels that differ from their surround, or a band on both sides of every edge."""


def edge_weight(mask: Tensor, edges: Edges = "surround") -> Tensor:
    """Weight w [N, 1, H, W], from 1 far from any edge to 6.

    "surround" is F3Net's, 1 + 5 * |avgpool31(y) - y|: small smoke weighs up to 6 itself, and what lies beside
    it little more than 1. Beyond the border of the picture there is no smoke, as in F3Net; so a mask that
    touches it weighs more there. "band" is 1 + 5 * (maxpool31(y) - minpool31(y)): both sides weigh 6.
    """
    if edges == "band":
        highest, lowest = _pool(functional.max_pool2d, mask), -_pool(functional.max_pool2d, -mask)
        return 1 + EMPHASIS * (highest - lowest)
    return 1 + EMPHASIS * (_pool(functional.avg_pool2d, mask) - mask).abs()


def _pool(pool: Callable[..., Tensor], values: Tensor) -> Tensor:
    """Pool over the window around each pixel: rows, then columns, so 62 values a pixel and not 961."""
    reach = WINDOW // 2
    rows = pool(values, (1, WINDOW), stride=1, padding=(0, reach))
    return pool(rows, (WINDOW, 1), stride=1, padding=(reach, 0))


def structure_loss(logits: Tensor, mask: Tensor, edges: Edges = "surround") -> Tensor:
    """Weighted binary cross-entropy plus weighted IoU loss, per picture, then the mean.

    Args:
        logits: prediction s [N, 1, H, W].
        mask: ground truth y in [0, 1], [N, 1, H, W]; may be soft.
        edges: kind of edge weight, see `edge_weight`.
    """
    logits, mask = at_least_float32(logits), at_least_float32(mask)
    weight = edge_weight(mask, edges)
    dims = (-3, -2, -1)
    entropy = functional.binary_cross_entropy_with_logits(logits, mask, reduction="none")
    cross_entropy = (weight * entropy).sum(dims) / weight.sum(dims)

    probability = logits.sigmoid()
    intersection = (weight * probability * mask).sum(dims)
    union = (weight * (probability + mask)).sum(dims) - intersection
    iou = 1 - (intersection + 1) / (union + 1)  # the 1 makes an empty prediction of an empty mask perfect
    return (cross_entropy + iou).mean()


class StructureLoss(nn.Module):
    """Module of `structure_loss`."""

    def __init__(self, edges: Edges = "surround") -> None:
        super().__init__()
        self.edges: Edges = edges

    def forward(self, logits: Tensor, mask: Tensor) -> Tensor:
        """Call `structure_loss`."""
        return structure_loss(logits, mask, self.edges)
