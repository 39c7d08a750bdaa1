"""What is mistaken for smoke and is none: fog, low cloud, dust, haze, sun glare, drops on the lens.

>>> render_lookalikes(torch.rand(4, 3, 480, 480), make_keys(0, torch.arange(4))).shape
torch.Size([4, 3, 480, 480])
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from smokescope.chance import LOOKALIKES, fold_in
from smokescope.physics.camera import gaussian_blur
from smokescope.physics.rendering.backdrop import Backdrop, fade, survey
from smokescope.physics.rendering.noise import Dice, per_picture, turbulence
from smokescope.physics.rendering.smoke import photograph
from smokescope.physics.transmission import see_through

Kind = Callable[[Dice, Tensor, Backdrop], Tensor]


def render_lookalikes(backgrounds: Tensor, keys: Tensor) -> Tensor:
    """Put one thing that is not smoke into each picture; a mask would be empty.

    Args:
        backgrounds: pictures [N, 3, H, W] in [0, 1].
        keys: random keys of the pictures, int64 [N], on the backgrounds' device.

    Returns:
        [N, 3, H, W] in [0, 1].
    """
    dice = Dice(fold_in(keys, LOOKALIKES))
    kind = dice.choose([weight for _, weight in KINDS]).tolist()
    own = dice.keys()
    pictures = backgrounds.clone()
    for number, (add, _) in enumerate(KINDS):
        places = [place for place, its in enumerate(kind) if its == number]
        if places:
            chosen = torch.tensor(places).to(backgrounds.device, non_blocking=True)
            some = backgrounds[chosen]
            pictures[chosen] = add(Dice(own[chosen]), some, survey(some)).clamp(0, 1)
    return photograph(dice, pictures)


def fog_bank(dice: Dice, pictures: Tensor, backdrop: Backdrop) -> Tensor:
    """A layer of fog in the valleys: wide, flat, soft above, of the sky's colour."""
    base = backdrop.skyline.median(1).values + dice.uniform(-0.03, 0.25)
    layer = _layer(dice, pictures, base, dice.uniform(0.03, 0.14), ragged=0.5)
    cover = turbulence(dice, pictures.shape[-2:], (3, 1.5), octaves=4, decay=0.55)
    depth = per_picture(dice.log_uniform(0.5, 4.0)) * layer * (0.7 + 1.6 * cover).clamp(0, 1.5)
    return _veil(pictures, depth, _pale(dice, backdrop, 0.85, 1.05))


def low_cloud(dice: Dice, pictures: Tensor, backdrop: Backdrop) -> Tensor:
    """Broken cloud that touches the skyline or hangs just above it, bright on top."""
    base = backdrop.skyline.median(1).values - dice.uniform(0.0, 0.2)
    layer = _layer(dice, pictures, base, dice.uniform(0.04, 0.12), ragged=1.0)
    puffs = turbulence(dice, pictures.shape[-2:], (8, 5), octaves=5, decay=0.62)
    depth = per_picture(dice.log_uniform(1.0, 6.0)) * layer * (2 * (1.5 * puffs + layer - 0.5)).clamp(0, 1)
    above = functional.avg_pool2d(functional.pad(depth, (0, 0, 15, 0)), (16, 1), stride=1)
    shading = 1 - 0.15 * above.clamp(max=1)  # what lies under cloud is darker than its top
    return _veil(pictures, depth, _pale(dice, backdrop, 0.95, 1.15) * shading)


def dust(dice: Dice, pictures: Tensor, backdrop: Backdrop) -> Tensor:
    """Dust behind a vehicle or a gust: low, long, brown, without a rising column."""
    height, width = pictures.shape[-2:]
    y = backdrop.skyline.median(1).values + dice.uniform(0.05, 0.35)
    start, length = dice.uniform(0.0, 0.8), dice.log_uniform(0.04, 0.6)
    across = (_columns(width, dice) - per_picture(start)) / per_picture(length)
    thick = 0.22 * per_picture(length) * (0.25 + across.clamp(0, 1))
    above = (per_picture(y) - _rows(height, dice)) / thick
    body = torch.exp(-above.square()) * (above > -0.6) * ((across > 0) & (across < 1))
    clumps = turbulence(dice, (height, width), (24, 30), octaves=4, decay=0.65)
    depth = per_picture(dice.log_uniform(0.6, 4.0)) * body * (1 - across.clamp(0, 1)) * (0.8 + 1.5 * clumps)
    earth = torch.tensor([0.72, 0.6, 0.45], device=dice.device).view(1, 3, 1, 1)
    earth = fade(earth, backdrop.colourful)
    colour = earth * per_picture(dice.uniform(0.75, 1.15)) * backdrop.brightness
    return _veil(pictures, gaussian_blur(depth.clamp(min=0), dice.uniform(0.001, 0.006) * height), colour)


def haze_layer(dice: Dice, pictures: Tensor, backdrop: Backdrop) -> Tensor:
    """Even haze that thickens towards the skyline, as over a city or after rain."""
    base = backdrop.skyline.median(1).values + dice.uniform(-0.05, 0.1)
    layer = _layer(dice, pictures, base, dice.uniform(0.08, 0.3), ragged=0.1)
    depth = per_picture(dice.log_uniform(0.15, 1.5)) * layer
    return _veil(pictures, depth, backdrop.horizon * per_picture(dice.uniform(0.9, 1.1)))


def sun_glare(dice: Dice, pictures: Tensor, backdrop: Backdrop) -> Tensor:
    """The sun in or near the picture: a halo, and ghosts of the lens on the line through the centre."""
    height, width = pictures.shape[-2:]
    x, y = dice.uniform(-0.1, 1.1), backdrop.skyline.median(1).values - dice.uniform(0.05, 0.6)
    warm = torch.tensor([1.0, 0.95, 0.85], device=dice.device).view(1, 3, 1, 1)
    warm = fade(warm, backdrop.colourful)
    aspect = width / height

    def disc(at_x: Tensor, at_y: Tensor, radius: Tensor, power: float) -> Tensor:
        dx = (_columns(width, dice) - per_picture(at_x)) * aspect
        dy = _rows(height, dice) - per_picture(at_y)
        return torch.exp(-((dx.square() + dy.square()) / per_picture(radius).square()).pow(power))

    light = disc(x, y, dice.uniform(0.1, 0.4), 0.5) * per_picture(dice.uniform(0.4, 1.0))
    for _ in range(3):
        far = dice.uniform(0.3, 1.8)  # along the line from the sun through the centre
        ghost = disc(x + far * (0.5 - x), y + far * (0.5 - y), dice.log_uniform(0.015, 0.08), 4.0)
        light = light + ghost * per_picture(dice.uniform(0.0, 0.18))
    return pictures + (1 - pictures) * (light * warm).clamp(0, 1)


def lens_drops(dice: Dice, pictures: Tensor, backdrop: Backdrop) -> Tensor:
    """Drops and smears on the glass: round blurs that lift the dark and hide what is behind."""
    height, width = pictures.shape[-2:]
    blurred = gaussian_blur(pictures, dice.uniform(0.012, 0.03) * height)
    cover = torch.zeros(len(dice), 1, height, width, device=dice.device)
    for _ in range(6):
        dx = (_columns(width, dice) - per_picture(dice.uniform())) * width / height
        dy = (_rows(height, dice) - per_picture(dice.uniform())) * per_picture(dice.uniform(0.6, 1.4))
        radius = per_picture(dice.log_uniform(0.01, 0.09))
        edge = per_picture(dice.uniform(1.5, 6.0))
        drop = torch.exp(-((dx.square() + dy.square()).sqrt() / radius).pow(edge))
        cover = torch.maximum(cover, drop * per_picture(dice.uniform(0.3, 1.0)))
    veil = 0.75 * blurred + 0.25 * backdrop.brightness
    return pictures * (1 - cover) + veil * cover


KINDS: tuple[tuple[Kind, float], ...] = (
    (fog_bank, 2.0),
    (low_cloud, 2.0),
    (dust, 1.5),
    (haze_layer, 1.0),
    (sun_glare, 1.0),
    (lens_drops, 1.0),
)


def _veil(pictures: Tensor, depth: Tensor, colour: Tensor) -> Tensor:
    """Put something of this optical depth in front of pictures."""
    return see_through(pictures, torch.exp(-depth.clamp(min=0)), colour)


def _layer(dice: Dice, pictures: Tensor, base: Tensor, thickness: Tensor, ragged: float) -> Tensor:
    """A level layer, 1 at its base and thinning to both sides, [N, 1, H, W]; its base rises and falls."""
    height, width = pictures.shape[-2:]
    swell = turbulence(dice, (1, width), (1, 3.0), octaves=4, decay=0.5)
    away = (_rows(height, dice) - per_picture(base)) / per_picture(thickness) + ragged * swell
    return torch.exp(-away.square())


def _pale(dice: Dice, backdrop: Backdrop, low: float, high: float) -> Tensor:
    """A near-white of the scene's light, a little of its sky's colour in it."""
    white = backdrop.brightness * per_picture(dice.uniform(low, high))
    return 0.7 * white + 0.3 * backdrop.horizon


def _rows(height: int, dice: Dice) -> Tensor:
    return ((torch.arange(height, device=dice.device) + 0.5) / height).view(1, 1, -1, 1)


def _columns(width: int, dice: Dice) -> Tensor:
    return ((torch.arange(width, device=dice.device) + 0.5) / width).view(1, 1, 1, -1)
