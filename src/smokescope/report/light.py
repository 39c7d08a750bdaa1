"""A map over its picture: the picture grey and dimmed, and the map as light added to it.

Nothing is ever darker because of a map's value, and a value of 0 adds nothing. A map laid over its picture
like paint would darken a bright sky where its values are low, and that looks like smoke which is not there.

    lit(picture, prediction.total / LN2, TOTAL)  # H x W x 3, uint8
"""

import numpy as np
from numpy.typing import NDArray

from smokescope.report.colours import ColourMap

DIMMED = 0.4  # of its brightness is left to the picture
GREY = (0.2126, 0.7152, 0.0722)  # weights of red, green and blue, those of CSS's `grayscale`


def light(colours: ColourMap) -> NDArray[np.uint8]:
    """What a map adds at the values 0 to 1: 256 x 3 sRGB values, none at 0 and its own last colour at 1.

    The root keeps low values visible.
    """
    share = np.sqrt(np.linspace(0.0, 1.0, 256))[:, None]
    added: NDArray[np.uint8] = np.rint(colours.table * share).astype(np.uint8)
    return added


def lit(picture: NDArray[np.uint8], values: NDArray[np.floating], colours: ColourMap) -> NDArray[np.uint8]:
    """Draw a map over its picture, as the page of `predict` does with CSS.

    Args:
        picture: H x W x 3.
        values: H x W, from 0 to 1; what lies beyond is clipped.
        colours: Colours of the map.

    Returns:
        H x W x 3. Light is added as by two projectors that cannot outshine white (CSS's blend mode `screen`).
    """
    dark = DIMMED * (picture @ np.array(GREY))[..., None] / 255
    added = light(colours)[np.rint(np.clip(values, 0.0, 1.0) * 255).astype(np.uint8)] / 255
    drawn: NDArray[np.uint8] = np.rint(255 * (1 - (1 - dark) * (1 - added))).astype(np.uint8)
    return drawn
