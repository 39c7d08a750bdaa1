"""Colours as encoders were trained to see them."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Normalise(nn.Module):
    """Subtract each colour's mean and divide by its deviation.

    Both come from the settings, which travel with the weights, and are therefore no part of the weights.

    Args:
        mean: means of red, green and blue in [0, 1].
        std: standard deviations of the same.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(1, 3, 1, 1), persistent=False)

    def forward(self, pictures: Tensor) -> Tensor:
        """Normalise RGB pictures [N, 3, H, W] in [0, 1]."""
        return (pictures - self.mean) / self.std
