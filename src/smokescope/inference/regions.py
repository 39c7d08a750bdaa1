"""Where the smoke is: connected areas, each with its figures, its outline and a plain verdict.

A region is where the probability stays above the lower of two thresholds. It is called smoke if it also
holds enough of what is above the higher one, and the model knows its like; otherwise a person should look.
"""

import math
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from smokescope.settings.verdicts import VerdictSettings

Verdict = Literal["smoke", "unsure", "nothing"]

Point = tuple[int, int]
"""x and y, in pixels."""

ROUGHNESS = 0.02  # of the root of the area: by how much a polygon may leave the outline


@dataclass(frozen=True, kw_only=True)
class Region:
    """A connected area that may be smoke.

    Attributes:
        verdict: "smoke", or "unsure": a person should look.
        box: Bounds x0, y0, x1, y1 in pixels; x1 and y1 are just outside.
        area: Area in pixels.
        share: Share of the picture, in [0, 1].
        probability: Mean over the region.
        peak: The probability that `least_area` of the picture reaches here: the highest but for a few pixels.
        total: Mean total uncertainty, nats.
        aleatoric: Mean aleatoric uncertainty, nats.
        epistemic: Mean epistemic uncertainty, nats.
        doubt: Mean epistemic uncertainty where the probability reaches the peak: how unsure the model is of
            its best evidence. A region's border is always in doubt, and says nothing about its inside.
        polygon: The outer border, simplified; holes are not cut out. At least three points.
    """

    verdict: Literal["smoke", "unsure"]
    box: tuple[int, int, int, int]
    area: int
    share: float
    probability: float
    peak: float
    total: float
    aleatoric: float
    epistemic: float
    doubt: float
    polygon: list[Point]

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON, under the names above."""
        figures = ("share", "probability", "peak", "total", "aleatoric", "epistemic", "doubt")
        return {
            "verdict": self.verdict,
            "box": list(self.box),
            "area": self.area,
            **{name: round(getattr(self, name), 6) for name in figures},
            "polygon": [list(point) for point in self.polygon],
        }


def find_regions(
    probability: NDArray[np.float32],
    total: NDArray[np.float32],
    aleatoric: NDArray[np.float32],
    epistemic: NDArray[np.float32],
    settings: VerdictSettings,
) -> list[Region]:
    """Find what may be smoke, from maps H x W.

    Returns:
        Smoke first, and among equals the most evidence first: that is the sum of a region's probabilities,
        the pixels of smoke to expect in it.
    """
    least = least_pixels(probability.size, settings)
    above = (probability > settings.unsure_above).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(above, connectivity=8)
    regions = []
    for label, (x, y, width, height, area) in enumerate(np.asarray(stats).tolist()):
        if label == 0 or area < least:  # 0 is all the rest
            continue
        window = slice(y, y + height), slice(x, x + width)
        inside = np.asarray(labels)[window] == label
        chances = probability[window][inside]
        peak = float(np.partition(chances, area - least)[area - least])
        own = epistemic[window][inside]
        doubt = float(own[chances >= peak].mean())
        regions.append(
            Region(
                verdict=_verdict(peak, doubt, settings),
                box=(x, y, x + width, y + height),
                area=area,
                share=area / probability.size,
                probability=float(chances.mean()),
                peak=peak,
                total=float(total[window][inside].mean()),
                aleatoric=float(aleatoric[window][inside].mean()),
                epistemic=float(own.mean()),
                doubt=doubt,
                polygon=_outline(inside, x, y),
            )
        )
    return sorted(regions, key=lambda region: (region.verdict, -region.area * region.probability))


def _verdict(peak: float, doubt: float, settings: VerdictSettings) -> Literal["smoke", "unsure"]:
    return "smoke" if peak > settings.smoke_above and doubt <= settings.epistemic_above else "unsure"


def least_pixels(pixels: int, settings: VerdictSettings) -> int:
    """The smallest region, in pixels, in a picture of so many."""
    # rounded first: 0.07 * 100 is above 7 in floats
    return max(1, math.ceil(round(settings.least_area * pixels, 6)))


def _outline(inside: NDArray[np.bool_], left: int, top: int) -> list[Point]:
    """The border of a connected area in a window whose corner is (left, top)."""
    height, width = inside.shape
    contours, _ = cv2.findContours(
        inside.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE, offset=(left, top)
    )
    tolerance = max(1.0, ROUGHNESS * math.sqrt(np.count_nonzero(inside)))
    simple = np.asarray(cv2.approxPolyDP(contours[0], tolerance, True)).reshape(-1, 2).tolist()
    if len(simple) < 3:  # a thin line encloses nothing: its box does
        right, bottom = left + width, top + height
        return [(left, top), (right, top), (right, bottom), (left, bottom)]
    return [(int(x), int(y)) for x, y in simple]
