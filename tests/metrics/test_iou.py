import pytest
import torch
from torch import Tensor

from smokescope.metrics import IntersectionOverUnion

Pictures = list[tuple[Tensor, Tensor]]


def test_equals_sets_of_pixels(pictures: Pictures) -> None:
    metric = IntersectionOverUnion()
    scores, everything, smoke = [], set(), set()
    for number, (probability, mask) in enumerate(pictures):
        metric.update(probability, mask)
        flagged_here = {(number, *at) for at in (probability > 0.5).nonzero().tolist()}
        smoke_here = {(number, *at) for at in mask.nonzero().tolist()}
        union = flagged_here | smoke_here
        scores.append(len(flagged_here & smoke_here) / len(union) if union else 1.0)
        everything |= flagged_here
        smoke |= smoke_here
    figures = metric.compute()
    assert figures["image"] == pytest.approx(sum(scores) / len(scores), abs=1e-12)
    assert figures["pooled"] == pytest.approx(len(everything & smoke) / len(everything | smoke), abs=1e-12)


@pytest.mark.parametrize(("probability", "expected"), [(0.0, 1.0), (0.5, 1.0), (0.6, 0.0)])
def test_empty_mask(probability: float, expected: float) -> None:
    metric = IntersectionOverUnion()
    metric.update(torch.full((1, 3, 3), probability), torch.zeros(1, 3, 3))
    assert metric.compute() == {"image": expected, "pooled": expected}


def test_none_without_pictures() -> None:
    assert IntersectionOverUnion().compute() == {"image": None, "pooled": None}
