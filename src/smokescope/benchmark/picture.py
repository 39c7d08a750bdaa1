"""A picture to measure with: no photograph at hand is everybody's."""

import cv2
import numpy as np
from numpy.typing import NDArray


def soft_colours(height: int, width: int) -> NDArray[np.uint8]:
    """Random colours on a coarse grid, enlarged, with grain: RGB, H x W x 3, always the same."""
    rng = np.random.default_rng(0)
    coarse = rng.uniform(60, 200, (8, 10, 3)).astype(np.float32)
    smooth = np.asarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)
    return (smooth + rng.normal(0, 6, smooth.shape)).clip(0, 255).astype(np.uint8)
