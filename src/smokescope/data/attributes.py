"""What makes smoke hard to see, measured: the six attributes of the paper's supplement, and transmission.

    small objects         size
    diverse locations     place_x, place_y, off_centre; for a set `centre_bias`
    similar background    contrast, transmission_inside
    similar foreground    confusable
    diverse shapes        compactness
    object occlusion      parts

Smoke is an H x W array of booleans and a picture H x W x 3 8-bit RGB; what several measures need of a picture
is found once and handed to them. Lengths are shares of the longer side, so that figures of small and of large
pictures compare.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from smokescope.data.pictures import shrink
from smokescope.physics.transmission import transmission

Smoke = NDArray[np.bool_]
Picture = NDArray[np.uint8]

NEAR = 0.02  # 13 of 640 pixels: wide enough for texture to average out, narrow enough to be beside the smoke
# Bright and grey as smoke is: so are 78 % of the smoke's pixels in SMOKE5K's real pictures, 24 % of the rest.
# A blue sky has more saturation than that and stays out; cloud, haze and glare do not.
CONFUSABLE_VALUE, CONFUSABLE_SATURATION = 0.5, 0.3
SPECK = 0.01  # of the largest part's area: smaller ones are slips of whoever drew the mask
DETAIL = 0.01  # of the square root of a part's area: the finest detail of an outline that counts
TRANSMISSION_SIDE = 480  # the paper's picture size, which its 15-pixel patch goes with
GRID = 24  # cells along each side of a map of places; three thirds of eight


class ChannelRange(NamedTuple):
    """Smallest and largest channel of each pixel, H x W."""

    smallest: Picture
    largest: Picture


class SmokeAttributes(NamedTuple):
    """The measures that need a mask; None where there is nothing to measure."""

    size: float
    place_x: float | None
    place_y: float | None
    off_centre: float | None
    contrast: float | None
    compactness: float | None
    parts: int
    transmission_inside: float | None
    transmission_outside: float | None


def measure_smoke(picture: Picture, smoke: Smoke) -> SmokeAttributes:
    """All measures of one picture's smoke. Without any, size and parts are 0 and the rest is None."""
    x, y = place(smoke) or (None, None)
    inside, outside = transmissions(picture, smoke)
    separate = parts(smoke)
    return SmokeAttributes(
        size=size(smoke),
        place_x=x,
        place_y=y,
        off_centre=None if x is None or y is None else off_centre(x, y),
        contrast=contrast(picture, smoke),
        compactness=compactness(separate),
        parts=len(separate),
        transmission_inside=inside,
        transmission_outside=outside,
    )


def size(smoke: Smoke) -> float:
    """Smoke's share of the picture, 0 to 1: pixels of smoke / all pixels."""
    return float(smoke.mean())


def place(smoke: Smoke) -> tuple[float, float] | None:
    """Centroid (x, y) of the smoke; (0, 0) is the picture's upper left corner, (1, 1) its lower right."""
    rows, columns = np.nonzero(smoke)
    if rows.size == 0:
        return None
    height, width = smoke.shape
    return float((columns.mean() + 0.5) / width), float((rows.mean() + 0.5) / height)


def off_centre(x: float, y: float) -> float:
    """Distance of a place from the picture's centre: 0 there, 1 in a corner; sqrt(2 ((x-½)² + (y-½)²))."""
    return math.hypot(x - 0.5, y - 0.5) * math.sqrt(2)


def place_map(smoke: Smoke) -> NDArray[np.float64]:
    """Where in its picture the smoke lies: GRID x GRID cells that sum to 1, or are all 0 without smoke."""
    if min(smoke.shape) < GRID:  # so that a cell is made of pixels, never part of one
        smoke = np.kron(smoke, np.ones((GRID, GRID), np.bool_))
    area = cv2.resize(smoke.astype(np.float32), (GRID, GRID), interpolation=cv2.INTER_AREA)
    shares = np.asarray(area, np.float64)
    total = shares.sum()
    return shares / total if total else shares


def centre_bias(places: NDArray[np.float64]) -> float | None:
    """How much more smoke lies in the middle of a set's pictures than if it lay anywhere.

    Args:
        places: The sum of the pictures' place maps, in which each has one vote however large its smoke.

    Returns:
        The share of it in the middle third of width and height, divided by the 1/9 that even smoke would
        have: 1 is no bias, 9 is all of it. None where no picture has smoke.
    """
    third = slice(GRID // 3, 2 * GRID // 3)
    total = places.sum()
    return float(places[third, third].sum() / total * 9) if total else None


def contrast(picture: Picture, smoke: Smoke) -> float | None:
    """How smoke differs from what it borders on: mean colour distance along its outline in CIE Lab (ΔE 1976).

    About 2 can just be seen side by side; black and white differ by 100. At each pixel of the outline the
    mean colour of the smoke is compared with that of its surround, both within NEAR of the longer side (at
    least 2 pixels), and the distances are averaged: over the whole outline at once, a bright sky above and a
    dark slope below would add up to the grey of the smoke between. None without smoke, or without surround.
    """
    reach = max(2, round(NEAR * max(smoke.shape)))
    near = _box(smoke, reach)
    mask = smoke[near].astype(np.float32)
    lab = np.asarray(cv2.cvtColor(picture[near].astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    # The outline's pixels lie on the smoke's side; beyond the picture's border there is no surround.
    outline = (mask > 0) & (np.asarray(cv2.erode(mask, np.ones((3, 3)), borderValue=1)) == 0)
    if not outline.any():
        return None
    inside, outside = (_local_mean(lab, weight, reach)[outline] for weight in (mask, 1 - mask))
    return float(np.linalg.norm(inside - outside, axis=1).mean(dtype=np.float64))


def _local_mean(values: NDArray[np.float32], weight: NDArray[np.float32], reach: int) -> NDArray[np.float32]:
    def total(x: NDArray[np.float32]) -> NDArray[np.float32]:
        window = (2 * reach + 1, 2 * reach + 1)
        return np.asarray(
            cv2.boxFilter(x, -1, window, None, (-1, -1), False, cv2.BORDER_CONSTANT), np.float32
        )

    means: NDArray[np.float32] = total(values * weight[..., None]) / np.maximum(total(weight), 1)[..., None]
    return means


def _box(smoke: Smoke, margin: int) -> tuple[slice, slice]:
    """The smallest rectangle with all smoke and a margin around it, as far as the picture goes."""
    sides = []
    for axis in (1, 0):
        filled = np.flatnonzero(smoke.any(axis))
        first, last = (filled[0], filled[-1]) if filled.size else (0, 0)
        sides.append(slice(max(0, int(first) - margin), int(last) + margin + 1))
    return sides[0], sides[1]


def parts(smoke: Smoke) -> list[Smoke]:
    """The separate parts of the smoke, largest first, without specks.

    Pixels that touch, also by a corner, are one part; a speck has less than SPECK of the largest part's area.
    """
    count, labels, stats, _ = cv2.connectedComponentsWithStats(smoke.astype(np.uint8), connectivity=8)
    areas = stats[1:count, cv2.CC_STAT_AREA]
    kept = [i for i in np.argsort(-areas, kind="stable") if areas[i] >= SPECK * areas.max()]
    return [labels == i + 1 for i in kept]


def compactness(separate: Sequence[Smoke]) -> float | None:
    """How round the smoke is: 4 pi area / perimeter², 1 for a disc, pi/4 for a square, near 0 for threads.

    Each part is measured for itself and weighs as its area, so that a second part does not count as a ragged
    shape. The outline is the polygon through the border pixels' centres, freed of detail finer than DETAIL of
    the part's size (or than a pixel's stairs) and moved outwards by half a pixel: with the polygon's area a
    and perimeter p, area = a + p/2 + pi/4 and perimeter = p + pi (Steiner), so that a single pixel has 1 and
    a line of pixels is a rod. Holes are filled. None without smoke.
    """
    figures, areas = [], []
    for part in separate:
        outlines, _ = cv2.findContours(part.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        outline = outlines[0]
        finest = max(0.75, DETAIL * math.sqrt(cv2.contourArea(outline)))
        polygon = cv2.approxPolyDP(outline, finest, True)
        a, p = cv2.contourArea(polygon), cv2.arcLength(polygon, True)
        figures.append(min(1.0, 4 * math.pi * (a + p / 2 + math.pi / 4) / (p + math.pi) ** 2))
        areas.append(int(part.sum()))
    return float(np.average(figures, weights=areas)) if figures else None


def confusable(channels: ChannelRange, smoke: Smoke) -> float:
    """Share of the picture, 0 to 1, that is bright and grey like smoke and is not smoke.

    Bright: the largest channel is at least CONFUSABLE_VALUE. Grey: HSV's saturation, (largest - smallest) /
    largest channel, is at most CONFUSABLE_SATURATION. Cloud, haze, fog and glare are; bare rock can be.
    """
    smallest, largest = channels
    alike = (largest >= CONFUSABLE_VALUE * 255) & (largest - smallest <= CONFUSABLE_SATURATION * largest)
    return float((alike & ~smoke).mean())


def transmissions(picture: Picture, smoke: Smoke) -> tuple[float | None, float | None]:
    """Mean transmission T inside and outside the smoke, 0 (opaque) to 1 (clear); None for an empty side.

    By the dark channel prior, with the longer side at most TRANSMISSION_SIDE. Each pixel of the smaller
    picture counts by its share of smoke, so that the smallest smoke still has a figure.
    """
    small, weight = shrink(picture, TRANSMISSION_SIDE), shrink(smoke.astype(np.float32), TRANSMISSION_SIDE)
    values = transmission(torch.from_numpy(small).permute(2, 0, 1)[None] / 255)[0, 0].numpy()
    inside, outside = float(weight.sum()), float((1 - weight).sum())
    return (
        float((values * weight).sum()) / inside if smoke.any() else None,
        float((values * (1 - weight)).sum()) / outside if not smoke.all() else None,
    )


def channel_range(picture: Picture) -> ChannelRange:
    """A picture's; many times as quick as a reduction by numpy."""
    red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
    return ChannelRange(np.minimum(np.minimum(red, green), blue), np.maximum(np.maximum(red, green), blue))
