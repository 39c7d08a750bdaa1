"""Would a picture raise an alarm, and rightly? One score a picture.

A picture is flagged when at least 0.02 % of its pixels exceed the threshold: when its *score*, the k-th
largest probability with k that many pixels, exceeds it. A smoke picture counts as detected only if a pixel
that exceeds it lies on or near the smoke. A picture whose mask is empty is a picture without smoke.
"""

from typing import TypedDict

from torch import Tensor

from smokescope.metrics.base import DECISION, StreamingMetric, joined, ratio
from smokescope.metrics.checks import check_pictures
from smokescope.metrics.curves import auroc, false_positive_rate


class Rates(TypedDict):
    """Share of smoke pictures detected, and of the others flagged, at one threshold; None without any."""

    detection_rate: float | None
    false_alarm_rate: float | None


class AlarmFigures(Rates):
    """Rates at 0.5 and at the shipped threshold; `auroc`, `fpr95`: of scores. None without negatives."""

    auroc: float | None
    fpr95: float | None
    shipped: Rates


def picture_score(probability: Tensor) -> Tensor:
    """Probability [N] that 0.02 % of a picture's pixels reach, at least one of them, from [N, H, W]."""
    pixels = probability.flatten(1)
    needed = -(-2 * pixels.shape[1] // 10_000)  # integer ceiling: 0.0002 * 150 * 100 is above 3 in floats
    return pixels.topk(needed, dim=1).values[:, -1]


def dilate(mask: Tensor, radius: int) -> Tensor:
    """Grow smoke by `radius` pixels to all sides, corners included: a square of 2 radius + 1; bool [N, H, W].

    Shifts by 1, 2, 4, ... pixels: a few passes for any radius, where max-pooling pays for each pixel of it.
    """
    for dim in (-2, -1):
        size = mask.shape[dim]
        radius_here, reach = min(radius, size - 1), 0
        while reach < radius_here:
            step = min(reach + 1, radius_here - reach)  # farther would leave a gap at the border
            grown = mask.clone()
            grown.narrow(dim, step, size - step).logical_or_(mask.narrow(dim, 0, size - step))
            grown.narrow(dim, 0, size - step).logical_or_(mask.narrow(dim, step, size - step))
            mask, reach = grown, reach + step
    return mask


def peak_near_smoke(probability: Tensor, mask: Tensor) -> Tensor:
    """Highest probability [N] on smoke or within 1 % of the longer side (at least a pixel) of it; else 0."""
    radius = max(1, round(0.01 * max(mask.shape[-2:])))
    return probability.masked_fill(~dilate(mask, radius), 0).amax((-2, -1))


def is_detected(score: Tensor, peak: Tensor, threshold: float) -> Tensor:
    """Whether smoke is found [N], by `picture_score` and `peak_near_smoke` [N]; without smoke it never is."""
    return (score > threshold) & (peak > threshold)


class Alarm(StreamingMetric):
    """Detections and false alarms.

    Args:
        shipped_threshold: Threshold of the model file, for `shipped`; without it those figures are None.
    """

    scores: list[Tensor]
    labels: list[Tensor]  # 1.0 for smoke; float64 as all lists are, see StreamingMetric.dtype
    detected: Tensor  # [at 0.5 or as shipped]
    false_alarms: Tensor
    smoke: Tensor
    negatives: Tensor

    def __init__(self, shipped_threshold: float | None = None) -> None:
        super().__init__()
        self.shipped_threshold = shipped_threshold
        self.add_scores("scores")
        self.add_scores("labels")
        self.add_count("detected", 2)
        self.add_count("false_alarms", 2)
        self.add_count("smoke")
        self.add_count("negatives")

    def update(self, probability: Tensor, mask: Tensor) -> None:
        """Take in pictures with and without smoke: probability and mask [N, H, W]."""
        probability, mask = check_pictures(probability, mask)
        score, peak = picture_score(probability), peak_near_smoke(probability, mask)
        smoke = mask.flatten(1).any(1)
        for kind, threshold in enumerate((DECISION, self.shipped_threshold)):
            if threshold is not None:
                self.detected[kind] += is_detected(score, peak, threshold).sum()
                self.false_alarms[kind] += (~smoke & (score > threshold)).sum()
        self.scores.append(score.double())
        self.labels.append(smoke.double())
        self.smoke += smoke.sum()
        self.negatives += (~smoke).sum()

    def compute(self) -> AlarmFigures:
        """Return the figures."""
        scores, smoke = joined(self.scores), joined(self.labels) > 0.5
        positive, negative = scores[smoke], scores[~smoke]
        unknown: Rates = {"detection_rate": None, "false_alarm_rate": None}
        return {
            **self._rates(0),
            "auroc": auroc(positive, negative),
            "fpr95": false_positive_rate(positive, negative, percent=95),
            "shipped": unknown if self.shipped_threshold is None else self._rates(1),
        }

    def pictures(self) -> tuple[int, int]:
        """Return how many pictures with and without smoke came in, in all processes."""
        with self.sync_context():
            return int(self.smoke), int(self.negatives)

    def _rates(self, kind: int) -> Rates:
        return {
            "detection_rate": ratio(self.detected[kind], self.smoke),
            "false_alarm_rate": ratio(self.false_alarms[kind], self.negatives),
        }
