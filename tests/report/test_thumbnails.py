"""Thumbnails: of the right size, and with a line around the smoke, not over it."""

import numpy as np
import pytest

from smokescope.report.thumbnails import OUTLINE, thumbnail


def test_the_outline_surrounds_the_smoke() -> None:
    picture = np.full((40, 60, 3), 90, np.uint8)
    smoke = np.zeros((40, 60), np.bool_)
    smoke[10:20, 30:45] = True
    expected = picture.copy()
    expected[9:21, 29:46] = OUTLINE
    expected[10:20, 30:45] = 90
    np.testing.assert_array_equal(thumbnail(picture, smoke, (60, 40)), expected)
    assert (picture == 90).all()


@pytest.mark.parametrize(
    ("size", "small"), [((600, 300), (100, 50)), ((300, 600), (40, 80)), ((2000, 3), (100, 1))]
)
def test_pictures_fit_and_keep_their_aspect(size: tuple[int, int], small: tuple[int, int]) -> None:
    picture = np.full((size[1], size[0], 3), 7, np.uint8)
    result = thumbnail(picture, None, (100, 80))
    assert result.shape == (small[1], small[0], 3)
    assert (result == 7).all()


def test_small_pictures_are_not_enlarged() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (8, 9, 3), np.uint8)
    np.testing.assert_array_equal(thumbnail(picture, None, (100, 80)), picture)


@pytest.mark.parametrize("place", [(0, 0), (450, 600), (899, 1199)])
def test_a_single_pixel_of_smoke_still_shows(place: tuple[int, int]) -> None:
    smoke = np.zeros((900, 1200), np.bool_)
    smoke[place] = True
    drawn = (thumbnail(np.full((900, 1200, 3), 50, np.uint8), smoke, (176, 132)) == OUTLINE).all(-1)
    assert 3 <= drawn.sum() <= 12
    row, column = (round(p * 132 / 900) for p in place)
    assert drawn[max(row - 3, 0) : row + 4, max(column - 3, 0) : column + 4].sum() == drawn.sum()


def test_no_smoke_no_outline() -> None:
    picture = np.full((30, 30, 3), 50, np.uint8)
    assert (thumbnail(picture, np.zeros((30, 30), np.bool_), (20, 20)) == 50).all()
