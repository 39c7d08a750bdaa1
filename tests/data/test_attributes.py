"""Measures of smoke, against closed forms."""

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from smokescope.data import attributes
from smokescope.data.attributes import GRID, measure_smoke

Bools = NDArray[np.bool_]


def disc(radius: float, height: int = 120, width: int = 160, x: float = 80, y: float = 60) -> Bools:
    rows, columns = np.mgrid[:height, :width]
    return np.asarray((columns - x) ** 2 + (rows - y) ** 2 <= radius**2)


def square(side: int, height: int = 120, width: int = 160) -> Bools:
    smoke = np.zeros((height, width), np.bool_)
    smoke[10 : 10 + side, 20 : 20 + side] = True
    return smoke


def flat(colour: tuple[int, int, int], height: int = 120, width: int = 160) -> NDArray[np.uint8]:
    return np.full((height, width, 3), colour, np.uint8)


def compactness(smoke: Bools) -> float | None:
    return attributes.compactness(attributes.parts(smoke))


def test_size_and_place_of_a_rectangle() -> None:
    smoke = np.zeros((100, 200), np.bool_)
    smoke[20:30, 0:40] = True
    assert attributes.size(smoke) == pytest.approx(0.02)
    assert attributes.place(smoke) == pytest.approx((0.1, 0.25))


def test_distance_from_the_centre() -> None:
    assert attributes.off_centre(0.5, 0.5) == 0
    assert attributes.off_centre(1, 0) == pytest.approx(1)
    assert attributes.off_centre(0.5, 0) == pytest.approx(math.sqrt(0.5))


def test_centre_bias_knows_its_closed_forms() -> None:
    everywhere, middle = np.ones((90, 121), np.bool_), np.zeros((90, 120), np.bool_)
    middle[30:60, 40:80] = True
    assert attributes.centre_bias(attributes.place_map(everywhere)) == pytest.approx(1)
    assert attributes.centre_bias(attributes.place_map(middle)) == pytest.approx(9)
    assert attributes.centre_bias(attributes.place_map(~middle)) == pytest.approx(0)
    # One vote each: the corner's speck weighs as much as the whole middle.
    corner = np.zeros((90, 120), np.bool_)
    corner[0, 0] = True
    assert attributes.centre_bias(
        attributes.place_map(middle) + attributes.place_map(corner)
    ) == pytest.approx(4.5)
    assert attributes.centre_bias(np.zeros((GRID, GRID))) is None
    # A pixel of a picture smaller than the map covers its 4.8 cells evenly, and a part of the last.
    one = np.zeros((5, 5), np.bool_)
    one[0, 0] = True
    cells = attributes.place_map(one)[0, :6]
    assert cells == pytest.approx(np.array([1, 1, 1, 1, 0.8, 0]) / 4.8**2, rel=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (24, 24), (100, 333)])
def test_a_map_of_places_sums_to_1_at_any_size(shape: tuple[int, int]) -> None:
    smoke = np.zeros(shape, np.bool_)
    smoke[-1, -1] = True
    places = attributes.place_map(smoke)
    assert places.sum() == pytest.approx(1)
    assert places[-1, -1] > 0


@pytest.mark.parametrize("radius", [10, 20, 50])
def test_a_disc_is_compact(radius: int) -> None:
    assert compactness(disc(radius)) == pytest.approx(1, abs=0.07)


@pytest.mark.parametrize("side", [20, 50, 100])
def test_a_square_has_pi_over_4(side: int) -> None:
    assert compactness(square(side)) == pytest.approx(math.pi / 4, rel=0.03)


def test_a_thread_is_not_compact_and_a_pixel_is() -> None:
    thread, pixel = np.zeros((2, 120, 160), np.bool_)
    thread[60, 10:110] = True
    pixel[7, 7] = True
    rod = 4 * math.pi * (99 + math.pi / 4) / (198 + math.pi) ** 2
    assert compactness(thread) == pytest.approx(rod)
    assert compactness(pixel) == pytest.approx(1)


def test_compactness_hardly_depends_on_resolution() -> None:
    ragged = disc(40) & (np.random.default_rng(0).random((120, 160)) > 0.02)
    ragged[40:45] = False
    larger = np.kron(ragged, np.ones((4, 4), np.bool_))
    small = compactness(ragged)
    assert small is not None
    assert compactness(larger) == pytest.approx(small, rel=0.15)


def test_a_second_part_does_not_make_a_shape_ragged() -> None:
    two = disc(20, x=40) | disc(20, x=120)
    assert len(attributes.parts(two)) == 2
    assert compactness(two) == pytest.approx(1, abs=0.07)


def test_parts_weigh_as_their_area() -> None:
    ball, thread = disc(20, x=40), np.zeros((120, 160), np.bool_)
    thread[10, 100:150] = True
    round_, thin = compactness(ball), compactness(thread)
    assert round_ is not None
    assert thin is not None
    expected = (round_ * ball.sum() + thin * 50) / (ball.sum() + 50)
    assert compactness(ball | thread) == pytest.approx(expected)


def test_specks_are_no_parts() -> None:
    smoke = square(50)
    smoke[0, 0] = True
    assert len(attributes.parts(smoke)) == 1
    smoke[0:5, 155:160] = True  # 25 pixels of 2500, just not a speck
    assert [int(part.sum()) for part in attributes.parts(smoke)] == [2500, 25]


def test_parts_that_touch_by_a_corner_are_one() -> None:
    smoke = np.zeros((20, 20), np.bool_)
    smoke[2:6, 2:6] = smoke[6:10, 6:10] = True
    assert len(attributes.parts(smoke)) == 1


def test_contrast_is_the_distance_in_lab() -> None:
    smoke, picture = disc(20), flat((0, 0, 0))
    picture[smoke] = 255
    assert attributes.contrast(picture, smoke) == pytest.approx(100, abs=0.01)
    picture[smoke], picture[~smoke] = (180, 180, 180), (60, 100, 40)
    lab = cv2.cvtColor(np.array([[(180, 180, 180), (60, 100, 40)]], np.float32) / 255, cv2.COLOR_RGB2LAB)
    assert attributes.contrast(picture, smoke) == pytest.approx(
        float(np.linalg.norm(lab[0, 0] - lab[0, 1])), rel=1e-4
    )
    assert attributes.contrast(flat((90, 90, 90)), smoke) == pytest.approx(0, abs=1e-4)


def test_contrast_is_that_of_a_loop_over_the_outline() -> None:
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (40, 150, 3), dtype=np.uint8)
    smoke = np.zeros((40, 150), np.bool_)
    smoke[20:30, 0:9] = smoke[5, 60] = smoke[38:, 100:104] = True
    lab = np.asarray(cv2.cvtColor(picture.astype(np.float32) / 255, cv2.COLOR_RGB2LAB))
    distances = []
    for y, x in np.argwhere(smoke):
        if not smoke[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2].all():
            around = slice(max(0, y - 3), y + 4), slice(max(0, x - 3), x + 4)  # 2 % of 150 to each side
            inside, outside = (lab[around][part].mean(0) for part in (smoke[around], ~smoke[around]))
            distances.append(np.linalg.norm(inside - outside))
    assert attributes.contrast(picture, smoke) == pytest.approx(np.mean(distances), rel=1e-5)


def test_smoke_on_the_horizon_keeps_its_contrast() -> None:
    """Grey between a bright sky and a dark slope: the whole surround has the smoke's own mean colour."""
    picture, smoke = flat((0, 0, 0)), square(40)
    picture[:30] = 238
    picture[smoke] = 119  # L* is 50, in the middle of the two
    found = attributes.contrast(picture, smoke)
    assert found is not None
    assert found > 35


def test_confusable_counts_bright_and_grey_outside_the_smoke() -> None:
    picture, smoke = flat((40, 60, 30)), np.zeros((120, 160), np.bool_)
    picture[:60] = (90, 140, 230)  # a blue sky
    picture[60:80] = (100, 100, 100)  # grey, but not bright: a wood far away
    assert attributes.confusable(attributes.channel_range(picture), smoke) == 0
    picture[:30] = (200, 205, 210)  # and cloud
    assert attributes.confusable(attributes.channel_range(picture), smoke) == pytest.approx(0.25)
    smoke[:30, :80] = True
    assert attributes.confusable(attributes.channel_range(picture), smoke) == pytest.approx(0.125)


def test_transmission_by_construction() -> None:
    """Black scene, airlight 1: haze of 1 - t over it has transmission t."""
    picture = flat((0, 0, 0), 240, 320)
    picture[:120, :160] = 255  # the airlight, T = 0
    picture[120:, 160:] = 102  # 0.4 of it, T = 0.6
    smoke = np.zeros((240, 320), np.bool_)
    smoke[170:230, 200:300] = True
    inside, outside = attributes.transmissions(picture, smoke)
    assert inside == pytest.approx(0.6, abs=0.04)
    assert outside == pytest.approx((2 - 0 + 0.6) / 4, abs=0.06)


def test_the_smallest_smoke_of_a_large_picture_has_a_transmission() -> None:
    smoke = np.zeros((600, 1600), np.bool_)
    smoke[300, 801] = True
    inside, _ = attributes.transmissions(np.zeros((600, 1600, 3), np.uint8), smoke)
    assert inside == pytest.approx(1)


def test_transmission_hardly_depends_on_resolution() -> None:
    """The dark channel's patch has a fixed side, so pictures are brought to one size first."""
    rng = np.random.default_rng(1)
    picture = rng.integers(0, 256, (60, attributes.TRANSMISSION_SIDE, 3), dtype=np.uint8)
    smoke = disc(20, 60, attributes.TRANSMISSION_SIDE, x=100, y=30)
    twice = picture.repeat(2, 0).repeat(2, 1), smoke.repeat(2, 0).repeat(2, 1)
    assert attributes.transmissions(*twice) == pytest.approx(attributes.transmissions(picture, smoke))


def test_without_smoke_only_size_and_parts_are_known() -> None:
    found = measure_smoke(flat((1, 2, 3)), np.zeros((120, 160), np.bool_))
    assert found[:-1] == (0.0, None, None, None, None, None, 0, None)
    assert found.transmission_outside is not None
    full = measure_smoke(flat((1, 2, 3)), np.ones((120, 160), np.bool_))
    assert (full.size, full.contrast, full.transmission_outside) == (1.0, None, None)


@settings(max_examples=40, deadline=None)
@given(arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40)), st.integers(0, 2**32))
def test_a_mirror_changes_nothing_but_the_side(smoke: Bools, seed: int) -> None:
    picture = np.random.default_rng(seed).integers(0, 256, (*smoke.shape, 3), np.uint8)
    one, other = measure_smoke(picture, smoke), measure_smoke(picture[:, ::-1].copy(), smoke[:, ::-1].copy())
    if one.place_x is not None:
        assert other.place_x == pytest.approx(1 - one.place_x)
        assert one.compactness is not None
        assert 0 < one.compactness <= 1
    for name in ("size", "place_y", "off_centre", "contrast", "parts"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-3)
    for name in ("transmission_inside", "transmission_outside"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-2)
