"""Pictures in, predictions out.

segmenter = smokescope.load()
prediction = segmenter("hill.jpg")
prediction.mask.mean()  # how much of the picture is smoke
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from smokescope.checkpoints.embedded import load_embedded
from smokescope.checkpoints.model import load_model
from smokescope.data.pictures import picture_from_bytes, picture_from_image, read_picture
from smokescope.errors import SmokescopeError
from smokescope.inference.devices import choose_device
from smokescope.inference.prediction import Prediction
from smokescope.inference.tiling import Tiles, predict_tiled, wants_tiles
from smokescope.models.pipeline import Pipeline
from smokescope.uncertainty import Decomposition

Picture = str | os.PathLike[str] | bytes | Image.Image | NDArray[np.uint8]
"""A file's path or its bytes, a Pillow image, or RGB values H x W x 3."""

BATCH = 8
BATCH_PIXELS = 16_000_000  # of one batch's pictures together: a few large ones would fill a memory


def load(
    model: str | os.PathLike[str] | None = None, device: str = "auto", tiles: Tiles = "auto"
) -> "Segmenter":
    """Load a model, ready to use.

    Args:
        model: A model file of smokescope's; by default the one that comes with it.
        device: Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.
        tiles: Whether large pictures are also looked at in parts: auto, never or always.

    Raises:
        SmokescopeError: The file cannot be read or is something else, or there is no such device.
    """
    where = choose_device(device)  # first: a model takes longer to read
    pipeline = load_embedded() if model is None else load_model(Path(model))
    return Segmenter(pipeline, str(where), tiles=tiles)


class Segmenter:
    """A model on a device. Any number of threads may call the same one.

    Args:
        pipeline: The model; it is moved to the device and put into eval mode.
        device: Where to compute, as for `load`.
        bf16: On CUDA, run the network in bfloat16: faster, and a little less exact.
        tiles: As for `load`.
    """

    def __init__(
        self, pipeline: Pipeline, device: str = "auto", *, bf16: bool = False, tiles: Tiles = "auto"
    ) -> None:
        self.device = choose_device(device)
        self.pipeline = pipeline.to(self.device).eval()
        self.bf16 = bf16 and self.device.type == "cuda"
        self.tiles = tiles

    def __call__(self, picture: Picture) -> Prediction:
        """Predict one picture.

        Raises:
            SmokescopeError: The picture cannot be read, or is no picture.
        """
        return self.many([picture])[0]

    def many(self, pictures: Iterable[Picture]) -> list[Prediction]:
        """Predict many pictures, those of one size together. All are held in memory, as are their maps.

        Raises:
            SmokescopeError: As for one.
        """
        loaded = [as_pixels(picture) for picture in pictures]
        same_size = defaultdict[tuple[int, ...], list[int]](list)
        for number, pixels in enumerate(loaded):
            same_size[pixels.shape].append(number)
        predictions = dict[int, Prediction]()
        for (height, width, _), numbers in same_size.items():
            step = max(1, min(BATCH, BATCH_PIXELS // (height * width)))
            for start in range(0, len(numbers), step):
                batch = numbers[start : start + step]
                maps = self.maps([loaded[number] for number in batch])
                predictions.update(zip(batch, self._split(maps), strict=True))
        return [predictions[number] for number in range(len(loaded))]

    def maps(self, pictures: Sequence[NDArray[np.uint8]]) -> Decomposition:
        """Predict pictures H x W x 3 of one size at once: maps [N, 1, H, W] on the segmenter's device."""
        batch = self._batch(pictures)
        settings, (height, width) = self.pipeline.input, batch.shape[-2:]
        if not wants_tiles(self.tiles, height, width, settings):
            return self._plain(batch)
        tiled = [predict_tiled(self._plain, picture, settings) for picture in batch]
        return Decomposition(*map(torch.cat, zip(*tiled, strict=True)))

    def sample(
        self, pictures: Sequence[NDArray[np.uint8]], count: int, keys: Tensor | None = None
    ) -> Decomposition:
        """As `maps`, from `count` Monte Carlo samples: what `maps` approximates.

        Args:
            pictures: H x W x 3, of one size.
            count: Samples for each.
            keys: Of all that is drawn for each, int64 [N]; see `smokescope.chance`.

        Raises:
            ValueError: The model has nothing to sample.
        """
        keys = None if keys is None else keys.to(self.device)
        with torch.inference_mode(), self._precision():
            return self.pipeline.sample(self._batch(pictures), count, keys)

    def _plain(self, batch: Tensor) -> Decomposition:
        with torch.inference_mode(), self._precision():
            maps: Decomposition = self.pipeline(batch)
        return maps

    def _batch(self, pictures: Sequence[NDArray[np.uint8]]) -> Tensor:
        batch = torch.from_numpy(np.stack(pictures)).to(self.device)
        return batch.permute(0, 3, 1, 2).contiguous()

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16)

    def _split(self, maps: Decomposition) -> list[Prediction]:
        joint = torch.cat(maps, 1).float().cpu().numpy()
        threshold, verdicts = self.pipeline.threshold, self.pipeline.verdicts
        return [
            Prediction(probability, probability > threshold, total, aleatoric, epistemic, verdicts)
            for probability, total, aleatoric, epistemic in joint
        ]


def as_pixels(picture: Picture) -> NDArray[np.uint8]:
    """Whatever stands for a picture, as H x W x 3 RGB values.

    Raises:
        SmokescopeError: It cannot be read, or is no picture.
    """
    match picture:
        case str() | os.PathLike():
            return read_picture(Path(picture))
        case bytes():
            return picture_from_bytes(picture)
        case Image.Image():
            return picture_from_image(picture)
        case np.ndarray():
            if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
                raise SmokescopeError(
                    f"an array of shape {list(picture.shape)} and type {picture.dtype} is no picture: "
                    "give height x width x 3 RGB values as uint8"
                )
            return picture
    raise SmokescopeError(
        f"a {type(picture).__name__} is no picture: give a path, bytes, a Pillow image or RGB"
    )
