"""Flips, crops and scales a batch, each picture in its own way, and never loses its smoke.

Without rotations an affine map works on rows and columns apart, so a picture is resampled by two matrices:
out = R picture C. Their weights are those of antialiased bilinear resizing; pictures of different sizes
share a batch, and smoke that a crop must keep is found, all without a word to the CPU.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from smokescope.chance import GEOMETRY, fold_in, uniform
from smokescope.settings.ranges import refuse_outside, refuse_unordered, refuse_up_to_zero


@dataclass(frozen=True)
class GeometrySettings:
    """How pictures are flipped, scaled and cropped."""

    flip: float = 0.5
    """Share of pictures that are mirrored left to right."""
    scale: tuple[float, float] = (0.8, 2.0)
    """Range of magnification; at 1 the picture just fills the output, below it is mirrored at its borders."""
    close: float = 0.0
    """Share of pictures that are magnified beyond `scale` instead, from its end to `closest`."""
    closest: float = 4.0
    """Largest magnification of those pictures."""
    untouched: float = 0.0
    """Share of pictures shown pixel by pixel, as sharp as in use, where `scale` allows that magnification."""
    aspect: float = 1.15
    """Largest factor by which pictures are stretched or squeezed."""
    squash: bool = False
    """At scale 1 show the whole picture, in the output's aspect, instead of cutting off what is too long."""
    keep_smoke: float = 1.0
    """Share of the smoke pictures whose crop is certain to hold smoke; the others' fall anywhere."""
    keep_area: float = 12.0
    """Least pixels of smoke that scaling leaves, or all that there were if fewer."""

    def __post_init__(self) -> None:
        refuse_outside(self, 0, 1, "flip", "close", "untouched", "keep_smoke")
        refuse_outside(self, 0, math.inf, "keep_area")
        refuse_outside(self, 0.01, 100, "scale", "closest")
        refuse_unordered(self, "scale")
        refuse_up_to_zero(self, "aspect")


class Draws(NamedTuple):
    """What chance decides for each picture."""

    flip: Tensor
    """Booleans [N]."""
    scale: Tensor
    """[N]."""
    aspect: Tensor
    """[N]."""
    keep: Tensor
    """Whether the crop must hold smoke, booleans [N]."""
    smoke: Tensor
    """Which smoke, in [0, 1), [N, 2]."""
    start: Tensor
    """Where the crop begins within what is allowed, in [0, 1), [N, 2]."""
    untouched: Tensor
    """Whether it is to be shown pixel by pixel, booleans [N]."""


def draw(keys: Tensor, settings: GeometrySettings) -> Draws:
    """Throw the dice for the pictures of these keys, int64 [N]."""
    chance = uniform(fold_in(keys, GEOMETRY), 10)
    close = chance[:, 8] < settings.close
    low = torch.where(close, settings.scale[1], settings.scale[0])
    high = torch.where(close, max(settings.closest, settings.scale[1]), settings.scale[1])
    return Draws(
        flip=chance[:, 0] < settings.flip,
        scale=low * (high / low) ** chance[:, 1],
        aspect=settings.aspect ** (2 * chance[:, 2] - 1),
        keep=chance[:, 3] < settings.keep_smoke,
        smoke=chance[:, 4:6],
        start=chance[:, 6:8],
        untouched=chance[:, 9] < settings.untouched,
    )


def crop(
    pictures: Tensor,
    masks: Tensor,
    sizes: Tensor,
    size: tuple[int, int],
    draws: Draws,
    settings: GeometrySettings,
) -> tuple[Tensor, Tensor]:
    """Cut the same window out of picture and mask, and bring it to the output's size.

    Args:
        pictures: RGB [N, 3, H, W].
        masks: masks in [0, 1], [N, C, H, W], the first channel smoke.
        sizes: height and width of the part of each that is picture, from the top left corner, [N, 2].
        size: height and width of the output.
        draws: what chance decided, on the pictures' device.
        settings: settings of the geometry, of which only `scale`, `squash` and `keep_area` matter here.

    Returns:
        Pictures [N, 3, h, w] and masks [N, C, h, w].
    """
    rows, columns = masks.shape[-2:]
    inside = _inside(rows, sizes[:, 0])[:, :, None] & _inside(columns, sizes[:, 1])[:, None, :]
    smoke = masks[:, 0] * inside
    output = torch.tensor(size).to(pictures, non_blocking=True)
    sizes = sizes.to(pictures.dtype)

    fill = output / sizes  # output pixels a pixel, where height or width just fits
    if not settings.squash:
        fill = fill.amax(1, keepdim=True).expand(-1, 2)
    area = smoke.sum((1, 2))
    least = (area.clamp(max=settings.keep_area) / area.clamp(min=1e-6) / fill.prod(1)).sqrt()
    stretch = torch.stack((draws.aspect.rsqrt(), draws.aspect.sqrt()), 1)
    zoom = fill * torch.maximum(draws.scale, least)[:, None] * stretch
    allowed = (settings.scale[0] * fill <= 1) & (settings.scale[1] * fill >= 1)
    untouched = draws.untouched[:, None] & allowed.all(1, keepdim=True)
    zoom = torch.where(untouched, 1, zoom)
    window = output / zoom

    # What chance may choose from: windows inside the picture, or around it where they are larger ...
    low, high = (sizes - window).clamp(max=0), (sizes - window).clamp(min=0)
    # ... and among them those with the chosen smoke well inside, as far as the picture's borders allow.
    anchor, margin = _pick_smoke(smoke, draws.smoke), window / 8
    keep = (draws.keep & (area > 0))[:, None]
    low, high = (
        torch.where(keep, (anchor - window + margin).clamp(low, high), low),
        torch.where(keep, (anchor - margin).clamp(low, high), high),
    )
    start = low + (high - low) * draws.start
    start = torch.where(untouched, start.round(), start)

    vertical = _weights(start[:, 0], zoom[:, 0], sizes[:, 0], rows, size[0])
    horizontal = _weights(start[:, 1], zoom[:, 1], sizes[:, 1], columns, size[1])
    horizontal = torch.where(draws.flip[:, None, None], horizontal.flip(1), horizontal)
    both = torch.cat((pictures, masks), 1)
    # the first product gathers all channels' rows; the second does with what lies side by side then
    channels = both.shape[1]
    narrow = torch.bmm(both.flatten(1, 2), horizontal.mT).view(-1, channels, rows, size[1])
    result = torch.bmm(vertical, narrow.transpose(1, 2).flatten(2)).view(-1, size[0], channels, size[1])
    result = result.transpose(1, 2).clamp(0, 1)  # rows of weights add up to 1 but for rounding
    return result[:, :3].contiguous(), result[:, 3:].contiguous()


def _inside(length: int, count: Tensor) -> Tensor:
    """Which of `length` pixels are among the first `count` [N]: booleans [N, length]."""
    return torch.arange(length, device=count.device) < count[:, None]


def _pick_smoke(smoke: Tensor, chance: Tensor) -> Tensor:
    """The centre (y, x) [N, 2] of a pixel of smoke [N, H, W], dense smoke more likely."""
    levels = (255 * smoke).ceil().int()  # integers, as a sum of floats could end on a pixel without smoke

    def pick(weights: Tensor, chance: Tensor) -> Tensor:
        heap = weights.cumsum(1)
        total = heap[:, -1]  # the product may be rounded up to it
        target = torch.minimum((chance * total).long(), total - 1)[:, None]
        return torch.searchsorted(heap, target, right=True)[:, 0].clamp(max=weights.shape[1] - 1)

    row = pick(levels.sum(2), chance[:, 0])
    column = pick(levels[torch.arange(len(levels), device=levels.device), row], chance[:, 1])
    return torch.stack((row, column), 1) + 0.5


def _weights(start: Tensor, zoom: Tensor, length: Tensor, pixels: int, size: int) -> Tensor:
    """Resampling weights along an axis [N, size, pixels], rows of sum 1.

    Args:
        start: where the window begins, in pixels, [N].
        zoom: output pixels a pixel, [N].
        length: how many of the `pixels` belong to the picture, [N].
        pixels: length of the axis.
        size: length of the output.
    """
    centres = start[:, None] + (torch.arange(size, device=start.device) + 0.5) / zoom[:, None]
    # what lies beyond the picture is its mirror image, and that of its mirror image
    length = length[:, None]
    centres = length - (length - centres.remainder(2 * length)).abs() - 0.5
    place = torch.arange(pixels, device=start.device)
    reach = zoom.clamp(max=1)[:, None, None]  # shrinking, the triangle covers as many more pixels
    weights = (1 - (place - centres[..., None]).abs_().mul_(reach)).clamp_(min=0)
    weights *= place < length[..., None]
    return weights.div_(weights.sum(2, keepdim=True))
