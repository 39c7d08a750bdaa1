"""Smoke over real pictures by the image formation that the paper rests on: I = J t + A (1 - t).

>>> rendered = render_smoke(torch.rand(4, 3, 480, 480), make_keys(0, torch.arange(4)))
>>> rendered.picture.shape, rendered.mask.shape
(torch.Size([4, 3, 480, 480]), torch.Size([4, 1, 480, 480]))
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from smokescope.chance import SMOKE, fold_in
from smokescope.physics.camera import gaussian_blur, jpeg, sensor_noise
from smokescope.physics.rendering.backdrop import Backdrop, fade, survey
from smokescope.physics.rendering.noise import Dice, Palette, per_picture, turbulence
from smokescope.physics.rendering.plume import FACE, Plumes, draw_habits, grow
from smokescope.physics.transmission import see_through

# The opacity at which a mask ends. Set by matching the contrast at the edges of real masks, see docs/data.md.
EDGE_OPACITY = 0.24

# Share of the picture that smoke covers: log-normal about the median of real smoke, 0.33 %, with its spread.
MEDIAN_SHARE, SPREAD = 0.0033, 1.5
SMALLEST, LARGEST = 0.0005, 0.9
FILLING = 0.02  # of the pictures have smoke over a tenth of them or more: the log-normal's tail is thin
BEHIND = 0.35  # of the sources stand behind the skyline, where there is one

PALETTE: Palette = (  # reflectance, and how often: fresh smoke of vegetation is mostly white to grey
    ((0.95, 0.95, 0.95), 3.0),
    ((0.80, 0.81, 0.83), 4.0),
    ((0.66, 0.69, 0.73), 3.0),
    ((0.62, 0.54, 0.46), 1.5),
    ((0.42, 0.38, 0.35), 1.0),
    ((0.16, 0.15, 0.15), 0.5),
)


class Rendered(NamedTuple):
    """Pictures with smoke in them, and the truth about it."""

    picture: Tensor
    """[N, 3, H, W] in [0, 1]."""
    mask: Tensor
    """What a person would outline: 0 or 1, [N, 1, H, W]; smoke that the background had included."""
    opacity: Tensor
    """1 - t, [N, 1, H, W]."""
    transmission: Tensor
    """t of the rendered smoke alone, [N, 1, H, W]."""


def render_smoke(backgrounds: Tensor, keys: Tensor, masks: Tensor | None = None) -> Rendered:
    """Put one plume into each picture; what becomes of it does not depend on the others.

    Args:
        backgrounds: pictures [N, 3, H, W] in [0, 1].
        keys: random keys of the pictures, int64 [N], on the backgrounds' device.
        masks: masks of smoke that the backgrounds already show, [N, 1, H, W]; united with the rendered.
    """
    dice = Dice(fold_in(keys, SMOKE))
    backdrop = survey(backgrounds)
    plumes = grow(dice, draw_habits(dice))
    depth, sunlight = _place(dice, plumes, backdrop, backgrounds.shape[-2:])
    t = torch.exp(-depth)
    picture = see_through(backgrounds, t, _airlight(dice, backdrop, sunlight))
    mask = outline(1 - t)
    if masks is not None:
        mask = torch.maximum(mask, (masks > 0.5).to(mask))
    return Rendered(photograph(dice, picture), mask, 1 - t, t)


def outline(opacity: Tensor) -> Tensor:
    """The mask that a person draws around smoke of this opacity, [N, 1, H, W] of 0 and 1.

    People do not follow each eddy: the opacity is blurred first, by 6 % of the smoke's size.
    """
    area = (opacity > EDGE_OPACITY).sum((-3, -2, -1))
    blurred = gaussian_blur(opacity, (0.06 * area.sqrt()).clamp(0.3, 6.0))
    return (blurred > EDGE_OPACITY).to(opacity)


def photograph(dice: Dice, pictures: Tensor) -> Tensor:
    """What the camera adds after the light has arrived: sensor noise and JPEG."""
    noisy = sensor_noise(pictures, dice.uniform(0, 2e-4), dice.uniform(0, 0.008), dice.keys())
    return jpeg(noisy.clamp(0, 1), dice.uniform(60, 95))


def draw_shares(dice: Dice) -> Tensor:
    """Shares of the picture that smoke should cover, [N]; ridges and borders may take some of it."""
    usual = MEDIAN_SHARE * torch.exp(dice.normal(0.0, SPREAD))
    filling = dice.log_uniform(0.1, LARGEST)
    return torch.where(dice.uniform() < FILLING, filling, usual).clamp(SMALLEST, LARGEST)


def _place(
    dice: Dice, plumes: Plumes, backdrop: Backdrop, size: tuple[int, int] | torch.Size
) -> tuple[Tensor, Tensor]:
    """Optical depth and sunlight as the camera sees them, [N, 1, H, W] each."""
    height, width = size
    covered = (plumes.depth > -math.log1p(-EDGE_OPACITY)).float().mean((-3, -2, -1)).clamp(min=0.01)
    side = (draw_shares(dice) * height * width / covered).sqrt()  # of the face, in pixels

    # sources: on the ground, mostly far away and so near the skyline; or behind a ridge, which hides them
    x = dice.uniform(0.05, 0.95)
    column = (x * backdrop.skyline.shape[1]).long()
    ridge = backdrop.skyline.gather(1, column[:, None]).squeeze(1)
    behind = (dice.uniform() < BEHIND) & backdrop.visible
    below = dice.uniform() ** 2.5 * (0.97 - ridge).clamp(min=0)
    y = torch.where(behind, ridge + dice.uniform(0.0, 0.12) * side / height, ridge + below)

    pixel_x = (torch.arange(width, device=dice.device) + 0.5).view(1, 1, -1)
    pixel_y = (torch.arange(height, device=dice.device) + 0.5).view(1, -1, 1)
    scale = side.view(-1, 1, 1)
    u = (pixel_x - (x * width).view(-1, 1, 1)) / scale + plumes.source[:, 0].view(-1, 1, 1)
    v = (pixel_y - (y * height).view(-1, 1, 1)) / scale + plumes.source[:, 1].view(-1, 1, 1)
    grid = torch.stack((u.expand(-1, height, -1), v.expand(-1, -1, width)), -1) * 2 - 1
    # a face seen smaller than it is has finer detail than pixels can hold; light is averaged where smoke is
    maps = torch.cat((plumes.depth, plumes.depth * plumes.sunlight), 1)
    seen = functional.grid_sample(
        gaussian_blur(maps, (0.4 * FACE / side).clamp(0.3, 8)), grid, align_corners=False
    )
    sunlight = seen[:, 1:] / seen[:, :1].clamp(min=1e-6)
    depth = seen[:, :1] * _detail(dice, side, size)

    rows = functional.interpolate(backdrop.skyline[:, None], width, mode="linear").unsqueeze(2) * height
    hidden = (pixel_y.unsqueeze(1) - rows + 0.5).clamp(0, 1) * per_picture(behind)
    return depth * (1 - hidden), sunlight


def _detail(dice: Dice, side: Tensor, size: tuple[int, int] | torch.Size) -> Tensor:
    """Factor of the optical depth for eddies finer than the volume's cells, where it is seen large."""
    fine = turbulence(dice, size, (size[0] / 16, size[1] / 16), octaves=3, decay=0.7)
    strength = per_picture(((side / FACE).log2() / 2).clamp(0, 1))
    return (1 + 1.2 * strength * fine).clamp(min=0)


def _airlight(dice: Dice, backdrop: Backdrop, sunlight: Tensor) -> Tensor:
    """A: the smoke's own colour in the light there is, tinted by the air between it and the camera."""
    first, second = dice.colour(PALETTE), dice.colour(PALETTE)
    mix = per_picture(dice.uniform())
    own = fade(first * mix + second * (1 - mix), backdrop.colourful)
    ambient = per_picture(dice.uniform(0.35, 0.75))
    exposure = backdrop.light * per_picture(dice.uniform(0.8, 1.15))
    lit = own * (ambient + (1 - ambient) * sunlight) * exposure
    haze = per_picture(dice.uniform() ** 1.5 * 0.6)
    return (lit * (1 - haze) + backdrop.horizon * haze).clamp(0, 1)
