"""F-measure with beta squared 0.3 (Eq. 13): its curve over 256 thresholds, adaptive, and fixed.

With TP of the F flagged and S smoke pixels, precision is TP / F and recall TP / S, so Eq. 13 becomes

    F_beta = (1 + beta^2) TP / (beta^2 S + F)

which needs no care where nothing is flagged. A picture with an empty mask scores 0 at every threshold, as in
PySODMetrics, whatever is flagged in it: feed pictures with smoke.
"""

from typing import TypedDict

import torch
from torch import Tensor

from smokescope.metrics.base import Overlap, StreamingMetric, histogram, ratio
from smokescope.metrics.checks import check_pictures

BETA_SQUARED = 0.3
LEVELS = 256


class FBetaFigures(TypedDict):
    """Averages over pictures; `max` is the highest point of the averaged curve. None without pictures."""

    mean: float | None
    max: float | None
    adaptive: float | None
    fixed: float | None


def f_beta(counts: Overlap) -> Tensor:
    """F-measure of pixel counts of any shape (Eq. 13), float64; 0 where no smoke was flagged."""
    both, flagged, smoke = (count.double() for count in counts)
    # where the denominator is 0 so is TP, and any positive number may stand in for it
    return (1 + BETA_SQUARED) * both / (BETA_SQUARED * smoke + flagged).clamp(min=BETA_SQUARED)


def below_adaptive_threshold(probability: Tensor) -> Tensor:
    """Find the largest number below each picture's adaptive threshold: [N, H, W] to [N], of the same type.

    The threshold is twice the picture's mean, or 1 where that is less, as in PySODMetrics; a pixel is at or
    above it when it exceeds what this returns. The mean is taken in float64, where equal float32 values add
    up without rounding: a tie stays a tie.
    """
    threshold = (2 * torch.stack([p.mean(dtype=torch.float64) for p in probability])).clamp_(max=1)
    rounded = threshold.to(probability.dtype)
    return torch.where(rounded < threshold, rounded, rounded.nextafter(torch.full_like(rounded, -1)))


def threshold_histogram(probability: Tensor, mask: Tensor, below_adaptive: Tensor) -> Tensor:
    """Count a picture's pixels by mask, side of the adaptive threshold, side of 0.5, and k of the last k/255.

    One histogram for all thresholds: to compare every pixel with each, and count, took twice as long.

    Args:
        probability: float32 or float64 [H, W] in [0, 1].
        mask: bool [H, W].
        below_adaptive: The largest number below the adaptive threshold, a scalar of the probability's type.

    Returns:
        int64 [2, 2, 2, 256].
    """
    # in float32 as in float64 the product is k for p = k/255 and less than k just under it
    level = (probability * (LEVELS - 1)).floor_()
    level.add_(probability.round(), alpha=LEVELS)  # half to even: 0 at 0.5, 1 above
    level.add_((probability - below_adaptive).ceil_(), alpha=2 * LEVELS)  # the difference is above -1: 0 or 1
    return histogram(level.short(), mask, 4 * LEVELS).view(2, 2, 2, LEVELS)


def threshold_counts(probability: Tensor, mask: Tensor) -> Overlap:
    """Count pixels at or above each k/255, k = 0..255, then above 0.5, then at or above the adaptive one.

    Args:
        probability: float32 or float64 [N, H, W] in [0, 1].
        mask: bool [N, H, W].

    Returns:
        Counts [N, 258] (smoke: [N, 1]).
    """
    # picture by picture: what is computed on the way then stays in the processor's cache
    pictures = zip(probability, mask, below_adaptive_threshold(probability), strict=True)
    counts = torch.stack([threshold_histogram(*picture) for picture in pictures])
    curve = counts.sum((2, 3)).flip(-1).cumsum(-1).flip(-1)
    fixed, adaptive = counts[:, :, :, 1].sum((2, 3)), counts[:, :, 1].sum((2, 3))
    without, both = torch.cat((curve, torch.stack((fixed, adaptive), dim=-1)), dim=-1).unbind(1)
    return Overlap(both, both + without, both[:, :1])


class FBeta(StreamingMetric):
    """F-measure averaged over pictures.

    Equal to PySODMetrics' `Fmeasure` without its min-max stretch. An empty mask scores 0.
    """

    higher_is_better = True
    scores: Tensor  # sums over pictures, in the order of threshold_counts
    pictures: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_sum("scores", LEVELS + 2)
        self.add_count("pictures")

    def update(self, probability: Tensor, mask: Tensor) -> None:
        """Take in pictures: probability and mask [N, H, W]."""
        probability, mask = check_pictures(probability, mask)
        self.scores += f_beta(threshold_counts(probability, mask)).sum(0)
        self.pictures += len(probability)

    def compute(self) -> FBetaFigures:
        """Return the four figures."""
        curve, (fixed, adaptive) = self.scores[:LEVELS], self.scores[LEVELS:]
        return {
            "mean": ratio(curve.mean(), self.pictures),
            "max": ratio(curve.max(), self.pictures),
            "adaptive": ratio(adaptive, self.pictures),
            "fixed": ratio(fixed, self.pictures),
        }
