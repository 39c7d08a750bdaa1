"""Other light, other air, another camera: what changes a picture's colours and leaves its smoke where it is.

In the order of nature: haze on the way, the lens, the sensor, the camera's processing, compression.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from smokescope.chance import COLOURS, fold_in, uniform
from smokescope.physics.camera import gaussian_blur, jpeg, sensor_noise
from smokescope.physics.rendering.noise import Dice
from smokescope.settings.ranges import refuse_outside, refuse_unordered, refuse_up_to_zero

Range = tuple[float, float]


@dataclass(frozen=True)
class ColourSettings:
    """How strongly pictures change, and what share of them; colours vary in all pictures."""

    brightness: float = 1.15
    """Largest factor by which light is multiplied or divided."""
    contrast: float = 1.2
    """Largest factor for the distance from the mean grey, or its inverse."""
    saturation: float = 1.4
    """Largest factor for the distance from grey, or its inverse."""
    white_balance: float = 1.05
    """Largest factor for each channel by itself, or its inverse."""
    hue: float = 5.0
    """Largest rotation about grey in degrees, either way."""
    gamma: float = 1.25
    """Largest power to which values are raised, or its inverse."""
    grey: float = 0.05
    """Share of pictures turned grey, as from a camera at night."""
    haze: float = 0.25
    """Share of pictures with haze added. Haze is not smoke: masks do not change."""
    haze_strength: Range = (0.05, 0.35)
    """Share of the light that haze replaces at the horizon. Much more would hide the smoke itself."""
    blur: float = 0.2
    """Share of pictures that are blurred."""
    blur_sigma: Range = (0.3, 1.5)
    """Range of the standard deviation of the blur, in pixels."""
    noise: float = 0.3
    """Share of pictures with sensor noise added."""
    noise_gain: Range = (1e-4, 2e-3)
    """Range of the variance at full light; see `sensor_noise`."""
    noise_read: Range = (1e-3, 2e-2)
    jpeg: float = 0.5
    """Share of pictures that are compressed again."""
    jpeg_quality: Range = (30.0, 95.0)

    def __post_init__(self) -> None:
        refuse_outside(self, 0, 1, "grey", "haze", "haze_strength", "blur", "noise", "jpeg")
        refuse_outside(self, 0, math.inf, "hue", "blur_sigma", "noise_gain", "noise_read")
        refuse_outside(self, 1, 100, "jpeg_quality")
        refuse_up_to_zero(self, "brightness", "contrast", "saturation", "white_balance", "gamma")
        refuse_unordered(self, "haze_strength", "blur_sigma", "noise_gain", "noise_read", "jpeg_quality")


def recolour(pictures: Tensor, settings: ColourSettings, keys: Tensor) -> Tensor:
    """Change the light, the air and the camera of each picture. No gradient flows.

    Args:
        pictures: RGB in [0, 1], [N, 3, H, W]; not changed.
        settings: what may change.
        keys: random keys of the pictures, int64 [N], on the CPU: what is to be done is decided there without
            waiting for a GPU; the noise of the sensor is drawn where the pictures are.

    Returns:
        Pictures in [0, 1], [N, 3, H, W].
    """
    # mixed precision is for networks: with 8 bits of a half, JPEG would go wrong
    with torch.no_grad(), torch.autocast(pictures.device.type, enabled=False):
        return _recolour(pictures.clone(), settings, Dice(fold_in(keys, COLOURS)))


def _recolour(x: Tensor, settings: ColourSettings, dice: Dice) -> Tensor:
    def some(share: float, *ranges: Range) -> tuple[Tensor, list[Tensor]]:
        """Choose pictures, and for each a strength from each range."""
        chosen = (dice.uniform() < share).nonzero()[:, 0]
        return chosen, [dice.uniform(*each)[chosen] for each in ranges]

    def apply(chosen: Tensor, change: Callable[[Tensor], Tensor]) -> None:
        if len(chosen):
            where = chosen.to(x.device, non_blocking=True)
            x[where] = change(x[where])

    chosen, (strength, horizon, glow, warmth) = some(
        settings.haze, settings.haze_strength, (0.1, 0.6), (0.65, 0.95), (-0.06, 0.06)
    )
    apply(chosen, lambda y: add_haze(y, strength, horizon, _airlight(glow, warmth)))
    chosen, (sigma,) = some(settings.blur, settings.blur_sigma)
    apply(chosen, lambda y: gaussian_blur(y, sigma))
    chosen, (gain, read) = some(settings.noise, settings.noise_gain, settings.noise_read)
    keys = dice.keys()[chosen]
    apply(chosen, lambda y: sensor_noise(y, gain, read, keys))
    x = _process(x, settings, uniform(dice.keys(), 9))
    chosen, (quality,) = some(settings.jpeg, settings.jpeg_quality)
    apply(chosen, lambda y: jpeg(y, quality))
    return x


def add_haze(pictures: Tensor, strength: Tensor, horizon: Tensor, airlight: Tensor) -> Tensor:
    """Put air between camera and scene: I = J t + A (1 - t), where t falls with the distance d(height).

    Scenery grows more distant from the lower border, d = 0, up to the horizon; from there on d = 1.

    Args:
        pictures: RGB [N, 3, H, W].
        strength: 1 - t at the horizon, [N].
        horizon: height of the horizon from the top, as a share of the picture's, [N].
        airlight: colour A of the haze, [N, 3].
    """
    rows = (torch.arange(pictures.shape[2]) + 0.5) / pictures.shape[2]
    near = ((rows - horizon[:, None]) / (1 - horizon[:, None])).clamp(0, 1)
    distance = 1 - near * near * (3 - 2 * near)  # smooth at both ends: no line across the picture
    through = ((1 - strength[:, None]) ** distance)[:, None, :, None].to(pictures, non_blocking=True)
    airlight = airlight[:, :, None, None].to(pictures, non_blocking=True)
    return torch.lerp(airlight, pictures, through)


def _airlight(glow: Tensor, warmth: Tensor) -> Tensor:
    """The colour of haze [N, 3]: near grey, from bluish to brownish."""
    return (glow[:, None] * (1 + warmth[:, None] * torch.tensor([1.0, 0.0, -1.0]))).clamp(max=1)


def _process(x: Tensor, settings: ColourSettings, chance: Tensor) -> Tensor:
    """Light, white balance, hue, saturation and contrast as one linear map of the colours, then gamma.

    Args:
        x: pictures [N, 3, H, W].
        settings: how much of each.
        chance: where within that, in [0, 1), [N, 9].
    """

    def factor(most: float, column: int) -> Tensor:
        return most ** (2 * chance[:, column, None, None] - 1)

    identity = torch.eye(3)
    balance = torch.diag_embed(settings.white_balance ** (2 * chance[:, 0:3] - 1))
    light = factor(settings.brightness, 3)
    hue = _rotation(math.radians(settings.hue) * (2 * chance[:, 4] - 1))
    luma = torch.tensor([0.299, 0.587, 0.114]).expand(3, 3)
    vivid = torch.where(chance[:, 5, None, None] < settings.grey, 0, factor(settings.saturation, 6))
    saturation = vivid * identity + (1 - vivid) * luma
    contrast = factor(settings.contrast, 7)
    colours = contrast * light * saturation @ hue @ balance
    # contrast stretches about the mean grey, which the other steps have moved: that of the result counts
    about = (1 / contrast - 1) * luma[:1] @ colours
    colours, about, gamma = (t.to(x, non_blocking=True) for t in (colours, about, factor(settings.gamma, 8)))
    y = torch.baddbmm(about @ x.mean((2, 3))[:, :, None], colours, x.flatten(2)).clamp_(0, 1)
    return y.pow_(gamma).view(x.shape)


def _rotation(angle: Tensor) -> Tensor:
    """Rotations of colours about the grey axis, [N] -> [N, 3, 3], by Rodrigues' formula."""
    sine, cosine = angle.sin()[:, None, None], angle.cos()[:, None, None]
    cross = torch.tensor([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]]) / math.sqrt(3)
    return cosine * torch.eye(3) + sine * cross + (1 - cosine) / 3
