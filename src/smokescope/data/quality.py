"""How good a picture is, in figures; the paper's authors discarded poor ones by hand.

A picture is H x W x 3 8-bit RGB. Brightness is luma by ITU-R BT.601, H x W in grey levels, found once
for the three measures that take it.
"""

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from smokescope.data.attributes import ChannelRange, Picture
from smokescope.data.pictures import shrink

Luma = NDArray[np.float32]

SHARPNESS_SIDE = 256  # the smallest pictures of the sets in use (SYN70K): shrunk to it, all sets compare
NIGHT = 0.2  # mean luma; the darkest daylight picture of SMOKE5K's real ones has 0.32
CLIP = 3  # grey levels from either end at which a channel counts as clipped; JPEG moves it by a few
BLOCK = 8  # pixels; the side of JPEG's blocks, and of the older video codecs'

FLAT = 0.1  # grey levels added to both differences, so that a picture of one colour has a ratio, 1


class Quality(NamedTuple):
    """A picture's quality."""

    sharpness: float
    luminance: float
    night: bool
    clipped_dark: float
    clipped_bright: float
    blockiness: float


def measure_quality(picture: Picture, channels: ChannelRange) -> Quality:
    """All measures of one picture's quality."""
    grey = luma(picture)
    brightness = luminance(grey)
    dark, bright = clipped(channels)
    return Quality(
        sharpness=sharpness(grey),
        luminance=brightness,
        night=brightness < NIGHT,
        clipped_dark=dark,
        clipped_bright=bright,
        blockiness=blockiness(grey),
    )


def luminance(grey: Luma) -> float:
    """Mean luma, 0 (black) to 1 (white). Under NIGHT a picture counts as taken by night."""
    return float(grey.mean()) / 255


def clipped(channels: ChannelRange) -> tuple[float, float]:
    """Shares of the picture, 0 to 1, that are too dark and too bright to show anything.

    Too dark: no channel is above CLIP. Too bright: none is below 255 - CLIP.
    """
    smallest, largest = channels
    return float((largest <= CLIP).mean()), float((smallest >= 255 - CLIP).mean())


def sharpness(grey: Luma) -> float:
    """Variance of the Laplacian of luma (grey levels²), the longer side shrunk to SHARPNESS_SIDE.

    The Laplacian is [[0, 1, 0], [1, -4, 1], [0, 1, 0]]. Blur takes it towards 0; so do fog and a bare sky.
    Pictures smaller than that side are not enlarged.
    """
    small = shrink(grey, SHARPNESS_SIDE)
    return float(np.asarray(cv2.Laplacian(small, cv2.CV_32F, ksize=1)).var(dtype=np.float64))


def blockiness(grey: Luma) -> float:
    """How much more luma jumps across the borders of compression's blocks than inside them; 1 is not at all.

    Mean absolute difference of neighbours across every eighth line, divided by that across the other seven,
    for the one of eight positions of the grid where it is largest (a crop or a mirror shifts the grid),
    averaged over rows and columns. At the picture's own size: scaling wipes the grid out. 1 where a side is
    too short to tell.
    """
    return float(np.mean([_grid_ratio(np.abs(np.diff(grey, axis=axis)).mean(1 - axis)) for axis in (0, 1)]))


def _grid_ratio(jumps: NDArray[np.float32]) -> float:
    if len(jumps) < 2 * BLOCK:
        return 1.0
    means = np.array([jumps[offset::BLOCK].mean(dtype=np.float64) for offset in range(BLOCK)])
    others = (means.sum() - means.max()) / (BLOCK - 1)
    return float((means.max() + FLAT) / (others + FLAT))


def luma(picture: Picture) -> Luma:
    """A picture's luma, from 0 to 255."""
    return np.asarray(cv2.cvtColor(picture.astype(np.float32), cv2.COLOR_RGB2GRAY), np.float32)
