"""What the engines of exported models share."""

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smokescope.errors import SmokescopeError
from smokescope.inference.engines.base import Engine
from smokescope.inference.engines.card import INPUT, Card
from smokescope.inference.engines.draws import SampleSettings, draw
from smokescope.inference.engines.maps import Maps, Pixels

if TYPE_CHECKING:
    from torch import Tensor

    from smokescope.uncertainty import Decomposition


class ExportedEngine(Engine):
    """A graph that takes pictures [N, 3, H, W] and gives maps [N, 1, H, W].

    Another graph, in a file beside it (m.samples.onnx for m.onnx), may draw Monte Carlo samples; it is loaded
    with the first.

    Args:
        path: The file.
        device: "auto" or "cpu".

    Raises:
        SmokescopeError: It cannot be read or is something else, or what it needs is not installed.
    """

    def __init__(self, path: Path, device: str = "auto") -> None:
        if device not in ("auto", "cpu"):
            raise SmokescopeError(f"{path} is an exported model and runs on the CPU only, not on {device!r}")
        self.path, self.card = path, self._open(path)
        self.input, self.threshold, self.verdicts = self.card.input, self.card.threshold, self.card.verdicts
        if self.card.metadata.get("precision") == "int8":
            self.name = f"{self.name}, int8"
        self.can_sample = self.card.samples is None and samples_file(path).is_file()

    @abstractmethod
    def _open(self, path: Path) -> Card:
        """Make the file's graph ready to run: what it says of itself. As for the class."""

    @abstractmethod
    def run(self, inputs: Mapping[str, NDArray[np.generic]]) -> Sequence[NDArray[np.float32]]:
        """The graph itself: its inputs by name to its four maps [N, 1, H, W]."""

    def plain(self, pictures: Sequence[Pixels]) -> Maps:
        """Predict; see `Engine`."""
        return Maps(*(values[:, 0] for values in self.run({INPUT: _batch(pictures)})))

    def sample(self, pictures: Sequence[Pixels], count: int, keys: "Tensor | None") -> "Decomposition":
        """Draw samples; see `Engine`. One picture after the other: the masks of many would fill a memory."""
        if not self.can_sample:
            return super().sample(pictures, count, keys)
        import torch

        from smokescope.chance import make_keys
        from smokescope.uncertainty import Decomposition

        sampler, settings = self._sampler
        keys = make_keys(0, torch.arange(len(pictures))) if keys is None else keys.cpu()
        batch = _batch(pictures)
        height, width = batch.shape[-2:]
        found = []
        for number in range(len(batch)):
            one = slice(number, number + 1)
            draws = draw(settings, self.input, keys[one], count, height, width)
            found.append(sampler.run({INPUT: batch[one], **draws}))
        return Decomposition(*(torch.from_numpy(np.concatenate(maps)) for maps in zip(*found, strict=True)))

    @cached_property
    def _sampler(self) -> tuple["ExportedEngine", SampleSettings]:
        """The graph that samples, and what it is to be fed with."""
        beside = samples_file(self.path)
        found = type(self)(beside)
        ours, theirs = ((each.sha256, each.input, each.temperature) for each in (self.card, found.card))
        if found.card.samples is None or ours != theirs:
            raise SmokescopeError(f"{beside} does not belong to {self.path}: export both again")
        return found, found.card.samples


def samples_file(path: Path) -> Path:
    """Where the graph that samples is, for an exported model: m.samples.onnx beside m.onnx."""
    return path.with_name(f"{path.stem}.samples{path.suffix}")


def refuse_samples(engine: ExportedEngine) -> ExportedEngine:
    """An engine as it is, unless its graph only samples.

    Raises:
        SmokescopeError: It does.
    """
    if engine.card.samples is not None:
        raise SmokescopeError(
            f"{engine.path} only draws samples for the model it was exported with: give that one, and leave "
            "this file beside it"
        )
    return engine


def _batch(pictures: Sequence[Pixels]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(np.stack(pictures).transpose(0, 3, 1, 2))


def threads() -> int:
    """How many to compute with, as OMP_NUM_THREADS says, which PyTorch heeds by itself; 0 is all cores."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isascii() and told.isdigit() else 0
