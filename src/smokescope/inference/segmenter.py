"""Pictures in, predictions out.

segmenter = smokescope.load()
prediction = segmenter("hill.jpg")
prediction.mask.mean()  # how much of the picture is smoke
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from smokescope.data.pictures import picture_from_bytes, picture_from_image, read_picture
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.base import Engine
from smokescope.inference.engines.exported import refuse_samples
from smokescope.inference.engines.formats import format_of
from smokescope.inference.engines.maps import Maps
from smokescope.inference.prediction import Prediction
from smokescope.settings.choices import Tiles
from smokescope.settings.input import InputSettings
from smokescope.settings.verdicts import VerdictSettings

if TYPE_CHECKING:  # PyTorch is loaded with the first model that needs it
    import torch
    from torch import Tensor

    from smokescope.models.pipeline import Pipeline
    from smokescope.uncertainty import Decomposition

Picture = str | os.PathLike[str] | bytes | Image.Image | NDArray[np.uint8]
"""A file's path or its bytes, a Pillow image, or RGB values H x W x 3."""

BATCH = 8
BATCH_PIXELS = 16_000_000  # of one batch's pictures together: a few large ones would fill a memory


def load_engine(model: Path | None, device: str) -> Engine:
    """The engine that a file is for, by the file's ending; None is the embedded model.

    Raises:
        SmokescopeError: As for `smokescope.load`.
    """
    format = format_of(model)
    if model is not None and format == "onnx":
        from smokescope.inference.engines.onnx import OnnxEngine

        return refuse_samples(OnnxEngine(model, device))
    if model is not None and format == "openvino":
        from smokescope.inference.engines.openvino import OpenVinoEngine

        return refuse_samples(OpenVinoEngine(model, device))
    from smokescope.checkpoints.embedded import model_file
    from smokescope.checkpoints.model import load_model
    from smokescope.inference.devices import choose_device
    from smokescope.inference.engines.torch import TorchEngine

    where = choose_device(device)  # first: a model takes longer to read
    with model_file(model) as path:
        return TorchEngine(load_model(path), str(where))


class Segmenter:
    """A model on a device. Any number of threads may call the same one.

    Args:
        engine: Engine that computes.
        tiles: Whether to use tiles, as for `smokescope.load`.

    Raises:
        SmokescopeError: There is no such choice of tiles.
    """

    def __init__(self, engine: Engine, *, tiles: Tiles = "auto") -> None:
        if tiles not in get_args(Tiles):
            raise SmokescopeError(f"tiles must be {' or '.join(get_args(Tiles))}, not {tiles!r}")
        self.engine, self.tiles = engine, tiles

    @property
    def input(self) -> InputSettings:
        """How pictures are resized for the network."""
        return self.engine.input

    @property
    def threshold(self) -> float:
        """Probability above which a pixel is called smoke."""
        return self.engine.threshold

    @property
    def verdicts(self) -> VerdictSettings:
        """Thresholds by which regions are judged."""
        return self.engine.verdicts

    @property
    def device(self) -> "torch.device":
        """Device that it computes on."""
        import torch

        return torch.device(self.engine.device)

    @property
    def pipeline(self) -> "Pipeline":
        """The PyTorch model itself.

        Raises:
            SmokescopeError: The model is an exported one, which gives predictions only.
        """
        from smokescope.inference.engines.torch import TorchEngine

        if not isinstance(self.engine, TorchEngine):
            raise SmokescopeError(
                "this needs the PyTorch model: use its safetensors file, not an exported one"
            )
        return self.engine.pipeline

    def __call__(self, picture: Picture) -> Prediction:
        """Predict one picture.

        Raises:
            SmokescopeError: The picture cannot be read or is not a picture, or the model fails on it.
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
                maps = self.engine.predict([loaded[number] for number in batch], self.tiles)
                predictions.update(zip(batch, self._split(maps), strict=True))
        return [predictions[number] for number in range(len(loaded))]

    def maps(self, pictures: Sequence[NDArray[np.uint8]]) -> "Decomposition":
        """Predict pictures H x W x 3 of one size at once: maps [N, 1, H, W] on the segmenter's device.

        Raises:
            SmokescopeError: As for one.
        """
        maps = self.engine.tensors(pictures, self.tiles)
        _refuse_unless(all(bool(each.isfinite().all()) for each in maps))
        return maps

    def sample(
        self, pictures: Sequence[NDArray[np.uint8]], count: int, keys: "Tensor | None" = None
    ) -> "Decomposition":
        """Like `maps`, but from `count` Monte Carlo samples, which `maps` approximates.

        Args:
            pictures: H x W x 3, of one size.
            count: Samples for each.
            keys: Random keys of the pictures, int64 [N]; see `smokescope.chance`.

        Raises:
            ValueError: The model cannot draw samples.
        """
        return self.engine.sample(pictures, count, keys)

    def _split(self, maps: Maps) -> list[Prediction]:
        _refuse_unless(all(np.isfinite(each).all() for each in maps))
        return [
            Prediction(probability, probability > self.threshold, total, aleatoric, epistemic, self.verdicts)
            for probability, total, aleatoric, epistemic in zip(*maps, strict=True)
        ]


def _refuse_unless(finite: bool) -> None:
    """Let nobody take what is no number for a picture without smoke.

    Raises:
        SmokescopeError: Not all values of the maps are finite.
    """
    if not finite:
        raise SmokescopeError("the model produced NaN or infinite values: its file is unusable")


def as_pixels(picture: Picture) -> NDArray[np.uint8]:
    """A picture in any accepted form, as H x W x 3 RGB values.

    Raises:
        SmokescopeError: It cannot be read, or is not a picture.
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
                    f"an array of shape {list(picture.shape)} and type {picture.dtype} is not a picture: "
                    "give height x width x 3 RGB values as uint8"
                )
            return picture
    raise SmokescopeError(
        f"a {type(picture).__name__} is not a picture: give a path, bytes, a Pillow image or RGB"
    )
