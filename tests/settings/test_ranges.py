"""Bounds and choices of settings: both ends are inside, and what is no number is not."""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Literal

import pytest

from smokescope.losses.objective import ObjectiveSettings
from smokescope.settings.ranges import (
    refuse_other_choices,
    refuse_outside,
    refuse_unordered,
    refuse_up_to_zero,
)
from smokescope.training.settings import OptimiserSettings, Source


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
    with pytest.raises(ValueError, match="scale must run from low to high, not from 2 to 1"):
        refuse_unordered(SimpleNamespace(scale=(2, 1)), "scale")


def test_a_choice_is_one_of_those_there_are_and_of_their_type() -> None:
    @dataclass
    class Kernel:
        side: Literal[1, 3] = 3
        where: str = "anywhere"

    refuse_other_choices(Kernel())
    for side in (2, True, 1.0, "3", [3]):
        with pytest.raises(ValueError, match="side must be 1 or 3, not "):
            refuse_other_choices(Kernel(side))  # type: ignore[arg-type]


def test_settings_refuse_choices_that_there_are_not_however_they_are_made() -> None:
    with pytest.raises(ValueError, match="edges must be surround or band, not 'bnad'"):
        ObjectiveSettings(edges="bnad")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="schedule must be step or cosine or constant, not 'cosin'"):
        OptimiserSettings(schedule="cosin")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"kind must be pairs or .*, not 'films'"):
        Source(kind="films", folder="a")  # type: ignore[arg-type]
