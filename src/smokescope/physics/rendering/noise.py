"""Keyed randomness and turbulence: multi-scale noise in two and three dimensions, batched on any device."""

import math
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn import functional

from smokescope.chance import fold_in, normal, uniform

Palette = Sequence[tuple[tuple[float, float, float], float]]
"""Colours, and how often each is met."""

ROW = 32  # numbers that are drawn at once: as many as a picture of smoke takes


class Dice:
    """Draws a number for each of N keys, a fresh one with each call, on the keys' device.

    What a key gets depends on it and on the calls before: not on the keys beside it.

    Args:
        keys: int64 [N].
    """

    def __init__(self, keys: Tensor) -> None:
        self._keys, self._streams = keys, 0
        self._row: list[Tensor] = []

    @property
    def device(self) -> torch.device:
        """Where numbers are drawn."""
        return self._keys.device

    def __len__(self) -> int:
        return len(self._keys)

    def keys(self) -> Tensor:
        """Keys of further streams, int64 [N]."""
        self._streams += 1
        return fold_in(self._keys, self._streams)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Uniform numbers in [low, high), [N]."""
        if not self._row:  # a hash takes many small steps, which a GPU does for a row as fast as for one
            self._row = list(uniform(self.keys(), ROW).unbind(1))
        return self._row.pop() * (high - low) + low

    def log_uniform(self, low: float, high: float) -> Tensor:
        """Numbers in [low, high) whose logarithm is uniform, [N]."""
        return torch.exp(self.uniform(math.log(low), math.log(high)))

    def normal(self, mean: float = 0.0, deviation: float = 1.0) -> Tensor:
        """Normal numbers, [N]."""
        return normal(self.keys()) * deviation + mean

    def choose(self, weights: Sequence[float]) -> Tensor:
        """Indices drawn by weight, int64 [N]."""
        *edges, whole = accumulate(weights)
        place = self.uniform(0.0, whole)
        # compared one by one: a tensor of edges would have to travel to the device
        return torch.stack([place >= edge for edge in edges]).sum(0)

    def colour(self, palette: Palette) -> Tensor:
        """Colours drawn by how often they are met, [N, 3, 1, 1]."""
        known = torch.tensor([colour for colour, _ in palette], device=self.device)
        return known[self.choose([weight for _, weight in palette])].view(-1, 3, 1, 1)

    def lattice(self, *shape: int) -> Tensor:
        """Uniform numbers in [-1, 1), [N, *shape]: what noise is interpolated from."""
        return uniform(self.keys(), *shape) * 2 - 1


def per_picture(values: Tensor) -> Tensor:
    """One number for each, [N], as [N, 1, 1, 1] to compute with pictures."""
    return values.view(-1, 1, 1, 1)


def turbulence(
    dice: Dice, size: Sequence[int], coarsest: Sequence[float], octaves: int, decay: float = 0.5
) -> Tensor:
    """Sum of smooth noise at ever finer scales (fractional Brownian motion), about zero.

    Args:
        dice: dice to draw from, one field for each of their keys.
        size: sides of a field, two or three.
        coarsest: how many cells of the coarsest octave fit along each side.
        octaves: number of octaves; each doubles the cells.
        decay: ratio of amplitudes of successive octaves. 0.5 is soft; Kolmogorov's spectrum is about 0.63.

    Returns:
        [N, 1, *size] with a standard deviation near 0.3.
    """
    field = torch.zeros(len(dice), 1, *size, device=dice.device)
    mode = "bicubic" if len(size) == 2 else "trilinear"
    for octave in range(octaves):
        cells = [min(side, max(2, round(c * 2**octave) + 1)) for side, c in zip(size, coarsest, strict=True)]
        layer = dice.lattice(1, *cells)
        field += decay**octave * functional.interpolate(layer, tuple(size), mode=mode, align_corners=True)
    return field * (1 - decay) / (1 - decay**octaves)
