"""What a graph that samples is fed with: the noise and the masks that PyTorch would draw by the same keys.

    >>> draws = draw(from_plain(SampleSettings, json.loads(metadata["samples"])), input, keys, 8, 480, 640)
    >>> draws["noise"].shape, draws["kept_1"].shape
    ((8, 1, 8), (8, 1, 32, 120, 160))

Drawing loads torch: numbers are the same then, whatever engine computes with them.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from smokescope.settings.input import InputSettings, network_size

if TYPE_CHECKING:
    from torch import Tensor

STRIDES = (4, 8, 16, 32)  # of s_1..s_4, which dropout acts on
KEPT = tuple(f"kept_{number}" for number in range(1, len(STRIDES) + 1))
NOISE = "noise"


@dataclass(frozen=True, kw_only=True)
class SampleSettings:
    """What there is to draw.

    Attributes:
        latent: Dimensions of z.
        width: Channels of s_1..s_4.
        dropout: Share of what is dropped.
        unit: Whether "element"s fall one by one, or a whole "channel".
    """

    latent: int
    width: int
    dropout: float
    unit: Literal["element", "channel"]


def draw(
    settings: SampleSettings, input: InputSettings, keys: "Tensor", count: int, height: int, width: int
) -> dict[str, NDArray[np.generic]]:
    """Draw all that `count` samples of each of N pictures need.

    Args:
        settings: What there is to draw.
        input: How the model resizes pictures.
        keys: Random keys of the pictures, int64 [N]; `Pipeline.sample` takes the same.
        count: Samples for each picture.
        height: Height of the pictures.
        width: Width of the pictures.

    Returns:
        Inputs by name: noise [count, N, latent], float32, and masks [count, N, width, h, w], bool, of which
        the last two are 1 where channels are dropped.
    """
    import torch

    from smokescope.chance import DROPOUT, LATENT, fold_in, normal
    from smokescope.models.dropout import draw_mask

    own = fold_in(keys, torch.arange(count)[:, None])  # [count, N]
    draws: dict[str, NDArray[np.generic]] = {NOISE: normal(fold_in(own, LATENT), settings.latent).numpy()}
    for number, (name, stride) in enumerate(zip(KEPT, STRIDES, strict=True)):
        sides = (-(-side // stride) for side in network_size(height, width, input))  # rounded up
        of_map = fold_in(fold_in(own, DROPOUT), number)
        draws[name] = draw_mask(of_map, (settings.width, *sides), settings.dropout, settings.unit).numpy()
    return draws
