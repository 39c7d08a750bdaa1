"""Real smoke over other pictures: lifted off the one that it was seen in, by the same image formation.

I = J t + A (1 - t): J, what lies behind the smoke, is guessed from beside it, and A is the colour of its
densest part. Then t is known, and the smoke can be put over another J.

>>> moved = transplant(pictures, masks, backgrounds, make_keys(0, torch.arange(4)))
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from smokescope.chance import TRANSPLANT, fold_in
from smokescope.physics.camera import gaussian_blur
from smokescope.physics.rendering.backdrop import fade, survey
from smokescope.physics.rendering.noise import Dice, per_picture
from smokescope.physics.transmission import grey

SEEN = 0.02  # smoke that changes what lies behind it by less than this, on average, is drawn by nobody
MARGIN = 2  # pixels beside a mask where smoke may still be


class Transplanted(NamedTuple):
    """Pictures with the smoke of others."""

    picture: Tensor
    """[N, 3, H, W] in [0, 1]."""
    mask: Tensor
    """Masks of the smoke that was put there, [N, 1, H, W] in [0, 1]; empty where it cannot be seen."""


def transplant(pictures: Tensor, masks: Tensor, backgrounds: Tensor, keys: Tensor) -> Transplanted:
    """Put the smoke of each picture over its background, at the same height above the skyline.

    Args:
        pictures: Pictures with smoke, [N, 3, H, W] in [0, 1].
        masks: Masks of the smoke, [N, 1, H, W] in [0, 1].
        backgrounds: Pictures to put it over, [N, 3, H, W] in [0, 1].
        keys: Random keys of the pictures, int64 [N], on the pictures' device.
    """
    dice = Dice(fold_in(keys, TRANSPLANT))
    theirs, ours = survey(pictures), survey(backgrounds)
    behind = fill(pictures, masks)
    # how opaque the densest smoke is nobody knows
    airlight = _airlight(pictures, behind, masks, per_picture(dice.uniform(0.6, 1.0)))
    opacity = _opacity(pictures, behind, airlight) * gaussian_blur(
        masks, torch.ones(len(keys), device=keys.device)
    )

    lower = (ours.skyline - theirs.skyline).mean(1) * (theirs.visible & ours.visible)
    opacity, mask = _move(torch.cat((opacity, masks), 1), lower).chunk(2, 1)
    light = (ours.light / theirs.light.clamp(min=0.1)).clamp(0.6, 1.6)
    airlight = fade(fade(airlight, 0.5) * light, ours.colourful)  # extrapolated colours are too strong
    picture = backgrounds * (1 - opacity) + airlight.clamp(0, 1) * opacity
    change = (picture - backgrounds).abs().mean(1, keepdim=True) * mask
    seen = change.sum((-3, -2, -1), keepdim=True) > SEEN * mask.sum((-3, -2, -1), keepdim=True)
    return Transplanted(torch.where(seen, picture, backgrounds), mask * seen)


def fill(pictures: Tensor, masks: Tensor) -> Tensor:
    """Pictures with what masks cover filled from beside it: along rows, since landscapes lie in layers.

    What is known is averaged over ever longer pieces of rows, and a pixel takes it from the shortest piece
    that knows anything; whole rows that are covered take it from those above and below.

    Args:
        pictures: [N, 3, H, W].
        masks: [N, 1, H, W] in [0, 1].
    """
    window = 2 * MARGIN + 1
    known = (functional.max_pool2d(masks, window, stride=1, padding=MARGIN) < 0.1).to(pictures)
    levels = [torch.cat((pictures * known, known), 1)]
    while (size := levels[-1].shape[-2:]) != (1, 1):
        pair = (1, 2) if size[1] > 1 else (2, 1)
        levels.append(functional.avg_pool2d(levels[-1], pair, ceil_mode=True))
    filled = levels[-1][:, :3] / levels[-1][:, 3:].clamp(min=1e-6)
    for level in reversed(levels[:-1]):
        longer = functional.interpolate(filled, level.shape[-2:], mode="bilinear", align_corners=False)
        filled = level[:, :3] + longer * (1 - level[:, 3:])
    return filled


def _airlight(pictures: Tensor, behind: Tensor, masks: Tensor, opacity: Tensor) -> Tensor:
    """A [N, 3, 1, 1], if the smoke that differs most from what is behind it has this opacity [N, 1, 1, 1]."""
    difference = pictures - behind
    weight = masks * grey(difference.abs()) ** 4 + 1e-12
    weight = weight / weight.sum((-2, -1), keepdim=True)
    colour, change = (behind * weight).sum((-2, -1), True), (difference * weight).sum((-2, -1), True)
    return (colour + change / opacity).clamp(0, 1)


def _opacity(pictures: Tensor, behind: Tensor, airlight: Tensor) -> Tensor:
    """1 - t [N, 1, H, W]: how far a pixel is on the way from what is behind it to A."""
    way = airlight - behind
    gone = ((pictures - behind) * way).sum(1, keepdim=True)
    return (gone / way.square().sum(1, keepdim=True).clamp(min=1e-3)).clamp(0, 1)


def _move(maps: Tensor, lower: Tensor) -> Tensor:
    """Shift maps [N, C, H, W] down by shares of their height [N]; what comes in is 0."""
    theta = maps.new_zeros(len(maps), 2, 3)
    theta[:, 0, 0] = theta[:, 1, 1] = 1
    theta[:, 1, 2] = -2 * lower
    grid = functional.affine_grid(theta, list(maps.shape), align_corners=False)
    return functional.grid_sample(maps, grid, align_corners=False)
