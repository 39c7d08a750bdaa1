"""A picture and the map made of it, side by side with a legend: something to show to people."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from smokescope.report.colours import FAINT, INK, PAPER, ColourMap

PANEL = 960  # the longer side of each panel at most: two stand side by side on a screen
SMALLEST = 320  # smaller pictures are enlarged to it, so that the legend fits and there is something to see

_MARGIN = 24
_BAR = 18
BAR = _BAR + 54  # with the words below it


class Legend(NamedTuple):
    """The words around a map."""

    title: str
    low: str
    """What 0 means."""
    high: str
    """What 1 means."""
    top: float = 1.0
    """The figure that is written at the bar's end: what 1 is, in the quantity's own unit."""


def side_by_side(
    picture: NDArray[np.uint8], values: NDArray[np.floating], colours: ColourMap, legend: Legend
) -> NDArray[np.uint8]:
    """Draw a picture beside the map of a quantity.

    Args:
        picture: H x W x 3 RGB.
        values: H x W, in [0, 1].
        colours: The quantity's colour map.
        legend: The words to put around it.

    Returns:
        An RGB picture; the panels are scaled to fit a screen.
    """
    height, width = values.shape
    factor = min(PANEL / max(height, width), max(1.0, SMALLEST / max(height, width)))
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    # Enlarged pixels stay squares; it is the pixels that one then wants to see.
    how = Image.Resampling.LANCZOS if factor < 1 else Image.Resampling.NEAREST
    # Values are scaled before they are coloured: a mean of colours may not be on the map.
    shown = np.asarray(Image.fromarray(values.astype(np.float32)).resize(size, how))

    column = max(size[0], SMALLEST)  # a narrow picture still has a legend of full width
    title_font = ImageFont.load_default(20)
    top = _MARGIN + 32
    bar_top = top + size[1] + 16
    sheet = Image.new("RGB", (2 * column + 3 * _MARGIN, bar_top + BAR), PAPER)
    draw = ImageDraw.Draw(sheet)
    left, right = _MARGIN, 2 * _MARGIN + column

    draw.text((left, _MARGIN - 6), "Picture", INK, title_font)
    draw.text((right, _MARGIN - 6), legend.title, INK, title_font)
    sheet.paste(Image.fromarray(picture).resize(size, how), (left, top))
    sheet.paste(Image.fromarray(colours.apply(shown)), (right, top))

    draw_bar(sheet, (right, bar_top), column, colours, legend)
    return np.array(sheet)


def draw_bar(
    sheet: Image.Image, place: tuple[int, int], width: int, colours: ColourMap, legend: Legend
) -> None:
    """Draw a bar that says which colour is which value: `BAR` pixels high from its upper left corner on."""
    left, top = place
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    below = top + _BAR
    ramp = np.repeat(np.linspace(0.0, 1.0, width)[None], _BAR, axis=0)
    sheet.paste(Image.fromarray(colours.apply(ramp)), place)
    draw.rectangle((left - 1, top - 1, left + width, below), outline=FAINT)
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = left + value * (width - 1)
        side = "l" if value == 0 else "r" if value == 1 else "m"
        draw.line((x, below, x, below + 4), FAINT)
        draw.text((x, below + 6), f"{value * legend.top:.2g}", INK, font, anchor=side + "a")
    draw.text((left, below + 26), legend.low, FAINT, font)
    draw.text((left + width - 1, below + 26), legend.high, FAINT, font, anchor="ra")
