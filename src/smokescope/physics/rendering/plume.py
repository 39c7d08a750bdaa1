"""A plume of smoke as a volume: source, buoyant rise, wind, turbulence, seen from the side in sunlight.

A plume stands in a cube and is seen along the cube's depth. Its axis leaves the source upwards and bends with
the wind, which grows with height; the air that it draws in widens it as it goes, thins it, and lets its
eddies grow with its width. What comes out are maps on the cube's face: optical depth along the view, and how
much sunlight reaches the smoke that is seen.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from smokescope.physics.rendering.noise import Dice, turbulence

FACE, SLICES = 96, 12  # cells of the cube, on its face and along the view
KNOTS = 24  # of the axis
REACH = 1.7  # radii from the axis that the cube's slices and the eddies cover
EDDIES = (14, 112, 20)  # samples of the turbulence: along the view, along the axis, across
LONGEST = 26.0  # radii along an axis that they cover
LIGHT_STEPS = 5


class Habit(NamedTuple):
    """How plumes grow; each [N]. Lengths are shares of the axis's length."""

    wind: Tensor
    """Angle from upright at the axis's end, in radians; negative blows left."""
    shear: Tensor
    """How late along the axis the wind takes hold: 1 evenly, more is later."""
    base: Tensor
    """Radius at the source."""
    spread: Tensor
    """Length by which the radius has grown at the end."""
    fade: Tensor
    """E-foldings by which the smoke settles or evaporates along the axis."""
    dissolved: Tensor
    """Share of the smoke that is gone at the end: 1 for smoke that thins out, 0 for a column's head."""
    roughness: Tensor
    """How far eddies eat into the plume: 0 is a smooth tube, 2 torn to pieces."""
    softness: Tensor
    """How gradually the density falls off towards the edge; below 1 there is a solid core."""
    thickness: Tensor
    """Optical depth through the denser part."""


class Plumes(NamedTuple):
    """Plumes seen from the side; row 0 of a face is its top."""

    depth: Tensor
    """Optical depth [N, 1, FACE, FACE]."""
    sunlight: Tensor
    """Share of the sun's light that reaches the smoke that is seen, [N, 1, FACE, FACE]."""
    source: Tensor
    """Where the smoke starts, (x, y) in [0, 1] from the face's top left, [N, 2]."""


def draw_habits(dice: Dice) -> Habit:
    """Draw from what cameras see: mostly thin smoke in the wind, a quarter of them thick columns."""
    column = dice.uniform() < 0.25
    lean = dice.normal(0.0, 0.8).clamp(-1.5, 1.5)

    def either(columns: Tensor, wisps: Tensor) -> Tensor:
        return torch.where(column, columns, wisps)

    return Habit(
        wind=either(0.6 * lean, lean.sign() * (1.65 - 1.3 * dice.uniform().square())),
        shear=dice.uniform(0.45, 1.3),
        base=dice.log_uniform(0.015, 0.1),
        spread=either(dice.uniform(0.15, 0.4), dice.uniform(0.05, 0.25)),
        fade=either(dice.uniform(0.0, 0.8), dice.uniform(0.2, 2.2)),
        dissolved=either(dice.uniform(), torch.ones(len(dice), device=dice.device)),
        roughness=dice.uniform(0.7, 1.8),
        softness=either(dice.uniform(0.2, 0.7), dice.uniform(0.35, 1.3)),
        thickness=either(dice.log_uniform(0.8, 6.0), dice.log_uniform(0.45, 2.2)),
    )


def grow(dice: Dice, habit: Habit) -> Plumes:
    """Build the volumes and look at them.

    Args:
        dice: dice to draw turbulence and the sun's place from.
        habit: habit of N plumes.
    """
    density, source = _density(dice, habit)
    sunlight = _sunlight(dice, density)
    before = density.cumsum(2) - density  # what stands between a slice and the camera
    seen = density * torch.exp(-before)
    lit = (seen * sunlight).sum(2) / seen.sum(2).clamp(min=1e-6)
    return Plumes(density.sum(2), lit, source)


def _density(dice: Dice, habit: Habit) -> tuple[Tensor, Tensor]:
    """Optical depth of each cell, [N, 1, SLICES, FACE, FACE], nearest slice first; and the source."""
    along = torch.linspace(0, 1, KNOTS, device=dice.device)
    angle = habit.wind[:, None] * along ** habit.shear[:, None]
    tangent = torch.stack((angle.sin(), angle.cos()), -1)  # [N, KNOTS, 2], y upwards
    axis = functional.pad(tangent[:, :-1].cumsum(1), (0, 0, 1, 0)) / (KNOTS - 1)
    radius = habit.base[:, None] + habit.spread[:, None] * along

    # the face is as large as the plume needs
    low = (axis - REACH * radius[..., None]).amin(1)
    high = (axis + REACH * radius[..., None]).amax(1)
    side = (high - low).amax(1)
    corner = (high + low - side[:, None]) / 2
    cells = (torch.arange(FACE, device=dice.device) + 0.5) / FACE
    x = corner[:, 0, None, None] + side[:, None, None] * cells
    y = corner[:, 1, None, None] + side[:, None, None] * cells.flip(0)[:, None]

    s, across = _along_and_across(x, y, axis, tangent)
    width = habit.base[:, None, None] + habit.spread[:, None, None] * s.clamp(0, 1)
    beyond = (s - s.clamp(0, 1)) / width  # before the source and after the end
    across = across / width
    view = torch.linspace(-REACH, REACH, SLICES, device=dice.device).view(1, SLICES, 1, 1)
    eddies = _eddies(dice, habit, s, across, view)
    inside = 1 - (across.square() + beyond.square()).unsqueeze(1) - view.square()
    wide = (-1, 1, 1, 1)
    form = ((inside + habit.roughness.view(wide) * eddies) / habit.softness.view(wide)).clamp(0, 1)
    form = form.square() * (3 - 2 * form)  # smooth at both ends
    end = s.clamp(0, 1).square() * (3 - 2 * s.clamp(0, 1))
    fading = torch.exp(-habit.fade[:, None, None] * s.clamp(0, 1)) * (
        1 - habit.dissolved[:, None, None] * end
    )
    thinning = (width / width.amax((1, 2), keepdim=True)) ** -0.8  # spread over more air
    density = form * (fading * thinning).unsqueeze(1)

    depth = density.sum(1).flatten(1)
    dense = depth.topk(FACE * FACE // 50, 1).values[:, -1].clamp(min=1e-3)
    density = density * (habit.thickness / dense).view(wide)
    start = -corner / side[:, None]
    return density.unsqueeze(1), torch.stack((start[:, 0], 1 - start[:, 1]), 1)


def _along_and_across(x: Tensor, y: Tensor, axis: Tensor, tangent: Tensor) -> tuple[Tensor, Tensor]:
    """Each cell's place along the axis, 0 at the source and 1 at the end, and how far to a side it lies."""
    gap_x = (x.unsqueeze(-1) - axis[:, None, None, :, 0]).expand(-1, FACE, -1, -1)
    gap_y = (y.unsqueeze(-1) - axis[:, None, None, :, 1]).expand(-1, -1, FACE, -1)
    nearest = (gap_x.square() + gap_y.square()).argmin(-1, keepdim=True)
    gap_x, gap_y = gap_x.gather(-1, nearest).squeeze(-1), gap_y.gather(-1, nearest).squeeze(-1)
    index = nearest.flatten(1)
    t_x, t_y = (tangent[..., i].gather(1, index).view(-1, FACE, FACE) for i in (0, 1))
    s = nearest.squeeze(-1) / (KNOTS - 1) + gap_x * t_x + gap_y * t_y
    return s, gap_x * t_y - gap_y * t_x


def _eddies(dice: Dice, habit: Habit, s: Tensor, across: Tensor, view: Tensor) -> Tensor:
    """Turbulence in the plume's own coordinates, [N, SLICES, FACE, FACE]: eddies as large as it is wide."""
    field = turbulence(dice, EDDIES, (2.5, 16.0, 3.0), octaves=4, decay=0.6)
    # radii travelled: the integral of ds / (base + spread * s)
    growth = (habit.spread / habit.base)[:, None, None]
    travelled = torch.log1p(growth * s.clamp(0, 1)) / habit.spread[:, None, None]
    shape = (len(dice), SLICES, FACE, FACE)
    where = (
        (across / REACH).unsqueeze(1).expand(shape),
        (2 * travelled / LONGEST - 1).unsqueeze(1).expand(shape),
        (view / REACH).expand(shape),
    )
    grid = torch.stack(where, -1)
    sampled = functional.grid_sample(field, grid, padding_mode="reflection", align_corners=True)
    return 3 * sampled.squeeze(1)


def _sunlight(dice: Dice, density: Tensor) -> Tensor:
    """Share of the sun's light that reaches each cell, [N, 1, SLICES, FACE, FACE], by marching towards it."""
    coarse = functional.avg_pool3d(density, (2, 3, 3))
    azimuth, height = dice.uniform(-torch.pi, torch.pi), dice.uniform(0.3, 1.3)
    # grid_sample's axes: right, down, away from the camera
    toward = torch.stack((azimuth.sin() * height.cos(), -height.sin(), -azimuth.cos() * height.cos()), -1)
    still = torch.eye(3, 4, device=dice.device).expand(len(dice), 3, 4)
    met = torch.zeros_like(coarse)
    for step in range(1, LIGHT_STEPS + 1):
        moved = still.clone()
        moved[..., 3] = 0.07 * step * toward
        grid = functional.affine_grid(moved, list(coarse.shape), align_corners=False)
        met += functional.grid_sample(coarse, grid, align_corners=False)
    return functional.interpolate(torch.exp(-0.8 * met), density.shape[2:], mode="trilinear")
