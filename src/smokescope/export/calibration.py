"""Pictures by which the range of every layer is learned before it is rounded to 8 bits.

What a layer sees decides how finely its values are kept, so all of it must be there: land and sky, smoke of
every kind and colour, and what only looks like it. Real pictures are the better backgrounds; smoke is
rendered over them in any case, since most of what cameras show is none.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from smokescope.chance import make_keys
from smokescope.data.layouts import Pair, list_pictures
from smokescope.data.pictures import read_picture, shrink
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.maps import Pixels
from smokescope.physics.rendering.landscape import draw_landscapes
from smokescope.physics.rendering.lookalikes import render_lookalikes
from smokescope.physics.rendering.smoke import render_smoke

COUNT = 96
SIZE = (480, 640)
LONG_SIDE = 1280  # of real pictures: larger ones are looked at in tiles, which are about that large


def calibration_pictures(folders: Sequence[Path], count: int = COUNT, seed: int = 0) -> list[Pixels]:
    """Pictures, in turns as they are, with rendered smoke, and with what looks like smoke.

    Args:
        folders: Folders of real pictures; without any, landscapes are made up.
        count: How many.
        seed: The same seed gives the same pictures.

    Raises:
        SmokescopeError: A folder or a picture cannot be read.
    """
    backgrounds = _photographs(folders, count, seed) if folders else _landscapes(count, seed)
    return [_finish(each, number, seed) for number, each in enumerate(backgrounds)]


def _photographs(folders: Sequence[Path], count: int, seed: int) -> Iterator[torch.Tensor]:
    """Pictures of all folders, shuffled together; where they are few, each comes more than once."""
    pairs = list[Pair]()
    for folder in folders:
        listing = list_pictures(folder)
        if listing.problems:
            raise SmokescopeError(f"{folder} cannot be used:", listing.problems)
        pairs += listing.pairs
    order = np.random.default_rng(seed).permutation(len(pairs))
    for number in range(count):
        pixels = shrink(read_picture(pairs[order[number % len(pairs)]].picture), LONG_SIDE)
        yield torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255


def _landscapes(count: int, seed: int) -> Iterator[torch.Tensor]:
    for number in range(count):
        yield draw_landscapes(make_keys(seed, torch.tensor([number])), SIZE)


def _finish(background: torch.Tensor, number: int, seed: int) -> Pixels:
    keys = make_keys(seed, torch.tensor([number]))
    if number % 3 == 1:
        background = render_smoke(background, keys).picture
    elif number % 3 == 2:
        background = render_lookalikes(background, keys)
    return np.asarray((background[0].permute(1, 2, 0) * 255).round().numpy(), np.uint8)
