import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from smokescope.metrics import OutOfDistribution, UncertaintyQuality
from smokescope.uncertainty import LN2


def on_bin_centres(shape: tuple[int, ...], levels: int, seed: int) -> Tensor:
    """Uncertainty that binning does not change: centres of `levels` of the 1,000 bins."""
    level = torch.randint(0, levels, shape, generator=torch.Generator().manual_seed(seed)) * (
        999 // (levels - 1)
    )
    return 1e-7 * (LN2 / 1e-7) ** ((level + 0.5) / 1000)


def area(positive: Tensor, negative: Tensor) -> float:
    statistic = stats.mannwhitneyu(positive.double(), negative.double()).statistic
    return float(statistic / positive.numel() / negative.numel())


@pytest.mark.parametrize("levels", [2, 40, 1000])
def test_equals_ranks_of_pixels(levels: int) -> None:
    shape = (3, 20, 30)
    generator = torch.Generator().manual_seed(levels)
    probability, mask = torch.rand(shape, generator=generator), torch.rand(shape, generator=generator) < 0.4
    total, epistemic = on_bin_centres(shape, levels, seed=1), on_bin_centres(shape, levels, seed=2)
    metric = UncertaintyQuality()
    metric.update(probability, mask, total, epistemic)
    figures = metric.compute()
    flagged = probability > 0.5
    assert figures["error_auroc"] == pytest.approx(
        area(total[flagged != mask], total[flagged == mask]), abs=1e-9
    )
    expected = area(epistemic[flagged & ~mask], epistemic[flagged & mask])
    assert figures["false_positive_auroc"] == pytest.approx(expected, abs=1e-9)


def test_risk_coverage_sorts_the_certain_first() -> None:
    probability = torch.full((1, 1, 10), 0.9)
    mask = torch.ones(1, 1, 10)
    mask[..., 9] = 0
    total = torch.linspace(0.01, 0.6, 10).view(1, 1, 10)  # the wrong pixel is the least certain
    metric = UncertaintyQuality()
    metric.update(probability, mask, total, total)
    figures = metric.compute()
    assert figures["aurc"] == pytest.approx(0.1 + 0.9 * np.log(0.9), abs=1e-12)
    assert figures["error_auroc"] == 1
    assert figures["false_positive_auroc"] == 1


def test_a_sure_mistake_counts_as_what_it_is() -> None:
    """All pixels are surer than a thousandth of ln 2, as those of smoke that a model is sure is none."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(4, 60, 80, generator=generator) < 0.3
    total = 10 ** (-6 + 2.5 * torch.rand(mask.shape, generator=generator) + 0.3 * mask)
    metric = UncertaintyQuality()
    metric.update(torch.zeros(mask.shape), mask, total, total)
    found = metric.compute()
    assert found["error_auroc"] == pytest.approx(area(total[mask], total[~mask]), abs=1e-3)
    wrong = mask.flatten()[total.flatten().argsort()].double()
    exact = float((wrong.cumsum(0) / torch.arange(1, len(wrong) + 1)).mean())
    assert found["aurc"] == pytest.approx(exact, rel=2e-3)


def test_bins_are_even_in_the_logarithm_and_both_ends_are_inside() -> None:
    near = (LN2 / 1e-7) ** torch.tensor([[[0.4991, 0.4999, 0.5001, 0.0, 1.0]]]) * 1e-7  # two share a bin
    wrong_first = torch.tensor([[[0.0, 1.0, 1.0, 1.0, 1.0]]])
    metric = UncertaintyQuality()
    metric.update(torch.ones(1, 1, 5), wrong_first, near, near)
    # above 0, level with one, below two
    assert metric.compute()["error_auroc"] == pytest.approx((1 + 0.5) / 4)
    assert metric.errors.sum() == 5
    assert metric.errors[0, 999] == metric.errors[0, 0] == 1


def test_a_tie_at_half_is_no_smoke() -> None:
    doubt = torch.full((1, 1, 2), 0.3)
    metric = UncertaintyQuality()
    metric.update(torch.full((1, 1, 2), 0.5), torch.zeros(1, 1, 2), doubt, doubt)
    assert metric.errors.sum(1).tolist() == [2, 0]
    assert metric.compute() == {"error_auroc": None, "aurc": 0.0, "false_positive_auroc": None}


def test_out_of_distribution_ranks_pictures_by_their_mean() -> None:
    metric = OutOfDistribution()
    smoke, nothing = torch.zeros(1, 2, 2), torch.zeros(1, 2, 2)
    smoke[0, 0, 0] = 1
    for mask, mean in ((smoke, 0.1), (smoke, 0.3), (nothing, 0.2), (nothing, 0.3), (nothing, 0.6)):
        epistemic = torch.full((1, 2, 2), mean)
        if mask is smoke:
            epistemic[0] += torch.tensor([[0.09, -0.03], [-0.03, -0.03]])  # the mean counts, not the peak
        metric.update(mask, epistemic)
    assert metric.compute() == pytest.approx((1 + 0 + 1 + 0.5 + 1 + 1) / 6)


def test_out_of_distribution_needs_both_kinds() -> None:
    metric = OutOfDistribution()
    assert metric.compute() is None
    metric.update(torch.ones(2, 2, 2), torch.full((2, 2, 2), 0.2))
    assert metric.compute() is None
