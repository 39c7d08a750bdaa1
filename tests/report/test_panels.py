"""Panels: the picture and its map, whatever their size."""

import numpy as np
import pytest

from smokescope.report.colours import TRANSMISSION
from smokescope.report.panels import PANEL, SMALLEST, Legend, side_by_side

LEGEND = Legend("Transmission", low="smoke", high="clear")
RED = (200, 30, 30)


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 5000), (5000, 1), (480, 640), (3000, 1000)], ids=lambda s: f"{s[0]}x{s[1]}"
)
def test_panels_fit_a_screen_and_show_both(shape: tuple[int, int]) -> None:
    picture = np.full((*shape, 3), RED, np.uint8)
    values = np.full(shape, 0.5)
    sheet = side_by_side(picture, values, TRANSMISSION, LEGEND)
    height, width, _ = sheet.shape
    assert SMALLEST < width < 2 * PANEL + 100
    assert height < PANEL + 160
    # Each panel has the same area, in its own half, of the picture's aspect.
    factor = min(PANEL / max(shape), max(1.0, SMALLEST / max(shape)))
    area = max(1, round(shape[0] * factor)) * max(1, round(shape[1] * factor))
    assert (sheet[:, : width // 2] == RED).all(-1).sum() == area
    coloured = (sheet[:, width // 2 :] == TRANSMISSION.table[128]).all(-1).sum()
    assert area <= coloured <= area + 200  # the bar below shows that colour too


def test_the_bar_shows_the_whole_map_from_low_to_high() -> None:
    sheet = side_by_side(np.zeros((64, 1024, 3), np.uint8), np.zeros((64, 1024)), TRANSMISSION, LEGEND)
    row = next(
        r for r in sheet if {tuple(c) for c in TRANSMISSION.table.tolist()} <= {tuple(c) for c in r.tolist()}
    )
    first, last = (np.flatnonzero((row == TRANSMISSION.table[end]).all(-1)).mean() for end in (0, 255))
    assert first < last


def test_values_are_scaled_before_they_are_coloured() -> None:
    # A fine checkerboard of 0 and 1 is, from afar, 0.5: the map's middle colour, not a mix of its ends.
    values = np.indices((4 * PANEL, 4 * PANEL)).sum(0) % 2.0
    sheet = side_by_side(np.zeros((*values.shape, 3), np.uint8), values, TRANSMISSION, LEGEND)
    middle = sheet[sheet.shape[0] // 2, -sheet.shape[1] // 4]
    assert np.abs(middle.astype(int) - TRANSMISSION.table[128]).max() <= 4


def test_enlarged_pixels_stay_pixels() -> None:
    values = np.array([[0.0, 1.0]])
    sheet = side_by_side(np.array([[RED, (0, 0, 255)]], np.uint8), values, TRANSMISSION, LEGEND)
    panel = sheet[70, : sheet.shape[1] // 2]  # a row through the middle of the picture
    assert {tuple(c) for c in panel.tolist()} == {(255, 255, 255), RED, (0, 0, 255)}
