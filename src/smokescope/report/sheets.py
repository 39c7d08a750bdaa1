"""Contact sheets: many small pictures in titled rows, to check by eye what a program decided."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from smokescope.report.colours import FAINT, INK, PAPER
from smokescope.report.thumbnails import thumbnail

TILE = (176, 132)
COLUMNS = 8
PAGE = 2400  # pixels of height after which a new page begins
MARGIN = 12


class Tile(NamedTuple):
    """A small picture."""

    picture: NDArray[np.uint8]
    """H x W x 3, scaled down to fit."""
    caption: str = ""
    mask: NDArray[np.bool_] | None = None
    """H x W; its outline is drawn over the picture."""


class Row(NamedTuple):
    """Pictures that belong together; as many lines as they need."""

    title: str
    tiles: Sequence[Tile]


def contact_sheets(rows: Iterable[Row]) -> Iterator[NDArray[np.uint8]]:
    """Lay rows out on pages of bounded height, RGB, one after the other; a row is not split over pages."""
    page: list[Image.Image] = []
    for row in rows:
        strip = _draw_row(row)
        if page and sum(s.height for s in page) + strip.height > PAGE:
            yield _join(page)
            page = []
        page.append(strip)
    if page:
        yield _join(page)


def _draw_row(row: Row) -> Image.Image:
    font, small = ImageFont.load_default(16), ImageFont.load_default(11)
    lines = -(-len(row.tiles) // COLUMNS)
    cell = (TILE[0] + 4, TILE[1] + 18)
    strip = Image.new("RGB", (2 * MARGIN + COLUMNS * cell[0], 30 + lines * cell[1]), PAPER)
    draw = ImageDraw.Draw(strip)
    draw.text((MARGIN, 8), row.title, INK, font)
    for i, tile in enumerate(row.tiles):
        x, y = MARGIN + i % COLUMNS * cell[0], 30 + i // COLUMNS * cell[1]
        strip.paste(Image.fromarray(thumbnail(tile.picture, tile.mask, TILE)), (x, y))
        draw.text((x, y + TILE[1] + 2), _fit(tile.caption, small), FAINT, small)
    return strip


def _fit(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    while text and font.getlength(text) > TILE[0]:
        text = text[:-2] + "…" if len(text) > 2 else ""
    return text


def _join(strips: Sequence[Image.Image]) -> NDArray[np.uint8]:
    sheet = Image.new("RGB", (strips[0].width, sum(s.height for s in strips) + MARGIN), PAPER)
    top = 0
    for strip in strips:
        sheet.paste(strip, (0, top))
        top += strip.height
    return np.array(sheet)
