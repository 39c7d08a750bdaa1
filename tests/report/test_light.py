"""A map over its picture is light: it never darkens, and it brightens with its values."""

import numpy as np
import pytest

from smokescope.report.colours import ALEATORIC, EPISTEMIC, PROBABILITY, TOTAL, ColourMap
from smokescope.report.light import DIMMED, light, lit

MAPS = [PROBABILITY, TOTAL, ALEATORIC, EPISTEMIC]
every_map = pytest.mark.parametrize("colours", MAPS, ids=lambda m: m.name)

GREYS = np.repeat(np.arange(256, dtype=np.uint8)[:, None, None], 3, axis=2)  # 256 x 1 x 3


@every_map
def test_no_value_makes_anything_darker(colours: ColourMap) -> None:
    picture = np.repeat(GREYS, 256, axis=1)
    values = np.broadcast_to(np.linspace(0, 1, 256), (256, 256))
    drawn = lit(picture, values, colours).astype(int)
    np.testing.assert_array_equal(drawn[:, 0], np.rint(GREYS[:, 0] * DIMMED))  # 0 adds nothing
    assert (drawn >= drawn[:, :1]).all()
    brightness = drawn.mean(-1)
    assert (np.diff(brightness, axis=1) > -0.5).all()  # but for rounding
    # seen early too: on a sky of 161, three tenths stand out from what is around by a good step
    assert brightness[161, 77] > brightness[161, 0] + 15


@every_map
def test_on_black_the_highest_value_has_the_maps_own_colour(colours: ColourMap) -> None:
    black = np.zeros((1, 2, 3), np.uint8)
    drawn = lit(black, np.array([[0.0, 1.0]]), colours)
    np.testing.assert_array_equal(drawn[0], [[0, 0, 0], colours.table[-1]])
    np.testing.assert_array_equal(light(colours)[[0, -1]], drawn[0])


def test_the_picture_is_grey_and_dimmed_evenly() -> None:
    picture = np.array([[[255, 0, 0], [0, 255, 0], [90, 90, 90]]], np.uint8)
    drawn = lit(picture, np.zeros((1, 3)), TOTAL)
    np.testing.assert_array_equal(drawn[0], np.repeat([[22], [73], [36]], 3, axis=1))
