"""Areas and points of curves, from scores or from histograms: pure functions, None where undefined."""

import torch
from torch import Tensor

from smokescope.metrics.base import ratio


def auroc(positive: Tensor, negative: Tensor) -> float | None:
    """Chance that a positive's score [P] is above a negative's [Q], a tie counting half."""
    if positive.numel() == 0 or negative.numel() == 0:
        return None
    negative = negative.sort().values
    below = torch.searchsorted(negative, positive, right=False)
    at_or_below = torch.searchsorted(negative, positive, right=True)
    return float((below + at_or_below).double().mean() / 2 / negative.numel())


def histogram_auroc(positive: Tensor, negative: Tensor) -> float | None:
    """AUROC of counts [B] in bins of ascending score; all in one bin tie."""
    if positive.sum() == 0 or negative.sum() == 0:
        return None
    # a share first: products of two counts of a whole data set's pixels would leave float64's exact integers
    share_below = (2 * negative.cumsum(0) - negative).double() / (2 * negative.sum())
    return float((positive * share_below).sum() / positive.sum())


def risk_coverage_area(right: Tensor, wrong: Tensor) -> float | None:
    """Area under the risk-coverage curve of counts [B] in bins of ascending uncertainty.

    risk(c) is the error rate among the share c of pixels that are most certain; the area is over c in [0, 1].
    Pixels of one bin come in random order, so in expectation the errors so far grow linearly inside it, from
    E0 at coverage c0 with slope e (the bin's error rate) up to c1, and the area above it is

        integral of (E0 + e (c - c0)) / c  =  (E0 - e c0) ln(c1 / c0) + e (c1 - c0).
    """
    pixels, wrong = (right + wrong).double(), wrong.double()
    total = pixels.sum()
    end, errors_end = pixels.cumsum(0), wrong.cumsum(0)  # in pixels, exact; shares of them at the end
    start, errors_start = end - pixels, errors_end - wrong
    slope = wrong / pixels.clamp(min=1)
    # in the first bin with pixels the logarithm is infinite and its factor 0: their product is 0 in the limit
    logarithm = torch.where(start > 0, torch.log(end / start.clamp(min=1)), 0.0)
    return ratio(((errors_start - slope * start) * logarithm + slope * pixels).sum(), total)


def risk_coverage_curve(right: Tensor, wrong: Tensor) -> tuple[Tensor, Tensor]:
    """Points of that curve, float64 [points] each: coverage and risk after each bin that holds pixels."""
    pixels = (right + wrong).double()
    held = pixels > 0
    end, errors = pixels.cumsum(0)[held], wrong.double().cumsum(0)[held]
    return end / pixels.sum(), errors / end


def false_positive_rate(positive: Tensor, negative: Tensor, percent: int) -> float | None:
    """Share of negatives [Q] at or above the highest threshold that `percent` % of positives [P] reach."""
    if positive.numel() == 0:
        return None
    needed = -(-percent * positive.numel() // 100)  # integer ceiling: 0.95 * 20 is not 19 in floats
    threshold = positive.sort(descending=True).values[needed - 1]
    return ratio((negative >= threshold).sum(), torch.tensor(negative.numel()))
