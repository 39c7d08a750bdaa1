"""Structure loss: cross-entropy and IoU, both weighted towards the edges of smoke (Eq. 4).

Wei, Wang and Huang, "F3Net: Fusion, Feedback and Focus for Salient Object Detection", AAAI 2020. It stands
for the expected negative log-likelihood in Eq. 2.
"""

from torch import Tensor, nn
from torch.nn import functional

from smokescope.precision import at_least_float32

WINDOW = 31
EMPHASIS = 5.0


def edge_weight(mask: Tensor) -> Tensor:
    """Weight w = 1 + 5 * |avgpool31(y) - y| [N, 1, H, W]: up to 6 where y differs from its surround.

    Beyond the border there is no smoke, as in F3Net; so a mask that touches the border weighs more there.
    """
    reach = WINDOW // 2
    rows = functional.avg_pool2d(mask, (1, WINDOW), stride=1, padding=(0, reach))
    around = functional.avg_pool2d(
        rows, (WINDOW, 1), stride=1, padding=(reach, 0)
    )  # 62 values a pixel, not 961
    return 1 + EMPHASIS * (around - mask).abs()


def structure_loss(logits: Tensor, mask: Tensor) -> Tensor:
    """Weighted binary cross-entropy plus weighted IoU loss, per picture, then the mean.

    Args:
        logits: prediction s [N, 1, H, W].
        mask: ground truth y in [0, 1], [N, 1, H, W]; may be soft.
    """
    logits, mask = at_least_float32(logits), at_least_float32(mask)
    weight = edge_weight(mask)
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

    def forward(self, logits: Tensor, mask: Tensor) -> Tensor:
        """Call `structure_loss`."""
        return structure_loss(logits, mask)
