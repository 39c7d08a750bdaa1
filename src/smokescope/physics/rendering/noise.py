"""Seeded randomness and turbulence: multi-scale noise in two and three dimensions, batched on any device."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional


class Dice:
    """Draws from one seeded stream. The stream lives on the CPU, so that a seed means the same everywhere.

    Args:
        seed: of the stream.
        device: where drawn tensors go.
    """

    def __init__(self, seed: int, device: torch.device | str = "cpu") -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self.device = torch.device(device)

    def uniform(self, count: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Uniform numbers in [low, high), [count]."""
        return self._draw((count,)) * (high - low) + low

    def log_uniform(self, count: int, low: float, high: float) -> Tensor:
        """Numbers in [low, high) whose logarithm is uniform, [count]."""
        return torch.exp(self.uniform(count, math.log(low), math.log(high)))

    def normal(self, count: int, mean: float = 0.0, deviation: float = 1.0) -> Tensor:
        """Normal numbers, [count]."""
        values = torch.randn(count, generator=self._generator)
        return (values * deviation + mean).to(self.device)

    def choose(self, count: int, weights: Sequence[float]) -> Tensor:
        """Indices drawn by weight, int64 [count]."""
        shares = torch.tensor(weights, dtype=torch.float64)
        return torch.multinomial(shares, count, replacement=True, generator=self._generator).to(self.device)

    def seeds(self, count: int) -> list[int]:
        """Seeds of further streams."""
        return torch.randint(2**31, (count,), generator=self._generator).tolist()

    def lattice(self, *shape: int) -> Tensor:
        """Uniform numbers in [-1, 1), any shape: what noise is interpolated from."""
        return self._draw(shape) * 2 - 1

    def _draw(self, shape: Sequence[int]) -> Tensor:
        return torch.rand(tuple(shape), generator=self._generator).to(self.device)


def turbulence(
    dice: Dice, count: int, size: Sequence[int], coarsest: Sequence[float], octaves: int, decay: float = 0.5
) -> Tensor:
    """Sum of smooth noise at ever finer scales (fractional Brownian motion), about zero.

    Args:
        dice: to draw from.
        count: fields to make.
        size: of a field, two or three sides.
        coarsest: how many cells of the coarsest octave fit along each side.
        octaves: how many; each doubles the cells.
        decay: of the amplitude from an octave to the next. 0.5 is soft; Kolmogorov's spectrum is about 0.63.

    Returns:
        [count, 1, *size] with a standard deviation near 0.3.
    """
    field = torch.zeros(count, 1, *size, device=dice.device)
    mode = "bicubic" if len(size) == 2 else "trilinear"
    for octave in range(octaves):
        cells = [min(side, max(2, round(c * 2**octave) + 1)) for side, c in zip(size, coarsest, strict=True)]
        layer = dice.lattice(count, 1, *cells)
        field += decay**octave * functional.interpolate(layer, tuple(size), mode=mode, align_corners=True)
    return field * (1 - decay) / (1 - decay**octaves)
