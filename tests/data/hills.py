"""Pictures of hills that tests make up: each seed is a view of its own, taken in any light and weather."""

import io

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image


def hills(
    seed: int,
    *,
    frame: int = 0,
    light: float = 1.0,
    shift: tuple[int, int] = (0, 0),
    smoke: bool = False,
    size: tuple[int, int] = (240, 180),
) -> NDArray[np.uint8]:
    """A picture of view `seed`.

    All views have a level horizon at about the same height, a bright sky above and dark corners, as those of
    one make of camera: what is shared must not count.

    Args:
        seed: The land.
        frame: The clouds, the sensor's grain, and which side of the ground lies in shade.
        light: Exposure.
        shift: How far the camera has moved, in pixels to the right and down.
        smoke: A plume stands before the land.
        size: Width and height; the land is the same.
    """
    width, height = 320, 240
    land, air = np.random.default_rng(seed), np.random.default_rng((seed, frame, 7))
    ground = sum(
        cv2.GaussianBlur(land.normal(size=(height, width)), (0, 0), s) * s * weight
        for s, weight in ((1.5, 18), (4, 22), (12, 30))
    )
    ridge = 100 + 2 * cv2.GaussianBlur(land.normal(size=(1, width)), (0, 0), 12).ravel() * 12
    rows = np.arange(height)[:, None]
    clouds = 12 * cv2.GaussianBlur(air.normal(size=(height, width)), (0, 0), 10) * 10
    picture = np.where(rows < ridge, 180 + clouds, 80 + ground)
    picture = np.roll(picture, shift, (1, 0))
    picture *= light * np.linspace(1, 0.6, width)[:: 1 if frame % 2 else -1]
    if smoke:
        puff = np.exp(-(((np.arange(width) - 200) / 30) ** 2) - ((rows - 110) / 40) ** 2)
        picture = picture * (1 - puff) + 200 * puff
    corners = ((np.arange(width) - width / 2) / width) ** 2 + ((rows - height / 2) / height) ** 2
    picture = np.where(corners > 0.42, 5, picture) + air.normal(size=(height, width)) * 2
    grey = cv2.resize(np.clip(picture, 0, 255), size, interpolation=cv2.INTER_AREA).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)


def as_jpeg(picture: NDArray[np.uint8], quality: int = 60) -> bytes:
    """The bytes of a camera's file."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()
