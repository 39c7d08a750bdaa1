"""Mean squared error, the paper's mMse (Eq. 12).

>>> import torch
>>> metric = MeanSquaredError()
>>> metric.update(torch.full((1, 4, 4), 0.5), torch.zeros(1, 4, 4))
>>> metric.compute()
0.25
"""

from torch import Tensor

from smokescope.metrics.base import StreamingMetric, ratio
from smokescope.metrics.checks import check_pictures


def squared_error(probability: Tensor, mask: Tensor) -> Tensor:
    """Mean over each picture's pixels of (s - y)^2 (Eq. 12).

    Args:
        probability: Probability of smoke in [0, 1], [N, H, W].
        mask: Ground truth, bool [N, H, W].

    Returns:
        float64 [N].
    """
    return (probability.double() - mask.double()).square().mean((-2, -1))


class MeanSquaredError(StreamingMetric):
    """Mean over pictures; an empty mask is a picture like any other. None without pictures."""

    higher_is_better = False
    total: Tensor
    pictures: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_sum("total")
        self.add_count("pictures")

    def update(self, probability: Tensor, mask: Tensor) -> None:
        """Take in pictures: probability and mask [N, H, W]."""
        probability, mask = check_pictures(probability, mask)
        self.total += squared_error(probability, mask).sum()
        self.pictures += len(probability)

    def compute(self) -> float | None:
        """Return the mean over pictures."""
        return ratio(self.total, self.pictures)
