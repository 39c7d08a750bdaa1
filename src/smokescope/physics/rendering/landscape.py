"""Hills under a sky, made up: backgrounds for smoke where no photograph is at hand.

>>> draw_landscapes(make_keys(0, torch.arange(4)), (480, 640)).shape
torch.Size([4, 3, 480, 640])
"""

import torch
from torch import Tensor

from smokescope.chance import LANDSCAPE, fold_in
from smokescope.physics.rendering.noise import Dice, Palette, per_picture, turbulence

RIDGES = 3  # one behind the other, the farther the hazier
SKIES: Palette = (((0.45, 0.62, 0.88), 3.0), ((0.72, 0.75, 0.78), 2.0), ((0.85, 0.72, 0.6), 1.0))
GROUNDS: Palette = (((0.24, 0.32, 0.16), 3.0), ((0.45, 0.4, 0.28), 2.0), ((0.3, 0.28, 0.26), 1.0))


def draw_landscapes(keys: Tensor, size: tuple[int, int]) -> Tensor:
    """Draw a landscape for each key: a sky with clouds and ridges with texture, in air that whitens.

    Args:
        keys: Random keys of the landscapes, int64 [N].
        size: Height and width.

    Returns:
        [N, 3, *size] in [0, 1].
    """
    dice = Dice(fold_in(keys, LANDSCAPE))
    down = torch.linspace(0, 1, size[0], device=dice.device).view(1, 1, -1, 1)
    air = dice.colour(SKIES)
    clouds = turbulence(dice, size, (2, 4), octaves=5, decay=0.6)
    picture = air * (0.75 + 0.35 * down) + per_picture(dice.uniform(0, 0.6)) * clouds.clamp(min=0)
    top = dice.uniform(0.2, 0.5)
    for number in range(RIDGES):
        swell = turbulence(dice, (1, size[1]), (1, 3), octaves=6, decay=0.5)
        land = (down > per_picture(top + 0.15 * number) + 0.25 * swell).float()
        haze = per_picture(dice.uniform(0.5, 0.9)) * (1 - (number + 1) / RIDGES)
        picture = picture + land * (_ground(dice, size) * (1 - haze) + air * haze - picture)
    return (picture * per_picture(dice.uniform(0.5, 1.2))).clamp(0, 1)


def _ground(dice: Dice, size: tuple[int, int]) -> Tensor:
    """Fields and woods: light and dark in patches and grains."""
    patches = turbulence(dice, size, (6, 8), octaves=3, decay=0.6)
    grains = turbulence(dice, size, (size[0] / 8, size[1] / 8), octaves=3, decay=0.8)
    colour = dice.colour(GROUNDS)
    return colour * (1 + patches + per_picture(dice.uniform(0.3, 1.5)) * grains).clamp(min=0.05)
