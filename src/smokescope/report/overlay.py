"""A picture with what was found in it: the mask as a tint, regions outlined and named."""

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from smokescope.inference import Prediction, Region
from smokescope.report.thumbnails import OUTLINE

VERDICT_COLOURS = {"smoke": OUTLINE, "unsure": (255, 190, 40)}  # apart in lightness too
TINT = 0.22  # of the mask: what lies below must stay visible
TINTED = 0.002  # of the picture: a smaller area of the mask has no tint, as little would be seen below it

_DARK, _LIGHT = (20, 20, 20), (255, 255, 255)

SIGNS = {  # behind words on a verdict, and of the words; lines may be brighter than what words are read on
    "smoke": ((196, 51, 16), _LIGHT),
    "unsure": (VERDICT_COLOURS["unsure"], _DARK),
    "nothing": ((91, 98, 112), _LIGHT),
}


def draw_overlay(picture: NDArray[np.uint8], prediction: Prediction) -> NDArray[np.uint8]:
    """Draw the mask and the regions over a picture H x W x 3; a new one of the same size."""
    tinted = picture.copy()
    large = _large(prediction.mask)
    tinted[large] = np.rint((1 - TINT) * picture[large] + TINT * np.array(VERDICT_COLOURS["smoke"]))
    return draw_regions(tinted, prediction.regions)


def draw_regions(picture: NDArray[np.uint8], regions: Sequence[Region]) -> NDArray[np.uint8]:
    """Outline regions and say what each is; a new picture."""
    drawn = picture.copy()
    height, width = picture.shape[:2]
    side = max(height, width)
    for region in reversed(regions):  # the first on top
        corners = np.array(outline_around(region.polygon, (width, height)), np.int32)
        # a dark rim: smoke may have any colour
        cv2.polylines(drawn, [corners], True, _DARK, _line(side) + 1, cv2.LINE_AA)
        cv2.polylines(drawn, [corners], True, VERDICT_COLOURS[region.verdict], _line(side), cv2.LINE_AA)
    sheet = Image.fromarray(drawn)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(max(12, side / 64))
    for region in reversed(regions):
        _label(draw, font, region, (sheet.width, sheet.height))
    return np.array(sheet)


def outline_around(polygon: Sequence[tuple[int, int]], size: tuple[int, int]) -> list[tuple[int, int]]:
    """The line to draw around a region: a few pixels outside it, so that small smoke can be seen in it.

    Args:
        polygon: The region's, in points x, y.
        size: Width and height of the picture, within which the line stays.
    """
    reach = _reach(max(size))
    corners = np.array(polygon, np.int32)
    corner = corners.min(0) - reach - 2
    wide, high = corners.max(0) - corner + reach + 3
    outside = np.ones((high, wide), np.uint8)
    cv2.fillPoly(outside, [corners - corner], 0)
    near = cv2.distanceTransform(outside, cv2.DIST_L2, cv2.DIST_MASK_PRECISE) <= reach
    lines, _ = cv2.findContours(near.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    points = np.asarray(cv2.approxPolyDP(lines[0], 0.7, True)).reshape(-1, 2) + corner
    return [(int(x), int(y)) for x, y in points.clip(0, np.array(size) - 1)]


def label(region: Region) -> str:
    """What is written beside a region."""
    return f"{region.verdict} {percent(region.peak)}"


def percent(probability: float) -> str:
    """A probability for people; nothing is ever certain."""
    shown = f"{100 * probability:.0f} %"
    return {"100 %": "> 99 %", "0 %": "< 1 %"}.get(shown, shown)


def _large(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The connected areas of a mask that are large enough for a tint."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    kept = np.asarray(stats)[:, cv2.CC_STAT_AREA] >= TINTED * mask.size
    kept[0] = False  # all the rest
    large: NDArray[np.bool_] = kept[np.asarray(labels)]
    return large


def _line(side: int) -> int:
    """Width of a line in a picture whose longer side has so many pixels."""
    return max(1, round(side / 500))


def _reach(side: int) -> int:
    """How far from a region's polygon, which its pixels may leave a little, the middle of its line is."""
    return 2 + 2 * _line(side)


def _label(
    draw: ImageDraw.ImageDraw,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    region: Region,
    size: tuple[int, int],
) -> None:
    """A small sign above the region; below it where there is no room, and always inside the picture."""
    words = label(region)
    _, _, right, bottom = font.getbbox(words)
    pad = max(2, round(bottom / 5))
    wide, high = round(right) + 2 * pad, round(bottom) + 2 * pad
    x0, y0, _, y1 = region.box
    gap = _reach(max(size)) + _line(max(size)) + 2
    x = max(0, min(x0, size[0] - wide))
    y = y0 - high - gap if y0 >= high + gap else max(0, min(y1 + gap, size[1] - high))
    ground, ink = SIGNS[region.verdict]
    draw.rectangle((x, y, x + wide, y + high), fill=ground)
    draw.text((x + pad, y + pad), words, ink, font)
