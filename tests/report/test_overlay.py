"""Overlays: outlines and signs where the regions are, and nothing elsewhere."""

import cv2
import numpy as np
import pytest
from tests.bright import bright, hill

from smokescope.report.overlay import (
    SIGNS,
    TINTED,
    VERDICT_COLOURS,
    draw_overlay,
    label,
    outline_around,
    percent,
)


@pytest.mark.parametrize(("red", "verdict"), [(230, "smoke"), (120, "unsure")])
def test_a_region_is_outlined_in_its_verdicts_colour(red: int, verdict: str) -> None:
    picture = hill(red, 300, 400)
    prediction = bright()(picture)
    drawn = draw_overlay(picture, prediction)
    assert drawn.shape == picture.shape
    (other,) = {*VERDICT_COLOURS} - {verdict}
    assert (drawn == SIGNS[verdict][0]).all(-1).sum() > 300
    assert not (drawn == SIGNS[other][0]).all(-1).any()
    edge = np.abs(drawn[20:30, 25:35].astype(int) - VERDICT_COLOURS[verdict]).max(-1)
    assert (edge.min(0) < 60).all()  # a line below it, smoothed
    assert (drawn[100:] == picture[100:]).all()


@pytest.mark.parametrize("scale", [1, 4])
@pytest.mark.parametrize("thin", [False, True])
def test_small_smoke_is_left_as_it_is_in_the_picture(scale: int, thin: bool) -> None:
    """It is to be checked by eye: no line, rim, tint or sign lies over it."""
    picture = np.full((480 * scale, 640 * scale, 3), 10, np.uint8)
    rows, columns = np.mgrid[: 480 * scale, : 640 * scale] / scale
    along = (columns - 300) / (40 if thin else 14)
    smoke = (abs(rows - 200 - 6 * along**2) < (3 if thin else 8)) & (abs(along) < 1)
    picture[smoke, 0] = 230
    assert 0.001 < smoke.mean() < TINTED
    prediction = bright()(picture)
    assert [region.verdict for region in prediction.regions] == ["smoke"]
    drawn = draw_overlay(picture, prediction)
    np.testing.assert_array_equal(drawn[smoke], picture[smoke])
    near = cv2.dilate(smoke.astype(np.uint8), np.ones((25 * scale, 25 * scale), np.uint8)) > 0
    changed = (drawn != picture).any(-1)
    assert (np.abs(drawn[near].astype(int) - VERDICT_COLOURS["smoke"]).max(-1) < 60).sum() > 100 * scale
    assert changed[near].mean() < 0.5


def test_an_outline_goes_all_around_and_stays_inside_the_picture() -> None:
    square = [(100, 100), (119, 100), (119, 119), (100, 119)]
    line = np.array(outline_around(square, (400, 300)))
    gaps = cv2.pointPolygonTest(line.astype(np.float32).reshape(-1, 1, 2), (110.0, 110.0), True)
    assert gaps == pytest.approx(13.5, abs=1)
    assert all(
        3 <= -cv2.pointPolygonTest(np.array(square, np.float32), (float(x), float(y)), True) <= 4.01
        for x, y in line
    )
    corner = np.array(outline_around([(0, 0), (20, 0), (20, 10), (0, 10)], (400, 300)))
    assert (corner.min(0).tolist(), corner.max(0).tolist()) == ([0, 0], [24, 14])


def test_only_the_mask_is_tinted() -> None:
    picture = hill(230, 120, 160)
    drawn = draw_overlay(picture, bright()(picture))
    inside = drawn[14:16, 25:35].astype(int) - picture[14:16, 25:35]
    assert (inside[..., 1] > 5).all()
    assert (drawn[60:] == picture[60:]).all()
    assert picture[14, 30].tolist() == [230, 10, 10]  # the picture itself is left alone


def test_where_nothing_is_found_the_picture_stays() -> None:
    picture = hill(20)
    np.testing.assert_array_equal(draw_overlay(picture, bright()(picture)), picture)


def test_a_sign_fits_in_where_the_region_fills_the_picture() -> None:
    picture = np.full((40, 60, 3), 230, np.uint8)
    picture[..., 1:] = 0
    assert draw_overlay(picture, bright()(picture)).shape == (40, 60, 3)


def test_a_sign_is_read_where_there_is_no_room_above() -> None:
    picture = hill(0, 300, 400)
    picture[:10, 20:40, 0] = 230
    drawn = draw_overlay(picture, bright()(picture))
    assert (drawn[12:] == SIGNS["smoke"][0]).all(-1).sum() > 300


def test_nothing_is_certain() -> None:
    assert [percent(p) for p in (0.394, 0.9949, 0.996, 1.0)] == ["39 %", "99 %", "> 99 %", "> 99 %"]
    assert [percent(p) for p in (0.006, 0.004, 0.0)] == ["1 %", "< 1 %", "< 1 %"]
    assert label(bright()(hill(230)).regions[0]) == "smoke 90 %"
