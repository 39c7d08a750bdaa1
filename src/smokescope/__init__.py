"""See smoke, and how sure to be: wildfire-smoke segmentation with calibrated, decomposed uncertainty.

import smokescope

segmenter = smokescope.load()
prediction = segmenter("hill.jpg")
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from smokescope.errors import SmokescopeError
from smokescope.settings.choices import EngineName, Tiles

if TYPE_CHECKING:
    from smokescope.inference.segmenter import Segmenter

__all__ = ["SmokescopeError", "__version__", "load"]

__version__ = "0.1.0.dev0"


def load(
    model: str | os.PathLike[str] | None = None,
    device: str = "auto",
    tiles: Tiles = "auto",
    engine: EngineName | None = None,
) -> "Segmenter":
    """Load a model, ready to use: `load()(picture)` is a `smokescope.inference.Prediction`.

    Args:
        model: A smokescope model file: .safetensors, or .onnx or .xml as exported; by default the embedded
            model.
        device: Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps.
        tiles: Whether large pictures are also analysed in tiles: auto, never or always.
        engine: Inference engine: torch; onnx (onnxruntime) or openvino, for which a safetensors model is
            exported once; or auto, the fastest one installed. By default torch, or an exported file's own.

    Raises:
        SmokescopeError: The file cannot be read or is not a model, or there is no such device or engine.
    """
    from smokescope.export.choice import load_by  # here: `import smokescope` should take no time
    from smokescope.inference.segmenter import Segmenter

    return Segmenter(load_by(None if model is None else Path(model), device, engine), tiles=tiles)
