"""Masks in and out: whatever stands for smoke in a file becomes a map from 0 (none) to 1 (smoke)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from smokescope.data.pictures import decode
from smokescope.errors import SmokescopeError

EVEN = 8  # by its quality, JPEG turns nothing but black into one even grey of at most this


def read_mask(path: Path) -> NDArray[np.float32]:
    """Read a mask: 1-bit, 8-bit with 0 and 1 or 0 and 255, soft, 16-bit, or grey saved as colour.

    The largest value tells the scale: at most 1, 255 or 65535 stand for smoke. So 0 and 255 stored in 16 bits
    mean what they do in 8. A mask that is neither empty nor above half of that anywhere holds something else:
    numbers of classes, strokes; so does one of 1 and 255, with 0 or without. Palettes are looked up: indexed
    black and white means what it shows.

    Args:
        path: A picture file; PNG in most sets, JPEG in some.

    Returns:
        H x W values in [0, 1].

    Raises:
        SmokescopeError: The file is missing or damaged, or coloured, partly transparent, too dark or of
            numbered classes: its values could mean anything.
    """
    with decode(path) as image:
        return _as_map(image, path)


def _as_map(image: Image.Image, path: Path) -> NDArray[np.float32]:
    if image.mode == "1":
        return np.asarray(image, np.float32)
    if image.mode in ("L", "I") or image.mode.startswith("I;16"):
        values = np.asarray(image, np.float32)
    elif image.mode in ("P", "PA", "RGB", "RGBA", "LA"):
        values = _grey(image, path)
    else:
        raise SmokescopeError(f"{path} has colour mode {image.mode}, not a mask's: save it as 8-bit grey")
    if values.min() < 0 or values.max() > 65535:  # Pillow's mode "I" has 32 bits
        raise SmokescopeError(f"{path} holds values beyond 16 bits: save it as 8-bit grey")
    largest = int(values.max())
    if image.format == "JPEG" and values.min() == largest <= EVEN:
        return np.zeros_like(values)
    white = next(white for white in (1, 255, 65535) if largest <= white)
    if 0 < largest <= white / 2:
        raise SmokescopeError(
            f"{path} is not a mask of smoke: its largest value is {largest}, "
            "and smoke must be 1, 255 or 65535"
        )
    if white == 255 and (values == 1).any() and np.isin(values, (0, 1, 255)).all():
        raise SmokescopeError(
            f"{path} holds 1 and 255, one of them smoke and the other perhaps undecided: "
            "save smoke as 255 and all else as 0"
        )
    return values / np.float32(white)


def _grey(image: Image.Image, path: Path) -> NDArray[np.float32]:
    """The grey values of a picture stored in colour, if that is all it shows."""
    if image.has_transparency_data and np.asarray(image.convert("RGBA"))[..., 3].min() < 255:
        # white strokes on nothing: whether what is below is black or white differs by program
        raise SmokescopeError(f"{path} is partly transparent, not a mask: save it as grey, smoke white")
    colours = np.asarray(image.convert("RGB"), np.float32)
    if np.ptp(colours, axis=2).max() > 8:  # JPEG leaves greys a little coloured
        raise SmokescopeError(f"{path} is a coloured picture, not a mask: save it as grey, smoke white")
    return colours[..., 0]
