import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import py_sod_metrics
import pytest
import torch
from torch import Tensor

from smokescope.metrics import FBeta
from smokescope.metrics.f_beta import FBetaFigures, threshold_counts

Pictures = list[tuple[Tensor, Tensor]]


def ours(pictures: Pictures) -> FBetaFigures:
    metric = FBeta()
    for probability, mask in pictures:
        metric.update(probability, mask)
    return metric.compute()


def pysodmetrics(pictures: Pictures) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that its F-measure will move to another class
        oracle = py_sod_metrics.Fmeasure()
    for probability, mask in pictures:
        level = np.rint(probability[0].numpy().astype(np.float64) * 255)
        oracle.step(level / 255, mask[0].numpy(), normalize=False)
    figures = oracle.get_results()["fm"]
    return {"mean": figures["curve"].mean(), "max": figures["curve"].max(), "adaptive": figures["adp"]}


def brute_force(flagged: Tensor, mask: Tensor) -> float:
    both = int((flagged & mask).sum())
    if both == 0:
        return 0.0
    precision, recall = both / int(flagged.sum()), both / int(mask.sum())
    return 1.3 * precision * recall / (0.3 * precision + recall)


def test_equals_pysodmetrics_all_together(pictures: Pictures) -> None:
    figures = ours(pictures)
    for name, expected in pysodmetrics(pictures).items():
        assert figures[name] == pytest.approx(expected, abs=1e-6), name  # type: ignore[literal-required]  # same names


@pytest.mark.parametrize("index", range(18))
def test_equals_pysodmetrics_picture_by_picture(pictures: Pictures, index: int) -> None:
    assert len(pictures) == 18
    figures = ours(pictures[index : index + 1])
    for name, expected in pysodmetrics(pictures[index : index + 1]).items():
        assert figures[name] == pytest.approx(expected, abs=1e-6), name  # type: ignore[literal-required]  # same names


def test_equals_pysodmetrics_in_double(pictures: Pictures) -> None:
    figures = ours([((p.double() * 255).round() / 255, mask) for p, mask in pictures])
    for name, expected in pysodmetrics(pictures).items():
        assert figures[name] == pytest.approx(expected, abs=1e-6), name  # type: ignore[literal-required]  # same names


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_threshold_is_met_exactly(dtype: torch.dtype) -> None:
    """At k/255 a pixel is at or above threshold k, one step of the number format under it not."""
    levels = torch.arange(256)
    at = levels.to(dtype) / 255
    under = torch.nextafter(at, torch.zeros(1, dtype=dtype))
    smoke = torch.ones(256, 1, 1, dtype=torch.bool)
    found = threshold_counts(at.view(-1, 1, 1), smoke).flagged[:, :256]
    assert found.sum(1).tolist() == (levels + 1).tolist()
    expected = [1, *range(1, 256)]  # there is nothing under 0
    assert threshold_counts(under.view(-1, 1, 1), smoke).flagged[:, :256].sum(1).tolist() == expected


def test_any_float_equals_a_loop_over_thresholds(eight_bit: Callable[..., tuple[Tensor, Tensor]]) -> None:
    probability, mask = eight_bit(13, 11, seed=5)
    probability = probability * torch.rand(probability.shape, generator=torch.Generator().manual_seed(1))
    curve = [brute_force(probability >= k / 255, mask) for k in range(256)]
    figures = ours([(probability, mask)])
    assert figures["mean"] == pytest.approx(np.mean(curve), abs=1e-12)
    assert figures["max"] == pytest.approx(max(curve), abs=1e-12)
    assert figures["fixed"] == pytest.approx(brute_force(probability > 0.5, mask), abs=1e-12)


def test_max_is_of_the_averaged_curve_not_the_average_of_maxima() -> None:
    mask = torch.tensor([[[True, False]]])
    low, high = (
        torch.tensor([[[0.3, 0.2]]]),
        torch.tensor([[[0.9, 0.8]]]),
    )  # each is perfect at its own threshold
    figures = ours([(low, mask), (high, mask)])
    assert figures["max"] is not None
    assert figures["max"] < 0.9
    assert ours([(low, mask)])["max"] == pytest.approx(1.0)


def test_fixed_threshold_is_exceeded_not_met() -> None:
    mask = torch.tensor([[[True, True]]])
    just_above = torch.tensor(0.5).nextafter(torch.tensor(1.0))
    assert ours([(torch.tensor([[[0.5, 0.5]]]), mask)])["fixed"] == 0
    assert ours([(just_above.expand(1, 1, 2), mask)])["fixed"] == pytest.approx(1.0)


@pytest.mark.parametrize("level", [1, 50, 100, 127])
def test_a_tie_with_twice_the_mean_is_flagged(level: int) -> None:
    """Half the pixels at v and half at 0: twice the mean is v itself, whatever the number of pixels."""
    for size in (2, 6, 14, 98):
        probability = torch.zeros(1, 1, size)
        probability[..., ::2] = level / 255
        assert ours([(probability, probability > 0)])["adaptive"] == pytest.approx(1.0)


def test_what_is_a_hair_below_twice_the_mean_is_not_flagged() -> None:
    """The threshold is nearer to v than float32 can tell, and still above it."""
    probability = torch.tensor([[[0.25, 0.25, 0.0, 1e-9]]])
    assert ours([(probability, probability > 0.1)])["adaptive"] == 0


def test_adaptive_threshold_equals_exact_fractions(eight_bit: Callable[..., tuple[Tensor, Tensor]]) -> None:
    for seed in range(20):
        probability, mask = eight_bit(3, 4, seed)
        values = [Fraction(value) for value in probability.flatten().tolist()]
        threshold = min(2 * sum(values) / len(values), Fraction(1))
        flagged = torch.tensor([value >= threshold for value in values]).view_as(mask)
        assert ours([(probability, mask)])["adaptive"] == pytest.approx(brute_force(flagged, mask), abs=1e-12)


def test_none_without_pictures() -> None:
    assert FBeta().compute() == {"mean": None, "max": None, "adaptive": None, "fixed": None}
