"""Plumes: one shape wherever it is pasted, and no two plumes taken for one."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from smokescope.data.plumes import OVERLAP, Plume, mirrored, plume, same_smoke, signature

Mask = NDArray[np.float32]


def blob(seed: int, side: int = 90) -> Mask:
    """A ragged piece of smoke: the largest part of thresholded smooth noise, inside an empty border."""
    noise = np.random.default_rng(seed).normal(size=(side, side)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), 8)
    y, x = np.mgrid[:side, :side] / (side - 1) - 0.5
    smooth = smooth / smooth.std() - 6 * (x**2 + y**2) + 1.1
    count, labels, sizes, _ = cv2.connectedComponentsWithStats((smooth > 0).astype(np.uint8))
    assert count > 1
    piece = labels == 1 + int(np.argmax(sizes[1:, cv2.CC_STAT_AREA]))
    piece[[0, -1]] = piece[:, [0, -1]] = False
    return piece.astype(np.float32)


def paste(piece: Mask, top: int, left: int, shape: tuple[int, int] = (200, 240)) -> Mask:
    mask = np.zeros(shape, np.float32)
    mask[top : top + piece.shape[0], left : left + piece.shape[1]] = piece
    return mask


def scaled(piece: Mask, factor: float) -> Mask:
    small = cv2.resize(piece, None, fx=factor, fy=factor, interpolation=cv2.INTER_LINEAR)
    return (small > 0.5).astype(np.float32)


def shape_of(mask: Mask) -> Plume:
    found = plume(mask)
    assert isinstance(found, Plume), found
    return found


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 500),
    top=st.integers(0, 70),
    left=st.integers(0, 110),
    factor=st.floats(0.8, 1.25),
    mirror=st.booleans(),
)
def test_place_mirror_and_scale_make_no_difference(
    seed: int, top: int, left: int, factor: float, mirror: bool
) -> None:
    piece = blob(seed)
    changed = scaled(piece[:, ::-1] if mirror else piece, factor)
    overlap = same_smoke(shape_of(paste(piece, 5, 5)), shape_of(paste(changed, top, left)))
    assert overlap is not None
    assert overlap > OVERLAP


def test_different_plumes_are_different() -> None:
    shapes = [shape_of(paste(blob(seed), 20, 20)) for seed in range(30)]
    assert not any(same_smoke(a, b) for i, a in enumerate(shapes) for b in shapes[:i])


@given(seed=st.integers(0, 500))
@settings(max_examples=20, deadline=None)
def test_the_comparison_is_symmetric_and_agrees_with_the_signatures(seed: int) -> None:
    piece = blob(seed)
    one, other = shape_of(paste(piece, 3, 8)), shape_of(paste(scaled(piece, 0.9), 60, 50))
    assert same_smoke(one, other) == pytest.approx(same_smoke(other, one))
    assert signature(one) @ signature(other) > 0.99
    np.testing.assert_array_equal(mirrored(mirrored(one)).shape, one.shape)


def test_a_part_of_a_plume_is_not_the_plume() -> None:
    piece = blob(4)
    part = piece.copy()
    part[: piece.shape[0] // 2] = 0
    assert same_smoke(shape_of(paste(piece, 5, 5)), shape_of(paste(part, 5, 5))) is None


def test_beyond_modest_scales_smoke_is_not_compared() -> None:
    piece = blob(2)
    one, other = shape_of(paste(piece, 5, 5)), shape_of(paste(scaled(piece, 2), 5, 5))
    assert same_smoke(one, other) is None
    assert (
        same_smoke(one, other._replace(length=one.length)) is not None
    )  # the scale alone made the difference


def test_overlap_is_intersection_over_union_of_what_differs() -> None:
    square = np.zeros((64, 64), np.uint8)
    square[20:40, 20:40] = 255
    wider = square.copy()
    wider[20:40, 40] = 255
    assert same_smoke(Plume(square, 24), Plume(wider, 24)) == pytest.approx(20 / 21)


def rectangle() -> Mask:
    return paste(np.ones((30, 60), np.float32), 40, 40)


def ellipse() -> Mask:
    return cv2.ellipse(np.zeros((200, 240), np.float32), (120, 100), (70, 30), 25, 0, 360, 1, -1).astype(
        np.float32
    )


def two_far_apart() -> Mask:
    dots = paste(np.ones((16, 16), np.float32), 5, 5)
    return np.maximum(dots, paste(np.ones((16, 16), np.float32), 180, 220))


def running_off() -> Mask:
    return paste(np.ones((100, 240), np.float32), 0, 0) + paste(blob(3), 100, 50)


@pytest.mark.parametrize(
    ("mask", "why"),
    [
        (np.zeros((50, 50), np.float32), "small"),
        (paste(scaled(blob(1), 0.15), 50, 50), "small"),
        (np.ones((50, 50), np.float32), "cut"),
        (running_off(), "cut"),
        (two_far_apart(), "scattered"),
        (rectangle(), "plain"),
        (ellipse(), "plain"),
    ],
)
def test_what_proves_nothing_is_left_out_with_its_reason(mask: Mask, why: str) -> None:
    assert plume(mask) == why
