"""What engines take and give."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""RGB, H x W x 3."""


class Maps(NamedTuple):
    """The four maps of N pictures of one size, float32 [N, H, W] each; uncertainties in nats."""

    probability: NDArray[np.float32]
    total: NDArray[np.float32]
    aleatoric: NDArray[np.float32]
    epistemic: NDArray[np.float32]
