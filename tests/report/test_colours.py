"""Colour maps: even to the eye, readable without hue, the same for ever."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from smokescope.report.colours import (
    ALEATORIC,
    EPISTEMIC,
    PROBABILITY,
    TOTAL,
    TRANSMISSION,
    ColourMap,
    oklab_to_srgb,
    srgb_to_oklab,
)

MAPS = [TRANSMISSION, PROBABILITY, TOTAL, ALEATORIC, EPISTEMIC]
every_map = pytest.mark.parametrize("colours", MAPS, ids=lambda m: m.name)


def seen(colours: ColourMap) -> NDArray[np.float64]:
    return srgb_to_oklab(colours.table / 255)


def test_oklab_agrees_with_its_published_examples() -> None:
    # XYZ (0.950, 1.000, 1.089), white, is L = 1, a = b = 0; and CSS Color 4's values for red and green.
    srgb = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 128 / 255, 0.0]])
    expected = [[1.0, 0.0, 0.0], [0.62796, 0.22486, 0.12585], [0.51975, -0.14030, 0.10768]]
    np.testing.assert_allclose(srgb_to_oklab(srgb), expected, atol=1e-4)
    np.testing.assert_allclose(oklab_to_srgb(srgb_to_oklab(srgb)), srgb, atol=1e-5)


@every_map
def test_lightness_never_turns_back_or_stands_still(colours: ColourMap) -> None:
    steps = np.diff(seen(colours)[:, 0])
    assert (steps > 0).all() if colours is not TRANSMISSION else (steps < 0).all()
    assert abs(seen(colours)[-1, 0] - seen(colours)[0, 0]) > 0.75  # a grey print still has contrast


@every_map
def test_steps_look_even(colours: ColourMap) -> None:
    exact = np.linalg.norm(np.diff(colours.path(256), axis=0), axis=1)
    np.testing.assert_allclose(exact, exact.mean(), rtol=1e-3)
    # Eight bits round each colour by about half a step, so the table is measured over 15 of them.
    rounded = np.linalg.norm(np.diff(seen(colours)[::15], axis=0), axis=1)
    np.testing.assert_allclose(rounded, rounded.mean(), rtol=0.06)


@every_map
def test_lightness_is_even_by_an_older_measure_too(colours: ColourMap) -> None:
    # CIELAB's L*, from an independent library: what a grey print shows.
    lab = cv2.cvtColor(colours.table[None].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0]
    steps = np.diff(lab[::15, 0]) * (-1 if colours is TRANSMISSION else 1)
    assert steps.min() > 0.5 * steps.mean()
    assert steps.max() < 1.5 * steps.mean()


@every_map
def test_the_curve_stays_inside_srgb(colours: ColourMap) -> None:
    # Clipping would bend it; what is not clipped survives the way there and back.
    np.testing.assert_allclose(srgb_to_oklab(oklab_to_srgb(colours.path(256))), colours.path(256), atol=1e-5)


@every_map
def test_ends_are_as_specified(colours: ColourMap) -> None:
    lightness, a, b = seen(colours)[[0, -1]].T
    assert np.allclose(lightness, [colours.first[0], colours.last[0]], atol=0.01)
    assert np.allclose(np.hypot(a, b), [colours.first[1], colours.last[1]], atol=0.01)


def test_each_quantity_has_its_own_hue() -> None:
    middles = np.array([seen(colours)[128] for colours in MAPS])
    apart = np.linalg.norm(middles[:, None] - middles[None], axis=-1) + np.eye(len(MAPS))
    assert apart.min() > 0.1  # about thirty steps of a map


def test_colours_do_not_drift() -> None:
    # The page, reports and published figures share them: a change here changes all of those.
    assert [m.table[128].tolist() for m in MAPS] == [
        [58, 123, 170],
        [179, 88, 14],
        [145, 84, 197],
        [42, 137, 84],
        [186, 73, 103],
    ]


@given(arrays(np.float64, (3, 4), elements=st.floats(allow_nan=False)))
def test_any_number_has_a_colour(values: NDArray[np.float64]) -> None:
    pixels = PROBABILITY.apply(values)
    assert pixels.shape == (3, 4, 3)
    assert pixels.dtype == np.uint8
    np.testing.assert_array_equal(
        pixels[values <= 0], np.broadcast_to(PROBABILITY.table[0], pixels.shape)[values <= 0]
    )
    np.testing.assert_array_equal(
        pixels[values >= 1], np.broadcast_to(PROBABILITY.table[-1], pixels.shape)[values >= 1]
    )


def test_values_fall_on_the_nearest_entry() -> None:
    np.testing.assert_array_equal(TOTAL.apply(np.arange(256, dtype=np.float32) / 255), TOTAL.table)


def test_nan_has_no_colour() -> None:
    with pytest.raises(ValueError, match="total value is NaN"):
        TOTAL.apply(np.array([0.5, np.nan]))
