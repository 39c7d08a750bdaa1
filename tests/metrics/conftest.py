"""Pictures that metrics are likely to get wrong, and some that are merely random."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

Pictures = list[tuple[Tensor, Tensor]]


def _eight_bit(height: int, width: int, seed: int, smoke: float = 0.3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(1, height, width, generator=generator) < smoke
    noise = torch.randint(0, 256, (1, height, width), generator=generator)
    level = torch.where(
        torch.rand(1, height, width, generator=generator) < 0.6, mask * 200 + noise // 5, noise
    )
    return level.clamp(max=255).float() / 255, mask


@pytest.fixture
def eight_bit() -> Callable[..., tuple[Tensor, Tensor]]:
    """Make one picture [1, H, W] whose probabilities are k/255 in float32, and its mask."""
    return _eight_bit


@pytest.fixture
def pictures() -> Pictures:
    """Random and adversarial pictures of many sizes, all on k/255: none ties with twice its own mean."""
    ones, zeros = torch.ones(1, 6, 5), torch.zeros(1, 6, 5)
    half = torch.cat([torch.ones(1, 3, 5), torch.zeros(1, 3, 5)], 1)
    return [
        *(
            _eight_bit(height, width, seed)
            for seed, (height, width) in enumerate([(31, 17), (40, 40), (1, 64)])
        ),
        *((p, mask.bool()) for p in (zeros, ones, half) for mask in (zeros, ones, half, 1 - half)),
        (torch.full((1, 1, 1), 254 / 255), torch.ones(1, 1, 1, dtype=torch.bool)),
        (torch.full((1, 1, 1), 1 / 255), torch.zeros(1, 1, 1, dtype=torch.bool)),
        (torch.arange(256).float().view(1, 16, 16) / 255, torch.arange(256).view(1, 16, 16) % 3 == 0),
    ]
