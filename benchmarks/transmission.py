"""Transmission maps: on a CPU against OpenCV's erode and guided filter, on a GPU pictures a second."""

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.timing import compare, table
from smokescope.physics.transmission import transmission

PATCH, RADIUS, EPS = 15, 60, 1e-4
SQUARE = np.ones((PATCH, PATCH), np.uint8)

Map = NDArray[np.float32]


def opencv(picture: Map) -> Map:
    """The same algorithm by OpenCV: two erosions, the airlight, the guided filter."""
    dark = erode(picture)
    count = max(1, dark.size // 1000)
    candidates = picture[dark >= np.partition(dark.ravel(), -count)[-count]]
    light = candidates[candidates.sum(1).argmax()]
    return 1 - guided_filter(picture, erode(picture / light))


def erode(picture: Map) -> Map:
    red, green, blue = cv2.split(picture)
    return np.asarray(cv2.erode(cv2.min(cv2.min(red, green), blue), SQUARE), np.float32)


def guided_filter(picture: Map, dark: Map) -> Map:
    guide = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    contrib = cv2.ximgproc  # type: ignore[attr-defined]  # in opencv-contrib only
    return np.asarray(contrib.guidedFilter(guide, dark, RADIUS, EPS), np.float32)


def cpu() -> None:
    picture = torch.rand(1, 3, 480, 480)
    array = np.ascontiguousarray(picture[0].permute(1, 2, 0).numpy())
    cv2.setNumThreads(torch.get_num_threads())
    seconds = compare(
        {
            "ours": lambda: transmission(picture),
            "OpenCV, the same algorithm": lambda: opencv(array),
            "OpenCV, erode twice and guided filter": lambda: (
                erode(array),
                guided_filter(array, erode(array)),
            ),
            "OpenCV, erode once and guided filter": lambda: guided_filter(array, erode(array)),
        },
        rounds=200,
    )
    table(
        "Transmission, one picture of 480 x 480",
        ("", "ms", "ours takes"),
        [(n, f"{1e3 * s:.2f}", f"{seconds['ours'] / s:.2f} x its time") for n, s in seconds.items()],
    )


def gpu() -> None:
    pictures = torch.rand(64, 3, 480, 480, device="cuda")
    seconds = compare({"eager": lambda: transmission(pictures)}, rounds=30)
    table(
        "Transmission, batches of 64 at 480 x 480",
        ("", "pictures a second"),
        [(name, f"{64 / s:,.0f}") for name, s in seconds.items()],
    )


def main() -> None:
    torch.manual_seed(0)
    if torch.cuda.is_available():
        gpu()
    else:
        cpu()


if __name__ == "__main__":
    main()
