"""What a background says about where smoke may stand and in what light: its skyline and its colours."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from smokescope.physics.rendering.noise import per_picture
from smokescope.physics.transmission import grey

ROWS, COLUMNS = 96, 128  # the skyline is looked for at this size
BAND = 9  # rows above and below that are compared
NO_SKYLINE = 0.08  # less difference in grey between them: there is no skyline to be seen


class Backdrop(NamedTuple):
    """What a picture offers to smoke."""

    skyline: Tensor
    """Height at which the sky ends in each column, as a share of the picture from its top, [N, COLUMNS]."""
    visible: Tensor
    """Whether that skyline is really seen; where not it is a guess, bool [N]."""
    horizon: Tensor
    """Colour of the air just above the skyline [N, 3, 1, 1]."""
    brightness: Tensor
    """Brightness of the brightest tenth of the picture [N, 1, 1, 1]."""
    light: Tensor
    """Its mean colour: white by day, orange at sunset [N, 3, 1, 1]."""
    colourful: Tensor
    """0 for a black-and-white picture, 1 for one in colour [N, 1, 1, 1]."""


def survey(pictures: Tensor) -> Backdrop:
    """Look at pictures [N, 3, H, W] in [0, 1].

    The skyline is where, in each column, a band is most above the band below it in grey: land is darker than
    sky in nearly every daylight picture. Medians along the row remove masts and trees.
    """
    small = functional.interpolate(pictures, (ROWS, COLUMNS), mode="bilinear", antialias=True)
    light = grey(small)
    means = functional.avg_pool2d(light, (BAND, 3), stride=1, padding=(0, 1))  # of rows i .. i + BAND
    drop = (means[..., :-BAND, :] - means[..., BAND:, :]).squeeze(1)
    strength, row = drop.max(1)
    row = row + BAND
    row = _running_median(row.float(), 15)
    visible = strength.median(1).values > NO_SKYLINE
    # where none is seen (fog, close-ups): somewhere in the middle
    skyline = torch.where(visible[:, None], row / ROWS, torch.full_like(row, 0.5))

    above = (row.unsqueeze(1) - torch.arange(ROWS, device=row.device).view(1, -1, 1)) / ROWS
    air = ((above > 0.01) & (above < 0.1)).unsqueeze(1).float()
    horizon = (small * air).sum((-2, -1), keepdim=True) / air.sum((-2, -1), keepdim=True).clamp(min=1)
    horizon = torch.where(per_picture(visible), horizon, small.mean((-2, -1), keepdim=True))
    tenth = light.flatten(2).topk(ROWS * COLUMNS // 10, 2)
    brightest = small.flatten(2).gather(2, tenth.indices.expand(-1, 3, -1)).mean(2)
    colour = (small - light).abs().mean((-3, -2, -1), keepdim=True)
    return Backdrop(
        skyline,
        visible,
        horizon,
        tenth.values.mean(2)[..., None, None],
        brightest[..., None, None],
        (colour / 0.01).clamp(max=1),
    )


def fade(colours: Tensor, kept: float | Tensor) -> Tensor:
    """Colours [N, 3, ...] with a share of what tells them from grey: none for a black-and-white camera."""
    return grey(colours) + (colours - grey(colours)) * kept


def _running_median(x: Tensor, size: int) -> Tensor:
    """Median of `size` neighbours along the last axis of [N, L]."""
    padded = functional.pad(x.unsqueeze(1), (size // 2, size // 2), mode="replicate").squeeze(1)
    return padded.unfold(1, size, 1).median(-1).values
