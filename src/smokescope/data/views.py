"""What a camera looks at: a small map of each picture's land, and how alike two such maps are.

Light, haze and clouds change from minute to minute; the ground's pattern does not. A picture is squashed to
a small grey map, its upper part (sky, clouds, time stamps) left out, and each pixel set in proportion to the
contrast around it, so that neither exposure nor shade counts. Each row's mean is then taken away: a level
horizon is the one thing that all hills share. Two maps are compared by their correlation at the best small
shift, found for all shifts at once by Fourier transform: cameras shake, and are aimed anew after repairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

FINE, COARSE = (120, 2.25), (40, 1.0)  # pixels of width, 4:3, and around each pixel for its contrast
SKY = 0.4  # of the height, above which nothing is compared
REACH = 0.1  # of the width: the largest shift
NOISE = 1.0  # grey levels: contrast far below this is grain, and counts for little

_FLAT = 0.05  # root mean square of a map without structure
_CHUNK = 256  # maps at a time, which bounds the memory

Spectra = NDArray[np.complex64]


@dataclass(frozen=True)
class Views:
    """Spectra of N pictures' maps, at two sizes."""

    coarse: Spectra
    """N x 18 x 21; cheap enough to compare every picture with every other."""
    fine: Spectra
    """N x 54 x 61; these decide."""

    def __len__(self) -> int:
        return len(self.fine)

    @staticmethod
    def stack(views: Sequence["Views"]) -> "Views":
        """Many as one, in order."""
        return Views(np.concatenate([v.coarse for v in views]), np.concatenate([v.fine for v in views]))


def describe_view(picture: NDArray[np.uint8]) -> Views:
    """Describe one picture, H x W x 3, by its spectra: `Views` of length 1."""
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.uint8)
    return Views(_spectrum(grey, *COARSE), _spectrum(grey, *FINE))


def compare_views(one: Spectra, many: Spectra) -> NDArray[np.float32]:
    """Correlate one map with each of many, at the best shift.

    Args:
        one: A spectrum, h x w.
        many: Spectra, N x h x w.

    Returns:
        N values in [-1, 1]; 1 for the same picture, about 0.1 for two that have nothing in common.
    """
    height, width = one.shape[0], 2 * (one.shape[1] - 1)
    reach = round(REACH * width)
    shifts = np.arange(-reach, reach + 1)
    best = np.empty(len(many), np.float32)
    for start in range(0, len(many), _CHUNK):
        part = slice(start, start + _CHUNK)
        everywhere = np.fft.irfft2(one.conj() * many[part], s=(height, width), axes=(1, 2))
        best[part] = everywhere[:, shifts[:, None], shifts].max(axis=(1, 2))
    return best


def _spectrum(grey: NDArray[np.uint8], width: int, radius: float) -> Spectra:
    """1 x h x (width / 2 + 1), of a map of mean 0 and length 1; zeros where there is nothing to see."""
    height = width * 3 // 4
    small = cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32)
    detail = small - cv2.GaussianBlur(small, (0, 0), radius)
    contrast = cv2.GaussianBlur(detail**2, (0, 0), radius)
    land = (detail / np.sqrt(contrast + NOISE**2))[round(SKY * height) :]
    land -= land.mean(axis=1, keepdims=True)
    length = np.linalg.norm(land)
    unit = land / length if length > _FLAT * land.size**0.5 else np.zeros_like(land)
    # Parseval: with the unit map's inverse transform, the correlation comes out in [-1, 1].
    return np.fft.rfft2(unit)[None].astype(np.complex64)
