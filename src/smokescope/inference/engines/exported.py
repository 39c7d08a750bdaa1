"""What the engines of exported models share."""

import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smokescope.errors import SmokescopeError
from smokescope.inference.engines.base import Engine, Maps, Pixels
from smokescope.inference.engines.card import Card
from smokescope.inference.engines.tiled import predict_tiled
from smokescope.inference.tiles import Tiles, wants_tiles


class ExportedEngine(Engine):
    """A graph that takes pictures [N, 3, H, W] and gives maps [N, 1, H, W]."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.input, self.threshold, self.verdicts = card.input, card.threshold, card.verdicts

    @abstractmethod
    def run(self, batch: NDArray[np.uint8]) -> Sequence[NDArray[np.float32]]:
        """The graph itself: pictures [N, 3, H, W] to its four maps [N, 1, H, W]."""

    def predict(self, pictures: Sequence[Pixels], tiles: Tiles) -> Maps:
        """Predict; see `Engine`."""
        batch = np.ascontiguousarray(np.stack(pictures).transpose(0, 3, 1, 2))
        height, width = batch.shape[-2:]
        if not wants_tiles(tiles, height, width, self.input):
            return self._plain(batch)
        tiled = [predict_tiled(self._plain, picture, self.input) for picture in batch]
        return Maps(*map(np.concatenate, zip(*tiled, strict=True)))

    def _plain(self, batch: NDArray[np.uint8]) -> Maps:
        return Maps(*(values[:, 0] for values in self.run(batch)))


def threads() -> int:
    """How many to compute with, as OMP_NUM_THREADS says, which PyTorch heeds by itself; 0 is all cores."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isascii() and told.isdigit() else 0


def refuse_device(device: str, path: Path) -> None:
    """Exported models are for small machines, and computed on the CPU.

    Raises:
        SmokescopeError: Another device was asked for.
    """
    if device not in ("auto", "cpu"):
        raise SmokescopeError(f"{path} is an exported model, which runs on the CPU and not on {device!r}")
