"""Intersection over union of the pixels called smoke (probability above 0.5) and the mask."""

from typing import TypedDict

import torch
from torch import Tensor

from smokescope.metrics.base import DECISION, Overlap, StreamingMetric, overlap, ratio
from smokescope.metrics.checks import check_pictures


class IouFigures(TypedDict):
    """`image`: the mean over pictures; `pooled`: over all their pixels at once. None without pictures."""

    image: float | None
    pooled: float | None


def iou(counts: Overlap) -> Tensor:
    """Intersection over union of pixel counts of any shape, float64; 1 where both are empty."""
    union = counts.flagged + counts.smoke - counts.both
    return (counts.both.double() / union.clamp(min=1)).masked_fill(union == 0, 1.0)


class IntersectionOverUnion(StreamingMetric):
    """IoU at 0.5. An empty mask counts as 1 where nothing is flagged, else as 0."""

    higher_is_better = True
    image: Tensor
    pooled: Tensor
    pictures: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_sum("image")
        self.add_count("pooled", len(Overlap._fields))
        self.add_count("pictures")

    def update(self, probability: Tensor, mask: Tensor) -> None:
        """Take in pictures: probability and mask [N, H, W]."""
        probability, mask = check_pictures(probability, mask)
        counts = overlap(probability > DECISION, mask)
        self.image += iou(counts).sum()
        self.pooled += torch.stack(counts).sum(1)
        self.pictures += len(probability)

    def compute(self) -> IouFigures:
        """Return the two figures."""
        pooled = iou(Overlap(*self.pooled)) * self.pictures
        return {"image": ratio(self.image, self.pictures), "pooled": ratio(pooled, self.pictures)}
