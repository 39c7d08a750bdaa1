"""Contact sheets: everything is on them, in order, and pages stay bounded."""

import numpy as np
import pytest
from numpy.typing import NDArray

from smokescope.report.sheets import COLUMNS, PAGE, TILE, Row, Tile, contact_sheets
from smokescope.report.thumbnails import OUTLINE


def colour(red: int, green: int, blue: int, height: int = 90, width: int = 120) -> NDArray[np.uint8]:
    return np.full((height, width, 3), (red, green, blue), np.uint8)


def shows(sheet: NDArray[np.uint8], wanted: tuple[int, int, int]) -> int:
    return int((sheet == wanted).all(-1).sum())


def test_every_picture_is_on_the_sheet() -> None:
    rows = [
        Row("a", [Tile(colour(10, 20, i)) for i in range(COLUMNS + 3)]),
        Row("b", [Tile(colour(90, 0, 0))]),
    ]
    (sheet,) = contact_sheets(rows)
    for i in range(COLUMNS + 3):
        assert shows(sheet, (10, 20, i)) > 5000
    assert shows(sheet, (90, 0, 0)) > 5000


def test_tiles_keep_their_aspect_and_fit() -> None:
    (sheet,) = contact_sheets([Row("", [Tile(colour(1, 2, 3, 400, 100)), Tile(colour(4, 5, 6, 100, 400))])])
    for wanted, size in (((1, 2, 3), (TILE[1], TILE[1] // 4)), ((4, 5, 6), (TILE[0] // 4, TILE[0]))):
        rows, columns = np.nonzero((sheet == wanted).all(-1))
        assert (np.ptp(rows) + 1, np.ptp(columns) + 1) == pytest.approx(size, abs=1)


def test_even_the_smallest_smoke_is_outlined() -> None:
    mask = np.zeros((900, 1200), np.bool_)
    mask[450, 600] = True
    picture = colour(50, 50, 50, 900, 1200)
    (without,), (outlined,) = (contact_sheets([Row("", [Tile(picture, "", m)])]) for m in (None, mask))
    assert shows(without, OUTLINE) == 0
    assert 3 <= shows(outlined, OUTLINE) <= 12


def test_long_sheets_break_between_rows() -> None:
    rows = [Row(f"{i}", [Tile(colour(i + 1, 0, 0))]) for i in range(40)]
    pages = list(contact_sheets(rows))
    assert len(pages) > 1
    assert all(page.shape[0] <= PAGE + 30 for page in pages)
    assert sum(shows(page, (i + 1, 0, 0)) > 0 for page in pages for i in range(40)) == 40


def test_long_captions_are_cut_and_nothing_makes_no_page() -> None:
    assert list(contact_sheets([])) == []
    (sheet,) = contact_sheets([Row("t" * 500, [Tile(colour(9, 9, 9), "c" * 500)] * 2)])
    assert sheet.shape[1] < COLUMNS * (TILE[0] + 10) + 50
