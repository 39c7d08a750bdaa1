"""Maps of a prediction as PNG files: grey on a fixed scale for programs, coloured for people."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smokescope.data.pictures import encode_png, shrink
from smokescope.inference import Prediction
from smokescope.report.overlay import draw_overlay
from smokescope.report.results import QUANTITIES, encode_grey

MapName = Literal["probability", "mask", "total", "aleatoric", "epistemic", "overlay"]


def map_png(
    picture: NDArray[np.uint8], prediction: Prediction, name: MapName, coloured: bool, side: int | None
) -> bytes:
    """One map as a PNG.

    Args:
        picture: H x W x 3, which the overlay is drawn on.
        prediction: What was found in it.
        name: Which map.
        coloured: In the quantity's colours rather than grey; an overlay always is, a mask never.
        side: The longest that the PNG's longer side may be; by default it is as the picture's.
    """
    if name == "overlay":
        drawn = draw_overlay(picture, prediction)
        return encode_png(drawn if side is None else shrink(drawn, side))
    if name == "mask":
        mask = prediction.mask.astype(np.float32)
        return encode_grey(mask if side is None else np.rint(shrink(mask, side)))
    values = _values(prediction, name, side)
    return encode_png(QUANTITIES[name].colours.apply(values)) if coloured else encode_grey(values)


def all_pngs(prediction: Prediction, side: int | None) -> dict[str, bytes]:
    """Every quantity's map as a grey PNG, by its name."""
    return {name: encode_grey(_values(prediction, name, side)) for name in QUANTITIES}


def _values(prediction: Prediction, name: str, side: int | None) -> NDArray[np.float32]:
    """A map in [0, 1], H x W, of the size asked for."""
    values = QUANTITIES[name].shares(getattr(prediction, name))
    return values if side is None else shrink(values, side)
