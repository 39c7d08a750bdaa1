"""Overlays: outlines and signs where the regions are, and nothing elsewhere."""

import numpy as np
import pytest
from tests.bright import bright, hill

from smokescope.report.overlay import SIGNS, VERDICT_COLOURS, draw_overlay, label, percent


@pytest.mark.parametrize(("red", "verdict"), [(230, "smoke"), (120, "unsure")])
def test_a_region_is_outlined_in_its_verdicts_colour(red: int, verdict: str) -> None:
    picture = hill(red, 300, 400)
    prediction = bright()(picture)
    drawn = draw_overlay(picture, prediction)
    assert drawn.shape == picture.shape
    (other,) = {*VERDICT_COLOURS} - {verdict}
    assert (drawn == SIGNS[verdict][0]).all(-1).sum() > 300
    assert not (drawn == SIGNS[other][0]).all(-1).any()
    edge = np.abs(drawn[10, 25:35].astype(int) - VERDICT_COLOURS[verdict]).max(-1)
    assert (edge < 60).all()  # a line that is smoothed
    assert (drawn[100:] == picture[100:]).all()


def test_only_the_mask_is_tinted() -> None:
    picture = hill(230, 300, 400)
    drawn = draw_overlay(picture, bright()(picture))
    inside = drawn[14:16, 25:35].astype(int) - picture[14:16, 25:35]
    assert (inside[..., 1] > 5).all()
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
    assert label(bright()(hill(230)).regions[0]) == "smoke 90 %"
