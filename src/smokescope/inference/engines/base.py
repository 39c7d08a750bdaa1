"""What a `Segmenter` asks of an engine. Nothing here loads torch: exported models run without it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from smokescope.inference.engines.maps import Maps, Pixels
from smokescope.inference.tiles import wants_tiles
from smokescope.inference.tiling import predict_tiled
from smokescope.settings.choices import Tiles
from smokescope.settings.input import InputSettings
from smokescope.settings.verdicts import VerdictSettings

if TYPE_CHECKING:
    from torch import Tensor

    from smokescope.uncertainty import Decomposition


class Engine(ABC):
    """A model that is ready to compute. Any number of threads may call it.

    Attributes:
        name: As people call it.
        input: How pictures are brought to the network.
        threshold: Above which a probability is called smoke.
        verdicts: By which regions are judged.
        device: Where it computes, as torch would call it.
        can_sample: Whether `sample` has something to draw.
    """

    name: str
    input: InputSettings
    threshold: float
    verdicts: VerdictSettings
    device: str = "cpu"
    can_sample: bool = False

    @abstractmethod
    def plain(self, pictures: Sequence[Pixels]) -> Maps:
        """Predict pictures of one size in one pass."""

    def predict(self, pictures: Sequence[Pixels], tiles: Tiles) -> Maps:
        """Predict pictures of one size, in parts too where `tiles` say so."""
        if not self.cuts(pictures, tiles):
            return self.plain(pictures)
        tiled = [predict_tiled(self.plain, picture, self.input) for picture in pictures]
        return Maps(*map(np.concatenate, zip(*tiled, strict=True)))

    def cuts(self, pictures: Sequence[Pixels], tiles: Tiles) -> bool:
        """Whether pictures of one size are to be cut."""
        height, width, _ = pictures[0].shape
        return wants_tiles(tiles, height, width, self.input)

    def tensors(self, pictures: Sequence[Pixels], tiles: Tiles) -> "Decomposition":
        """As `predict`, as tensors [N, 1, H, W] where the engine computes; loads torch."""
        import torch

        from smokescope.uncertainty import Decomposition

        return Decomposition(*(torch.from_numpy(each)[:, None] for each in self.predict(pictures, tiles)))

    def sample(self, pictures: Sequence[Pixels], count: int, keys: "Tensor | None") -> "Decomposition":
        """As `tensors`, from `count` Monte Carlo samples.

        Raises:
            ValueError: The model has nothing to sample.
        """
        raise ValueError(
            "this model cannot draw samples: use its safetensors file, or export it with --monte-carlo"
        )
