"""Scribbles: a few strokes instead of a mask, made from masks and read from files.

    0 unknown, 1 smoke, 2 background

These are the numbers of S-DUTS (Zhang et al., "Weakly-Supervised Salient Object Detection via Scribble
Annotations", CVPR 2020), by an author of SMOKE5K.
"""

import hashlib
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from smokescope.data.attributes import parts
from smokescope.data.layouts import Pair
from smokescope.data.pairs import refuse_other_size
from smokescope.data.pictures import decode, read_picture
from smokescope.data.strokes import Ends, Region, draw_stroke
from smokescope.data.tables import as_on_disk
from smokescope.errors import SmokescopeError

UNKNOWN, SMOKE, BACKGROUND = 0, 1, 2

PEN = 1 / 160  # width of the longer side: 4 of 640 pixels
LARGE = 0.1  # of the picture: smoke from this size on gets a second stroke
SECOND = 0.25  # of the largest part: another part from this size on gets a stroke of its own
AWAY = 0.04  # of the longer side, that the background's stroke keeps from the smoke


def scribble_seed(seed: int, name: str) -> int:
    """A picture's own seed: it depends on its name, and not on which other pictures there are."""
    digest = hashlib.sha256(as_on_disk(f"{seed}:{name}")).digest()
    return int.from_bytes(digest[:8], "big")


def draw_scribble(mask: NDArray[np.floating] | NDArray[np.bool_], seed: int) -> NDArray[np.uint8]:
    """Draw what a hurried person would: a stroke or two in the smoke, one in the background.

    A stroke in the smoke follows its shape for most of its length and never leaves it; a second one goes into
    another large part, or into the same if it is large. The background's is a wavy line well away from the
    smoke. Where there is no smoke, or nothing else, there is no stroke for it.

    Args:
        mask: H x W; smoke is where it exceeds 0.5.
        seed: The same one gives the same strokes.

    Returns:
        H x W values UNKNOWN, SMOKE and BACKGROUND.
    """
    smoke, rng = np.asarray(mask > 0.5), np.random.default_rng(seed)
    pen = max(1, round(PEN * max(smoke.shape)))
    scribble = np.full(smoke.shape, UNKNOWN, np.uint8)
    for part in _parts_to_mark(smoke):
        inner = _inner(part, pen)
        scribble[draw_stroke(inner, _along(inner, rng), pen, 0.4 * pen, rng)] = SMOKE
    around = _well_outside(smoke)
    if around.any():
        scribble[draw_stroke(around, _across(around, rng), pen, 3.0 * pen, rng)] = BACKGROUND
    return scribble


def read_scribble(path: Path) -> NDArray[np.uint8]:
    """Read a scribble of this or another hand.

    Values 0, 1 and 2 are taken as they are, in grey or as a palette's numbers. Colours are understood
    where they can mean one thing only: red is smoke, green or blue is background; black, white and
    transparent is unknown.

    Args:
        path: A PNG, or another picture file without losses.

    Returns:
        H x W values UNKNOWN, SMOKE and BACKGROUND.

    Raises:
        SmokescopeError: The file is missing or damaged, or holds anything else.
    """
    with decode(path) as image:
        if image.mode == "1":
            raise SmokescopeError(
                f"{path} is black and white: it is a mask, not a scribble with values 0, 1 and 2"
            )
        numbers = _as_numbers(image)
        colours = _as_colours(image) if image.mode in ("P", "PA", "RGB", "RGBA") else None
        if numbers is not None and colours is not None and not np.array_equal(numbers, colours):
            raise SmokescopeError(
                f"{path} contradicts itself: its palette shows 1 (smoke) and 2 (background) in each other's "
                "colours; save it as 8-bit grey with values 0, 1 and 2"
            )
        result = colours if numbers is None else numbers
        if result is None:
            raise SmokescopeError(
                f"{path} is not a scribble: it holds {_found(image)}, not 0 (unknown), 1 (smoke) and "
                "2 (background), nor black or white, red, and green or blue"
            )
        return result


def read_scribbled(pair: Pair) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read a picture, H x W x 3, and the scribble that stands in its mask's place, H x W.

    Raises:
        SmokescopeError: A file is missing or cannot be read, or the two differ in size.
    """
    picture = read_picture(pair.picture)
    if pair.mask is None:
        return picture, np.full(picture.shape[:2], BACKGROUND, np.uint8)
    if not pair.mask.is_file():
        raise SmokescopeError(f"{pair.picture} has no strokes: {pair.mask} is missing")
    scribble = read_scribble(pair.mask)
    refuse_other_size(pair, picture, scribble)
    return picture, scribble


def _parts_to_mark(smoke: Region) -> list[Region]:
    found = parts(smoke)
    second = [part for part in found[1:2] if part.sum() >= SECOND * found[0].sum()]
    if found and not second and smoke.mean() >= LARGE:
        second = found[:1]
    return found[:1] + second


def _inner(part: Region, pen: int) -> Region:
    """A part without its rim, which a person does not trust; of a thin part, the middle that there is."""
    depth = np.asarray(cv2.distanceTransform(np.pad(part, 1).astype(np.uint8), cv2.DIST_L2, 5))[1:-1, 1:-1]
    rim = min(pen, 0.3 * float(depth.max()))
    return _largest(depth > rim)


def _largest(region: Region) -> Region:
    return parts(region)[0]


def _along(region: Region, rng: np.random.Generator) -> Ends:
    """Two points towards the ends of a region's main axis."""
    y, x = np.nonzero(region)
    points = np.stack([x, y]).astype(np.float64)
    centred = points - points.mean(1, keepdims=True)
    axis = np.linalg.svd(centred @ centred.T)[0][:, 0]
    order = np.argsort(axis @ centred, kind="stable")
    first = order[int(rng.uniform(0.02, 0.2) * len(order))]
    last = order[int(rng.uniform(0.8, 0.98) * len(order))]
    return Ends((int(x[first]), int(y[first])), (int(x[last]), int(y[last])))


def _well_outside(smoke: Region) -> Region:
    """Away from the smoke; where it leaves little room, the farther half of what there is."""
    if not smoke.any():
        return np.ones_like(smoke)
    distance = np.asarray(cv2.distanceTransform((~smoke).astype(np.uint8), cv2.DIST_L2, 5))
    away = min(AWAY * max(smoke.shape), 0.5 * float(distance.max()))
    region: Region = (distance > away) & ~smoke
    return region


def _across(region: Region, rng: np.random.Generator) -> Ends:
    """A random point, and one of the same connected ground some way off."""
    y, x = np.nonzero(region)
    start = int(rng.integers(len(x)))
    labels = np.asarray(cv2.connectedComponents(region.astype(np.uint8), connectivity=8)[1])
    joined = np.flatnonzero(labels[y, x] == labels[y[start], x[start]])
    distance = np.hypot(x[joined] - x[start], y[joined] - y[start])
    wanted = rng.uniform(0.3, 0.6) * max(region.shape)
    # Any that is about as far as wanted; in a narrow place, one of the farthest.
    miss = np.abs(distance - wanted)
    end = int(rng.choice(joined[miss <= miss.min() + 0.02 * max(region.shape)]))
    return Ends((int(x[start]), int(y[start])), (int(x[end]), int(y[end])))


def _as_numbers(image: Image.Image) -> NDArray[np.uint8] | None:
    values = np.asarray(image)
    if values.ndim == 3 and image.mode == "RGB" and (values == values[..., :1]).all():
        values = values[..., 0]  # grey that was saved as colour
    if values.ndim != 2 or not np.isin(values, (UNKNOWN, SMOKE, BACKGROUND)).all():
        return None
    return values.astype(np.uint8)


def _as_colours(image: Image.Image) -> NDArray[np.uint8] | None:
    """Understand colours; None if one of them is unclear, or if none says smoke or background."""
    rgba = np.asarray(image.convert("RGBA"))
    high, low = rgba[..., :3] >= 128, rgba[..., :3] <= 64
    red, green, blue = (high[..., i] & low[..., (i + 1) % 3] & low[..., (i + 2) % 3] for i in range(3))
    flat = (rgba[..., :3] <= 8).all(2) | (rgba[..., :3] >= 247).all(2) | (rgba[..., 3] == 0)
    strokes = (red | green | blue) & ~flat
    if not (flat | strokes).all() or not strokes.any():
        return None
    return np.where(flat, UNKNOWN, np.where(red, SMOKE, BACKGROUND)).astype(np.uint8)


def _found(image: Image.Image) -> str:
    """The first few values or colours of a picture, in words."""
    values = np.asarray(image.convert("RGB") if image.mode in ("P", "PA", "RGBA") else image)
    kinds = np.unique(values.reshape(-1, values.shape[2]) if values.ndim == 3 else values.ravel(), axis=0)
    named = ", ".join(str(kind.tolist()) for kind in kinds[:5])
    return f"values {named}" + (f" and {len(kinds) - 5} more" if len(kinds) > 5 else "")
