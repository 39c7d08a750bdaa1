"""Scribbles: always inside, always something, the same again, and read from whatever is unambiguous."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from PIL import Image

from smokescope.data import scribbles
from smokescope.data.attributes import parts
from smokescope.data.layouts import Pair
from smokescope.data.pictures import encode_png
from smokescope.data.scribbles import (
    AWAY,
    BACKGROUND,
    draw_scribble,
    read_scribble,
    read_scribbled,
    scribble_seed,
)
from smokescope.errors import SmokescopeError

Bools = NDArray[np.bool_]
STROKES = np.array([[0, 1, 1, 0], [2, 2, 0, 0], [0, 0, 0, 1]], np.uint8)


def ellipse(width: int, height: int, angle: float = 20, centre: tuple[int, int] = (320, 240)) -> Bools:
    canvas = np.zeros((480, 640), np.uint8)
    cv2.ellipse(canvas, centre, (width, height), angle, 0, 360, 1, -1)
    return canvas > 0


def check(smoke: Bools, scribble: NDArray[np.uint8]) -> None:
    assert scribble.dtype == np.uint8
    assert scribble.shape == smoke.shape
    assert set(np.unique(scribble)) <= {0, 1, 2}
    assert not (scribble == 1)[~smoke].any()
    assert not (scribble == 2)[smoke].any()
    assert (scribble == 1).any() == smoke.any()
    assert (scribble == 2).any() == (not smoke.all())


@settings(max_examples=60, deadline=None)
@given(arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=90)), st.integers(0, 2**63))
def test_strokes_stay_where_they_belong(smoke: Bools, seed: int) -> None:
    check(smoke, draw_scribble(smoke, seed))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 200), st.integers(1, 200), st.integers(-30, 200), st.integers(-30, 200), st.integers(1, 90)
)
def test_strokes_stay_in_blobs_of_any_size(height: int, width: int, x: int, y: int, radius: int) -> None:
    canvas = np.zeros((height, width), np.uint8)
    cv2.circle(canvas, (x, y), radius, 1, -1)
    check(canvas > 0, draw_scribble(canvas > 0, 1))


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (480, 640)])
def test_no_smoke_nothing_else_and_a_single_pixel(shape: tuple[int, int]) -> None:
    single = np.zeros(shape, np.bool_)
    single[-1, shape[1] // 2] = True
    for smoke in (np.zeros(shape, np.bool_), np.ones(shape, np.bool_), single):
        check(smoke, draw_scribble(smoke, 0))


@pytest.mark.parametrize("seed", range(8))
def test_the_stroke_follows_the_shape_without_filling_it(seed: int) -> None:
    smoke = ellipse(120, 30)
    stroke = draw_scribble(smoke, seed) == 1
    assert 0.02 < stroke.sum() / smoke.sum() < 0.25
    assert len(parts(stroke)) == 1
    columns = np.flatnonzero(stroke.any(0))
    assert 110 < np.ptp(columns) < 230  # of 228: most of its length
    # The rim is left alone: nobody trusts it.
    assert not stroke[~np.asarray(cv2.erode(smoke.astype(np.uint8), np.ones((5, 5)))).astype(bool)].any()


@pytest.mark.parametrize("seed", range(8))
def test_the_background_is_marked_well_away(seed: int) -> None:
    smoke = ellipse(200, 150)  # with little room around it, so that the distance counts
    stroke = draw_scribble(smoke, seed) == 2
    distance = np.asarray(cv2.distanceTransform((~smoke).astype(np.uint8), cv2.DIST_L2, 5))
    assert distance[stroke].min() > AWAY * 640 - 1
    assert stroke.any(0).sum() + stroke.any(1).sum() > 130  # a line, not a dot
    assert 3 * 100 < stroke.sum() < 0.03 * stroke.size


def test_large_smoke_gets_a_second_stroke(monkeypatch: pytest.MonkeyPatch) -> None:
    large = ellipse(220, 150, angle=0)
    two = draw_scribble(large, 5) == 1
    monkeypatch.setattr(scribbles, "LARGE", 2.0)
    one = draw_scribble(large, 5) == 1
    assert two[one].all()
    assert two.sum() > 1.3 * one.sum()


def test_a_second_part_gets_a_stroke_unless_it_is_a_speck() -> None:
    one, other = ellipse(60, 25, centre=(150, 240)), ellipse(50, 25, centre=(480, 240))
    scribble = draw_scribble(one | other, 3)
    assert (scribble[one] == 1).any()
    assert (scribble[other] == 1).any()
    speck = ellipse(8, 8, centre=(480, 240))
    assert not (draw_scribble(one | speck, 3)[speck] == 1).any()


def test_the_pen_grows_with_the_picture() -> None:
    smoke = ellipse(200, 60)
    large = np.kron(smoke, np.ones((3, 3), np.bool_))
    shares = [(draw_scribble(mask, 2) == 1).mean() for mask in (smoke, large)]
    assert shares[1] == pytest.approx(shares[0], rel=0.5)


def test_seeds_reproduce_and_differ() -> None:
    smoke = ellipse(120, 30)
    np.testing.assert_array_equal(draw_scribble(smoke, 7), draw_scribble(smoke.astype(np.float32), 7))
    assert (draw_scribble(smoke, 7) != draw_scribble(smoke, 8)).any()
    assert len({scribble_seed(s, n) for s in (0, 1, 10) for n in ("a", "b", "1:a", "\udcff")}) == 12
    assert (
        scribble_seed(0, "fire/a") == 7614432612117917989
    )  # a change of this number changes everybody's scribbles


def test_soft_masks_count_above_one_half() -> None:
    soft = np.where(ellipse(120, 30), np.float32(0.51), np.float32(0.5))
    np.testing.assert_array_equal(draw_scribble(soft, 1), draw_scribble(ellipse(120, 30), 1))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encode_png(STROKES))
    np.testing.assert_array_equal(read_scribble(tmp_path / "a.png"), STROKES)


def coloured(unknown: tuple[int, ...], smoke: tuple[int, ...], background: tuple[int, ...]) -> Image.Image:
    return Image.fromarray(np.array([unknown, smoke, background], np.uint8)[STROKES])


def palette(colours: list[int], numbers: NDArray[np.uint8] = STROKES) -> Image.Image:
    image = Image.new("P", numbers.shape[::-1])
    image.putdata(numbers.ravel().tolist())
    image.putpalette(colours)
    return image


GOOD = {
    "red and green on black": coloured((0, 0, 0), (255, 0, 0), (0, 255, 0)),
    "red and blue on white": coloured((255, 255, 255), (200, 20, 10), (0, 0, 255)),
    "red and green on nothing": coloured((9, 99, 9, 0), (255, 0, 0, 255), (0, 255, 0, 255)),
    "grey saved as colour": coloured((0, 0, 0), (1, 1, 1), (2, 2, 2)),
    "a palette of greys": palette([0, 0, 0, 1, 1, 1, 2, 2, 2]),
    "a palette that agrees": palette([0, 0, 0, 128, 0, 0, 0, 128, 0]),
    "a palette of other numbers": palette([0] * 9 + [0, 0, 0, 255, 0, 0, 0, 0, 255], STROKES + 3),
    "16 bits": Image.fromarray(STROKES.astype(np.uint16)),
}


@pytest.mark.parametrize("kind", GOOD)
def test_clear_colours_are_understood(tmp_path: Path, kind: str) -> None:
    GOOD[kind].save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_scribble(tmp_path / "a.png"), STROKES)


BAD = {
    "a mask": (Image.fromarray(STROKES * 100), "values 0, 100, 200"),
    "a 1-bit mask": (Image.fromarray(STROKES > 0), "black and white"),
    "black and white": (coloured((0, 0, 0), (255, 255, 255), (0, 0, 0)), "values [0, 0, 0], [255, 255, 255]"),
    "yellow": (coloured((0, 0, 0), (255, 0, 0), (255, 255, 0)), "[255, 255, 0]"),
    "grey unknown": (coloured((128, 128, 128), (255, 0, 0), (0, 255, 0)), "[128, 128, 128]"),
    "a palette that contradicts": (palette([0, 0, 0, 0, 255, 0, 255, 0, 0]), "contradicts itself"),
    "a ramp": (Image.linear_gradient("L"), "and 251 more"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_unclear_is_refused(tmp_path: Path, kind: str) -> None:
    image, words = BAD[kind]
    image.save(tmp_path / "a.png")
    with pytest.raises(SmokescopeError) as caught:
        read_scribble(tmp_path / "a.png")
    assert str(tmp_path / "a.png") in str(caught.value)
    assert words in str(caught.value)


def test_a_scribble_stands_in_its_masks_place(tmp_path: Path) -> None:
    picture = saved_png(tmp_path / "a.png", np.zeros((3, 4, 3), np.uint8))
    scribble = saved_png(tmp_path / "a_gt.png", STROKES)
    np.testing.assert_array_equal(read_scribbled(Pair("a", picture, scribble))[1], STROKES)
    # a picture without smoke needs no strokes: all of it is background
    assert (read_scribbled(Pair("a", picture, None))[1] == BACKGROUND).all()
    turned = saved_png(tmp_path / "b_gt.png", STROKES.T)
    with pytest.raises(SmokescopeError, match="differ in size: 4 x 3 and 3 x 4"):
        read_scribbled(Pair("b", picture, turned))


def saved_png(path: Path, pixels: NDArray[np.uint8]) -> Path:
    path.write_bytes(encode_png(pixels))
    return path
