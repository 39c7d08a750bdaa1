"""The ranking: explainable, repeatable, and right about which end of each attribute is hard."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from smokescope.data.difficulty import TERMS, most_difficult, percentiles, rank_by_difficulty

Columns = dict[str, list[float | None]]
MIDDLE: dict[str, float | None] = {
    "size": 0.1,
    "contrast": 10.0,
    "transmission_inside": 0.5,
    "compactness": 0.5,
    "parts": 2,
    "confusable": 0.2,
}


def columns(*changes: Mapping[str, float | None]) -> Columns:
    return {name: [{**MIDDLE, **change}[name] for change in changes] for name in MIDDLE}


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30))
def test_percentiles_are_scipys_mean_ranks(values: list[float]) -> None:
    expected = (rankdata(values) - 0.5) / len(values)
    np.testing.assert_allclose(percentiles(values, high_is_hard=True), expected)
    np.testing.assert_allclose(percentiles(values, high_is_hard=False), 1 - expected)


def test_a_missing_value_says_nothing() -> None:
    np.testing.assert_allclose(percentiles([None, 1.0, None, 2.0], high_is_hard=True), [0.5, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(percentiles([None, None], high_is_hard=True), [0.5, 0.5])


@pytest.mark.parametrize(
    "harder",
    [
        {"size": 0.01},
        {"contrast": 2.0},
        {"transmission_inside": 0.9},
        {"compactness": 0.1},
        {"parts": 3},
        {"confusable": 0.6},
    ],
    ids=lambda harder: next(iter(harder)),
)
def test_each_term_makes_a_picture_harder(harder: dict[str, float | None]) -> None:
    ranking = rank_by_difficulty(["a", "b", "c"], columns({}, harder, {}))
    assert ranking[0].number == 1
    # Top of three in one of six terms, in the middle of the rest; the others share what is left.
    assert ranking[0].score == pytest.approx((5 * 0.5 + 5 / 6) / 6)
    assert len(TERMS) == 6


def test_scores_do_not_depend_on_order_and_ties_go_by_name() -> None:
    given_so = columns({}, {"size": 0.3}, {})
    assert [r.number for r in rank_by_difficulty(["b", "z", "a"], given_so)] == [2, 0, 1]
    turned = {name: values[::-1] for name, values in given_so.items()}
    one = {"bza"[r.number]: r.score for r in rank_by_difficulty(["b", "z", "a"], given_so)}
    other = {"azb"[r.number]: r.score for r in rank_by_difficulty(["a", "z", "b"], turned)}
    assert one == other


def test_terms_weigh_the_same() -> None:
    """Hard in one term each: any two terms are exchangeable."""
    hard: list[dict[str, float | None]] = [{"size": 0.01}, {"contrast": 1.0}, {"confusable": 0.9}]
    assert len({r.score for r in rank_by_difficulty(["a", "b", "c"], columns(*hard))}) == 1


def test_pictures_without_smoke_are_not_ranked() -> None:
    empty = dict.fromkeys(MIDDLE) | {"size": 0.0, "parts": 0, "confusable": 0.9}
    unknown = dict.fromkeys(MIDDLE) | {"confusable": 0.1}
    ranking = rank_by_difficulty(["a", "b", "c"], columns(empty, {}, unknown))
    assert [(r.number, r.score) for r in ranking] == [(1, 0.5)]
    assert rank_by_difficulty(["a"], columns(empty)) == []


@pytest.mark.parametrize(
    ("share", "count"), [(0.0, 0), (0.01, 1), (0.2, 2), (0.25, 2), (0.3, 2), (0.375, 3), (1.0, 8)]
)
def test_the_share_is_rounded_to_pictures(share: float, count: int) -> None:
    ranking = rank_by_difficulty(list("abcdefgh"), columns(*({"size": 0.1 * i} for i in range(1, 9))))
    assert most_difficult(ranking, share) == ranking[:count]
    assert most_difficult([], share) == []
