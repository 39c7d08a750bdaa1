"""Dense calibration error (Eq. 14): does a pixel called smoke with 80 % turn out to be smoke 80 times in 100?

Ten equal bins on [0, 1], closed on the left, with 1.0 in the last. A bin's share of the pixels times its
means are its sums, so with B_m the pixels in bin m, Eq. 14 becomes

    ECE = sum over m of |number right in B_m - sum of confidence in B_m| / number of pixels.
"""

from typing import NamedTuple, TypedDict

import torch
from torch import Tensor

from smokescope.metrics.base import DECISION, StreamingMetric, histogram, ratio
from smokescope.metrics.checks import check_pictures

BINS = 10


class Bins(NamedTuple):
    """Data of a reliability diagram: for each bin, over its pixels.

    Attributes:
        pixels: Number of pixels, int64 [..., 10].
        hits: Number of them for which the prediction came true, int64 [..., 10].
        confidence: Sum of their confidence, float64 [..., 10].
    """

    pixels: Tensor
    hits: Tensor
    confidence: Tensor

    def means(self) -> tuple[list[float | None], list[float | None]]:
        """Mean confidence, and how often it came true, for bins [10]; None for a bin without pixels."""
        confidence, hits = (
            [total / n if n else None for total, n in zip(sums.tolist(), self.pixels.tolist(), strict=True)]
            for sums in (self.confidence, self.hits)
        )
        return confidence, hits


class Reliability(NamedTuple):
    """Pooled bins: the top label's confidence and accuracy, smoke's probability and frequency."""

    top: Bins
    smoke: Bins


class CalibrationFigures(TypedDict):
    """`image` (Eq. 14) and `smoke` average over pictures, `pooled` over all pixels. None without pictures."""

    image: float | None
    pooled: float | None
    smoke: float | None


def bin_index(confidence: Tensor) -> Tensor:
    """Bin 0..9 of each confidence in [0, 1], float32 or float64 [...]; j/10 is in bin j, 1.0 in bin 9."""
    if confidence.dtype == torch.float32:
        # exact for float32 at each edge and just under it, and 15 times faster than searching
        return (confidence * BINS).short().clamp_(max=BINS - 1)
    # divided here, not on the device: CUDA multiplies by a rounded tenth instead
    edges = (torch.arange(1, BINS, dtype=confidence.dtype) / BINS).to(confidence.device)
    return torch.bucketize(confidence, edges, right=True, out_int32=True).short()


def count_bins(confidence: Tensor, hit: Tensor) -> Bins:
    """Sort a picture's pixels into bins.

    Args:
        confidence: Confidence in [0, 1], float32 or float64 [H, W].
        hit: Whether what was said with that confidence is true, bool [H, W].

    Returns:
        Bins [10].
    """
    index = bin_index(confidence)
    sums = torch.bincount(index.flatten(), confidence.flatten().double(), BINS)
    counts = histogram(index, hit, BINS)
    return Bins(counts.sum(0), counts[1], sums)


def calibration_error(bins: Bins) -> Tensor:
    """Expected calibration error [...] of bins [..., 10] (Eq. 14); 0 without pixels."""
    return (bins.hits - bins.confidence).abs().sum(-1) / bins.pixels.sum(-1).clamp(min=1)


class CalibrationError(StreamingMetric):
    """Calibration of the top label and of smoke; an empty mask is a picture in which smoke is always wrong.

    Equal to torchmetrics' `MulticlassCalibrationError` on two classes, which bins a confidence of 1.0 apart.
    """

    higher_is_better = False
    counts: Tensor  # [top or smoke, pixels or hits, bin]
    confidence: Tensor  # [top or smoke, bin]
    image: Tensor
    smoke: Tensor
    pictures: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_count("counts", 2, 2, BINS)
        self.add_sum("confidence", 2, BINS)
        self.add_sum("image")
        self.add_sum("smoke")
        self.add_count("pictures")

    def update(self, probability: Tensor, mask: Tensor) -> None:
        """Take in pictures: probability and mask [N, H, W]."""
        probability, mask = check_pictures(probability, mask)
        for p, smoke in zip(probability, mask, strict=True):
            top = count_bins(torch.maximum(p, 1 - p), (p > DECISION) == smoke)
            as_smoke = count_bins(p, smoke)
            self.image += calibration_error(top)
            self.smoke += calibration_error(as_smoke)
            for kind, bins in enumerate((top, as_smoke)):
                self.counts[kind] += torch.stack((bins.pixels, bins.hits))
                self.confidence[kind] += bins.confidence
        self.pictures += len(probability)

    def compute(self) -> CalibrationFigures:
        """Return the three figures."""
        pooled = calibration_error(self._pooled(0)) * self.pictures
        return {
            "image": ratio(self.image, self.pictures),
            "pooled": ratio(pooled, self.pictures),
            "smoke": ratio(self.smoke, self.pictures),
        }

    def reliability(self) -> Reliability:
        """Return the pooled bins, of all processes, for a reliability diagram."""
        with self.sync_context():
            return Reliability(self._pooled(0), self._pooled(1))

    def _pooled(self, kind: int) -> Bins:
        pixels, hits = self.counts[kind]
        return Bins(pixels, hits, self.confidence[kind])
