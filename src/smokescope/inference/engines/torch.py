"""PyTorch: the engine that models are trained in, and that all others are compared with."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from smokescope.inference.devices import choose_device
from smokescope.inference.engines.base import Engine
from smokescope.inference.engines.maps import Maps, Pixels
from smokescope.models.bvm import SmokeBVM
from smokescope.models.pipeline import Pipeline
from smokescope.settings.choices import Tiles
from smokescope.uncertainty import Decomposition


class TorchEngine(Engine):
    """A pipeline on a device.

    Args:
        pipeline: The model; it is moved to the device and put into eval mode. On a CPU its weights are laid
            out by pixel rather than by channel, which saves a fifth of the time.
        device: As for `smokescope.load`.
    """

    name = "PyTorch"

    def __init__(self, pipeline: Pipeline, device: str = "auto") -> None:
        self.where = choose_device(device)
        self.device = str(self.where)
        self.pipeline = pipeline.to(self.where).eval()
        if self.where.type == "cpu":
            self.pipeline.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.input, self.threshold, self.verdicts = pipeline.input, pipeline.threshold, pipeline.verdicts
        self.can_sample = isinstance(pipeline.network, SmokeBVM)

    def plain(self, pictures: Sequence[Pixels]) -> Maps:
        """Predict; see `Engine`."""
        joint = torch.cat(self._run(pictures), 1).float().cpu().numpy()
        return Maps(*joint.swapaxes(0, 1))

    def tensors(self, pictures: Sequence[Pixels], tiles: Tiles) -> Decomposition:
        """Predict; see `Engine`. The maps of one pass stay where they are, on the device."""
        if not self.cuts(pictures, tiles):
            return self._run(pictures)
        return Decomposition(*(each.to(self.where) for each in super().tensors(pictures, tiles)))

    def sample(self, pictures: Sequence[Pixels], count: int, keys: Tensor | None) -> Decomposition:
        """Draw samples; see `Engine`."""
        keys = None if keys is None else keys.to(self.where)
        with torch.inference_mode():
            return self.pipeline.sample(self._batch(pictures), count, keys)

    def _run(self, pictures: Sequence[Pixels]) -> Decomposition:
        with torch.inference_mode():
            maps: Decomposition = self.pipeline(self._batch(pictures))
        return maps

    def _batch(self, pictures: Sequence[Pixels]) -> Tensor:
        batch = torch.from_numpy(np.stack(pictures)).to(self.where)
        return batch.permute(0, 3, 1, 2).contiguous()
