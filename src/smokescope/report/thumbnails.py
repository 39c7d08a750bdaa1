"""Small pictures for sheets and pages, the smoke in them outlined."""

import cv2
import numpy as np
from numpy.typing import NDArray

OUTLINE = (230, 60, 20)  # a red that neither sky, wood nor smoke has


def thumbnail(
    picture: NDArray[np.uint8], smoke: NDArray[np.bool_] | None, box: tuple[int, int]
) -> NDArray[np.uint8]:
    """Shrink a picture and outline its smoke.

    Args:
        picture: H x W x 3 RGB.
        smoke: H x W, or None to draw no outline. The smallest smoke still gets one.
        box: Width and height to fit into; a smaller picture stays as it is.

    Returns:
        A new RGB picture of the same aspect.
    """
    height, width = picture.shape[:2]
    factor = min(1.0, box[0] / width, box[1] / height)
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    small = np.array(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
    if smoke is not None:
        share = np.asarray(cv2.resize(smoke.astype(np.float32), size, interpolation=cv2.INTER_AREA))
        inside = (share > 0).astype(np.uint8)
        around = np.asarray(cv2.dilate(inside, np.ones((3, 3), np.uint8)))
        small[around > inside] = OUTLINE
    return small
