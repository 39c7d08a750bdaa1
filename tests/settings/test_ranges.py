"""Bounds of settings: both ends are inside, and what is no number is not."""

import math
from types import SimpleNamespace

import pytest

from smokescope.settings.ranges import refuse_outside, refuse_unordered, refuse_up_to_zero


def test_both_ends_are_inside() -> None:
    refuse_outside(SimpleNamespace(share=0.0, more=1), 0, 1, "share", "more")
    refuse_outside(SimpleNamespace(widths=(1, 5, math.inf)), 1, math.inf, "widths")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (-1, "share must be at least 0, not -1"),
        (1.5, "share must be at most 1, not 1.5"),
        ((0.5, 2), "share must be at most 1, not 2"),
        (math.nan, "share must be at least 0, not nan"),
    ],
)
def test_what_is_outside_is_named(value: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        refuse_outside(SimpleNamespace(other=0, share=value), 0, 1, "other", "share")


@pytest.mark.parametrize("value", [0, -2, math.nan])
def test_zero_and_no_number_are_not_above_zero(value: float) -> None:
    refuse_up_to_zero(SimpleNamespace(sigma=1e-9), "sigma")
    with pytest.raises(ValueError, match="sigma must be above 0"):
        refuse_up_to_zero(SimpleNamespace(sigma=value), "sigma")


def test_a_range_may_be_a_point_but_not_run_backwards() -> None:
    refuse_unordered(SimpleNamespace(scale=(1, 1)), "scale")
    with pytest.raises(ValueError, match="scale must not end before it begins, as 2 to 1 does"):
        refuse_unordered(SimpleNamespace(scale=(2, 1)), "scale")
