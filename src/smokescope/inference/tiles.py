"""Where a large picture is cut, and how much each tile's word counts; `tiling` says what for."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smokescope.settings.choices import Tiles
from smokescope.settings.input import InputSettings, network_size

SHRINK = 2.0  # of a tile's side for the network, or up to 1.19 times that by SPARED; "auto" begins with it
OVERLAP = 0.25  # of a tile's side
SPARED = 0.25  # of a tile, which is no reason for one more: 1920 x 1080 is two tiles and not four
WHOLE = 0.5  # weight of the whole pass: what tiles alone see is at most even odds, and for a person to judge
BATCH = 4  # tiles at once


class Places(NamedTuple):
    """Tiles along one side of a picture."""

    starts: Sequence[int]
    length: int
    """Length of each tile."""
    weights: NDArray[np.float32]
    """[tiles, length]; at each pixel the tiles' weights sum to 1."""


def wants_tiles(tiles: Tiles, height: int, width: int, settings: InputSettings) -> bool:
    """Whether a picture is to be cut: by its size, or as asked for."""
    if tiles != "auto":
        return tiles == "always"
    seen_height, seen_width = network_size(height, width, settings)
    return math.sqrt(height * width / (seen_height * seen_width)) > SHRINK


def tile_size(settings: InputSettings) -> tuple[int, int]:
    """Height and width that tiles should have."""
    return round(SHRINK * settings.height), round(SHRINK * settings.width)


def place(side: int, tile: int) -> Places:
    """Place tiles evenly along a side, from border to border.

    Args:
        side: Length of the side, in pixels.
        tile: Desired length of a tile. There are as many as that takes, give or take a quarter of one, and
            all have the length with which they just cover the side.
    """
    overlap = OVERLAP * tile
    count = max(1, math.ceil((side - overlap) / (tile - overlap) - SPARED))
    length = math.ceil(side / (count - (count - 1) * OVERLAP))
    starts = [round(i * (side - length) / max(1, count - 1)) for i in range(count)]
    hill = np.square(np.sin(math.pi * (np.arange(length) + 0.5) / length))
    total = np.zeros(side)
    for start in starts:
        total[start : start + length] += hill
    weights = [hill / total[start : start + length] for start in starts]  # 1 where there is no other tile
    return Places(starts, length, np.stack(weights).astype(np.float32))
