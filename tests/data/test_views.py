"""Views are alike when the land is, whatever the light; what all cameras share does not count."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.data.hills import hills

from smokescope.data.scenes import THRESHOLD
from smokescope.data.views import REACH, compare_views, describe_view


def similarity(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    return float(compare_views(describe_view(one).fine[0], describe_view(other).fine)[0])


SAME_VIEW = {
    "darker": hills(0, light=0.4),
    "other clouds, the sun on the other side": hills(0, frame=1),
    "moved to the right": hills(0, shift=(28, 0)),
    "moved to the left and down": hills(0, shift=(-20, 12)),
    "smoke": hills(0, smoke=True),
    "all at once": hills(0, light=0.6, frame=3, shift=(-15, -8), smoke=True),
    "another aspect and size": hills(0, size=(640, 360)),
    "inverted sky": np.concatenate([255 - hills(0)[:60], hills(0)[60:]]),
}


@pytest.mark.parametrize("change", SAME_VIEW)
def test_the_same_view_is_alike_in_any_light(change: str) -> None:
    assert similarity(hills(0), SAME_VIEW[change]) > 2 * THRESHOLD


def test_different_views_are_not() -> None:
    values = [similarity(hills(i, frame=i), hills(j, frame=j)) for i in range(6) for j in range(i)]
    assert max(values) < 0.6 * THRESHOLD


def test_a_camera_turned_further_is_another_view() -> None:
    beyond = round(2 * REACH * 320)
    assert similarity(hills(0), hills(0, shift=(beyond, 0))) < THRESHOLD


def test_what_is_level_does_not_count() -> None:
    """A horizon, a shore and layers of haze at the same height, before different land."""
    lines = np.zeros((180, 240, 3), np.int64)
    for row in (90, 110, 140, 165):
        lines[row:] += 25
    one, other = ((hills(i) * 0.3 + lines).astype(np.uint8) for i in (1, 2))
    assert similarity(one, other) < 0.6 * THRESHOLD


def test_the_correlation_is_the_best_over_small_shifts() -> None:
    """Against sums over each shift of the maps themselves."""
    one, other = (describe_view(hills(0, shift=shift)).coarse[0] for shift in ((0, 0), (16, -8)))
    maps = [np.fft.irfft2(spectrum, s=(18, 40)) for spectrum in (one, other)]
    sums = [(np.roll(maps[0], (y, x), (0, 1)) * maps[1]).sum() for y in range(-4, 5) for x in range(-4, 5)]
    assert compare_views(one, other[None])[0] == pytest.approx(max(sums), abs=1e-5)


def test_it_is_symmetric_and_one_for_itself() -> None:
    a, b = hills(0), hills(0, frame=1, shift=(9, 3))
    assert similarity(a, b) == pytest.approx(similarity(b, a), abs=1e-5)
    assert similarity(a, a) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("value", [0, 128, 255])
def test_blank_pictures_are_like_nothing(value: int) -> None:
    blank = np.full((90, 120, 3), value, np.uint8)
    assert similarity(blank, blank) == 0
    assert similarity(blank, hills(0)) == 0
    speck = blank.copy()
    speck[80, 20] ^= 1  # a grey level somewhere is nothing to see, nor to recognise a view by
    assert similarity(speck, speck) == 0


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (3000, 20)])
def test_pictures_of_any_shape_can_be_described(shape: tuple[int, int]) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    assert np.isfinite(describe_view(picture).fine).all()
