from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from smokescope.metrics.curves import (
    auroc,
    false_positive_rate,
    histogram_auroc,
    risk_coverage_area,
    risk_coverage_curve,
)

scores = st.lists(st.integers(0, 6).map(lambda level: level / 6), min_size=1, max_size=20)
counts = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


@settings(deadline=None)
@given(scores, scores)
def test_auroc_equals_the_mann_whitney_statistic(positive: list[float], negative: list[float]) -> None:
    expected = stats.mannwhitneyu(positive, negative).statistic / len(positive) / len(negative)
    found = auroc(torch.tensor(positive).double(), torch.tensor(negative).double())
    assert found == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(scores, scores)
def test_histograms_give_the_auroc_of_what_they_count(positive: list[float], negative: list[float]) -> None:
    bins = [
        torch.bincount((torch.tensor(values) * 6).round().int(), minlength=9)
        for values in (positive, negative)
    ]
    expected = auroc(torch.tensor(positive), torch.tensor(negative))
    assert histogram_auroc(*bins) == pytest.approx(expected, abs=1e-12)


def test_histogram_auroc_of_more_pixels_than_products_can_hold() -> None:
    many = 2**40
    assert histogram_auroc(torch.tensor([many, 3 * many]), torch.tensor([many, many])) == pytest.approx(0.625)


def test_area_of_random_order_inside_a_bin() -> None:
    """Shuffle many pixels of few bins: the mean over coverages of the error rate so far."""
    generator = np.random.default_rng(0)
    right, wrong = np.array([3000, 0, 2000, 500]), np.array([100, 0, 600, 900])
    areas = []
    for _ in range(200):
        order = [generator.permutation(np.repeat([0, 1], [r, w])) for r, w in zip(right, wrong, strict=True)]
        errors = np.concatenate(order).cumsum()
        areas.append((errors / np.arange(1, len(errors) + 1)).mean())
    found = risk_coverage_area(torch.from_numpy(right), torch.from_numpy(wrong))
    assert found == pytest.approx(np.mean(areas), abs=5e-4)


@settings(deadline=None)
@given(counts)
def test_area_equals_numerical_integration(bins: list[tuple[int, int]]) -> None:
    right, wrong = torch.tensor(bins).T
    total = int((right + wrong).sum())
    found = risk_coverage_area(right, wrong)
    if total == 0:
        assert found is None
        return
    knots = np.concatenate([[0], np.cumsum((right + wrong).numpy())]) / total
    errors = np.concatenate([[0], np.cumsum(wrong.numpy())]) / total
    area = 0.0
    kept = np.diff(knots, prepend=-1) > 0
    at, up_to = knots[kept], errors[kept]
    for low, high in pairwise(at):
        area += integrate.quad(lambda c, at=at, up_to=up_to: np.interp(c, at, up_to) / c, low, high)[0]
    assert found == pytest.approx(area, abs=1e-7)


def test_curve_is_the_error_rate_of_the_most_certain() -> None:
    coverage, risk = risk_coverage_curve(torch.tensor([8, 0, 1, 3]), torch.tensor([0, 0, 1, 7]))
    assert coverage.tolist() == pytest.approx([8 / 20, 10 / 20, 1])
    assert risk.tolist() == pytest.approx([0, 1 / 10, 8 / 20])
    assert [len(x) for x in risk_coverage_curve(torch.zeros(4).long(), torch.zeros(4).long())] == [0, 0]


def test_area_is_the_error_rate_where_doubt_says_nothing() -> None:
    assert risk_coverage_area(torch.tensor([0, 30, 0]), torch.tensor([0, 10, 0])) == pytest.approx(0.25)


def test_doubt_in_the_right_place_lowers_the_area() -> None:
    good = risk_coverage_area(torch.tensor([90, 0]), torch.tensor([0, 10]))
    bad = risk_coverage_area(torch.tensor([0, 90]), torch.tensor([10, 0]))
    assert good == pytest.approx(
        1 - 0.9 + 0.9 * np.log(0.9), abs=1e-12
    )  # integral of (c - 0.9) / c from 0.9 on
    assert bad == pytest.approx(0.1 - 0.1 * np.log(0.1), abs=1e-12)


@pytest.mark.parametrize(
    ("smoke", "expected"),
    [
        (20, 4 / 10),  # 19 of 20 are needed: the threshold is 0.1, which 4 negatives reach
        (19, 5 / 10),  # ceil(18.05) is all 19 of them: down to 0.0999...
        (1, 0.0),
    ],
)
def test_false_positive_rate_counts_pictures(smoke: int, expected: float) -> None:
    positive = torch.tensor(([0.99] + [0.9] * 17 + [0.1, 0.05])[:smoke])
    if smoke == 19:
        positive[-1] = 0.05
    negative = torch.tensor([0.05, 0.1, 0.2, 0.3, 0.4, *[0.01] * 5])
    assert false_positive_rate(positive, negative, percent=95) == pytest.approx(expected)


@settings(deadline=None)
@given(scores, scores)
def test_false_positive_rate_equals_a_search(positive: list[float], negative: list[float]) -> None:
    reached = [t for t in positive if 100 * sum(p >= t for p in positive) >= 95 * len(positive)]
    expected = sum(n >= max(reached) for n in negative) / len(negative)
    assert false_positive_rate(torch.tensor(positive), torch.tensor(negative), 95) == pytest.approx(expected)


def test_none_where_a_kind_is_missing() -> None:
    some, nothing = torch.tensor([0.5]), torch.empty(0)
    for function in (auroc, lambda p, n: false_positive_rate(p, n, 95)):
        assert function(some, nothing) is None
        assert function(nothing, some) is None
    assert histogram_auroc(torch.tensor([1, 0]), torch.tensor([0, 0])) is None
    assert histogram_auroc(torch.tensor([0, 0]), torch.tensor([1, 0])) is None
    assert risk_coverage_area(torch.tensor([0]), torch.tensor([0])) is None
