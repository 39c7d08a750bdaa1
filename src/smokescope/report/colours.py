"""One colour map per quantity, the same on the page, in the report and in figures.

Each map is a path through OKLab, a space in which equal distances look equally different
(Ottosson 2020, https://bottosson.github.io/posts/oklab/). It is walked in steps of equal length, and its
lightness never turns back: the map is perceptually even by construction, and
somebody who sees no hue, or a grey print, still reads the value. The hue only says which quantity it is.

Bright always means "look here": smoke, doubt, or, for transmission, air that light does not get through.

    PROBABILITY.apply(np.array([[0.0, 0.5, 1.0]]))  # 1 x 3 x 3, uint8
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# Linear sRGB -> cone responses -> OKLab, from the page above.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)

PAPER, INK, FAINT = (255, 255, 255), (32, 32, 32), (96, 96, 96)  # of what is drawn, as of pages in light

Colour = tuple[float, float, float]
"""OKLab's lightness (0 to 1), chroma, and hue in degrees."""


@dataclass(frozen=True)
class ColourMap:
    """Colours for the values 0 to 1: a cubic Bezier curve through OKLab, walked at an even pace.

    Attributes:
        name: The quantity.
        first: The colour of 0.
        second: The colour that the curve sets out towards.
        third: The colour that the curve arrives from.
        last: The colour of 1.
    """

    name: str
    first: Colour
    second: Colour
    third: Colour
    last: Colour

    @cached_property
    def table(self) -> NDArray[np.uint8]:
        """The map as 256 x 3 sRGB values, the first for 0 and the last for 1."""
        return np.rint(oklab_to_srgb(self.path(256)) * 255).astype(np.uint8)

    def path(self, count: int) -> NDArray[np.float64]:
        """`count` x 3 OKLab colours at equal distances along the curve."""
        lightness, chroma, hue = np.array([self.first, self.second, self.third, self.last]).T
        a, b = chroma * np.cos(np.radians(hue)), chroma * np.sin(np.radians(hue))
        t = np.linspace(0.0, 1.0, 10_001)
        weights = np.stack([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3], axis=1)
        curve = weights @ np.stack([lightness, a, b], axis=1)
        travelled = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
        stops = np.linspace(0.0, travelled[-1], count)
        return np.stack([np.interp(stops, travelled, axis) for axis in curve.T], axis=1)

    def apply(self, values: NDArray[np.floating]) -> NDArray[np.uint8]:
        """Colour an array of any shape: shape -> shape x 3. Values beyond [0, 1] are clipped.

        Raises:
            ValueError: A value is NaN, which has no colour.
        """
        if np.isnan(values).any():
            raise ValueError(f"a {self.name} value is NaN")
        coloured: NDArray[np.uint8] = self.table[np.rint(np.clip(values, 0.0, 1.0) * 255).astype(np.uint8)]
        return coloured


def srgb_to_oklab(colours: NDArray[np.floating]) -> NDArray[np.float64]:
    """Convert ... x 3 sRGB values in [0, 1] to OKLab."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    lab: NDArray[np.float64] = np.cbrt(linear @ _CONES.T) @ _LAB.T
    return lab


def oklab_to_srgb(colours: NDArray[np.floating]) -> NDArray[np.float64]:
    """Convert ... x 3 OKLab colours to sRGB; what sRGB cannot show is clipped to [0, 1]."""
    linear = np.clip((colours @ np.linalg.inv(_LAB).T) ** 3 @ np.linalg.inv(_CONES).T, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


# The lightness of each is evenly spaced. Curves stay inside sRGB, which a test holds them to; the middle two
# colours pull at their curve without being on it, and may lie outside.
TRANSMISSION = ColourMap(
    "transmission", (0.95, 0.02, 225), (0.69, 0.13, 230), (0.43, 0.12, 255), (0.17, 0.05, 270)
)
PROBABILITY = ColourMap(
    "probability", (0.17, 0.03, 30), (0.43, 0.15, 36), (0.69, 0.20, 58), (0.95, 0.09, 100)
)
TOTAL = ColourMap("total", (0.17, 0.05, 300), (0.43, 0.21, 300), (0.69, 0.23, 312), (0.95, 0.03, 320))
ALEATORIC = ColourMap("aleatoric", (0.17, 0.02, 160), (0.43, 0.09, 160), (0.69, 0.20, 155), (0.95, 0.08, 130))
EPISTEMIC = ColourMap("epistemic", (0.17, 0.05, 8), (0.43, 0.19, 8), (0.69, 0.18, 6), (0.95, 0.025, 5))
