"""A model whose answer anybody can foresee: bright is smoke, green and blue are doubt."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from smokescope.inference import Segmenter
from smokescope.inference.engines.torch import TorchEngine
from smokescope.models import InputSettings, Pipeline, UNet, VerdictSettings
from smokescope.uncertainty import LN2, Decomposition
from tests.models.small import TINY

VERDICTS = VerdictSettings(unsure_above=0.3, smoke_above=0.6, epistemic_above=0.2, least_area=0.001)


class Bright(Pipeline):
    """Red is the probability, a half of green aleatoric, a half of blue epistemic uncertainty."""

    def forward(self, pictures: Tensor) -> Decomposition:
        red, green, blue = pictures.float().div(255).chunk(3, 1)
        aleatoric, epistemic = green * LN2 / 2, blue * LN2 / 2
        return Decomposition(red, aleatoric + epistemic, aleatoric, epistemic)


def bright() -> Segmenter:
    """A segmenter with that model, on the CPU."""
    pipeline = Bright(UNet(TINY), InputSettings(height=480, width=640), verdicts=VERDICTS)
    return Segmenter(TorchEngine(pipeline, "cpu"))


def hill(red: int = 0, height: int = 60, width: int = 80) -> NDArray[np.uint8]:
    """A dark picture with a patch of so much red from (20, 10) to (40, 20)."""
    picture = np.full((height, width, 3), 10, np.uint8)
    picture[10:20, 20:40, 0] = red
    return picture
