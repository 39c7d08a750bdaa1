"""The same smoke pasted twice: masks that have one shape, wherever it lies, mirrored and scaled or not.

SYN70K makes pictures by laying cut-out smoke over backgrounds. There the background says nothing, and colour
and opacity little, since both are changed on the way; the outline stays. So a mask is moved and scaled until
its centroid and area are standard, and two outlines are one when they cover the same.
"""

from typing import Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

SIDE = 64
_LENGTH = 24.0  # the root of the area that every plume is scaled to: SIDE holds what is long and thin as well

# Measured on SMOKE5K's 4,000 synthetic masks (see docs/data.md): of copies mirrored and scaled by 0.7 to
# 1.4, 99 % overlap by 0.97 and more. Of 893 pairs above 0.95 none is of different smoke; above 0.90 4 % are.
OVERLAP = 0.95
SCALE = 1.45

SMALLEST = 200  # pixels; below, a pixel more or less along the outline changes the shape
OWN_OUTLINE = 0.7  # share of the outline that is smoke's own and not the picture's border

_HELD = 0.95  # share of the smoke that the grid must hold

Unfit = Literal["small", "cut", "scattered", "plain"]


class Plume(NamedTuple):
    """The shape of a picture's smoke."""

    shape: NDArray[np.uint8]
    """SIDE x SIDE, 255 is smoke; centroid and area are standard."""
    length: float
    """Root of the area, in the picture's pixels."""


def plume(mask: NDArray[np.float32]) -> Plume | Unfit:
    """Bring a mask's shape to standard place and size, or say why its shape proves nothing.

    Smoke that is "small" has hardly a shape; smoke "cut" by the picture's border has lost it; smoke
    "scattered" over the picture is no single plume; a "plain" ellipse or upright box, as rough masks are, is
    like any other.

    Args:
        mask: H x W in [0, 1]; smoke is above one half.
    """
    smoke = mask > 0.5
    area = int(smoke.sum())
    if area < SMALLEST:
        return "small"
    if _changes(smoke) < OWN_OUTLINE * _changes(np.pad(smoke, 1)):
        return "cut"
    shape = _standard(smoke, area)
    if shape.sum() < _HELD * _LENGTH**2:
        return "scattered"
    firm = (shape > 0.5).astype(np.float32)
    if max(_cover(firm, plain) for plain in (_ellipse(firm), _box(firm))) >= OVERLAP:
        return "plain"
    return Plume(np.rint(255 * shape).astype(np.uint8), float(np.sqrt(area)))


def signature(plume: Plume) -> NDArray[np.float32]:
    """A short vector of length 1; its product with another's is about the cosine of the two shapes."""
    rough = cv2.resize(plume.shape, (16, 16), interpolation=cv2.INTER_AREA).astype(np.float32).ravel()
    return rough / np.linalg.norm(rough)


def mirrored(plume: Plume) -> Plume:
    """The plume as a mirror shows it."""
    return plume._replace(shape=np.ascontiguousarray(plume.shape[:, ::-1]))


def same_smoke(one: Plume, other: Plume) -> float | None:
    """The overlap (intersection over union) of two shapes, the better of both ways round.

    Returns:
        The overlap, or None if it is too little or the scales differ too much to be one plume.
    """
    if max(one.length, other.length) > SCALE * min(one.length, other.length):
        return None
    best = max(_cover(one.shape, other.shape), _cover(one.shape, mirrored(other).shape))
    return best if best >= OVERLAP else None


def _standard(smoke: NDArray[np.bool_], area: int) -> NDArray[np.float32]:
    rows, columns = np.nonzero(smoke)
    scale = _LENGTH / np.sqrt(area)
    values = smoke.astype(np.float32)
    if scale < 1:  # no finer than the grid can hold
        blurred = cv2.GaussianBlur(values, (0, 0), 0.4 / scale, borderType=cv2.BORDER_CONSTANT)
        values = np.asarray(blurred, np.float32)
    middle = (SIDE - 1) / 2
    shift = (middle - scale * columns.mean(), middle - scale * rows.mean())
    move = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]], np.float32)
    return np.asarray(cv2.warpAffine(values, move, (SIDE, SIDE), flags=cv2.INTER_LINEAR), np.float32)


def _ellipse(shape: NDArray[np.float32]) -> NDArray[np.float32]:
    """The ellipse with the same second moments."""
    y, x = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    weight = shape / shape.sum()
    xx, yy, xy = (float((weight * product).sum()) for product in (x * x, y * y, x * y))
    spread = (yy * x * x - 2 * xy * x * y + xx * y * y) / max(xx * yy - xy * xy, 1e-6)
    return np.asarray(spread <= 4, np.float32)  # an ellipse reaches to twice its standard deviation


def _box(shape: NDArray[np.float32]) -> NDArray[np.float32]:
    """The tight upright box."""
    rows, columns = (np.flatnonzero(shape.any(axis)) for axis in (1, 0))
    box = np.zeros_like(shape)
    box[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = 1
    return box


def _changes(smoke: NDArray[np.bool_]) -> int:
    """Length of the outline inside the array, in pixel edges."""
    return int((smoke[1:] != smoke[:-1]).sum() + (smoke[:, 1:] != smoke[:, :-1]).sum())


def _cover(one: NDArray[np.generic], other: NDArray[np.generic]) -> float:
    return float(np.minimum(one, other).sum(dtype=np.float64) / np.maximum(one, other).sum(dtype=np.float64))
