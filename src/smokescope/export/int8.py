"""An OpenVINO model that computes in 8 bits, by NNCF's quantisation after training.

Weights get a scale for each output channel; what flows between layers gets one for each layer, from what
calibration pictures bring about. `benchmarks/quantisation.py` measures what is lost by it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from smokescope.export.onnx import need, quietly
from smokescope.inference.engines.base import Pixels

if TYPE_CHECKING:
    from openvino import Model

KEPT = (  # regular expressions for the names of nodes; benchmarks/RESULTS.md has the measurements
    # the first convolution: thin smoke is a few levels of grey; in 8 bits it cost 0.013 of F mean
    r"network\.encoder\.bn1/.*",
    # the first block, which reads what that gives: with it in 8 bits, r of the epistemic map was 0.94 and not
    # 0.99; without the blocks after it, 0.988 and not 0.994
    r"network\.encoder\.layer1\.0[./].*",
    # both ends of the uncertainty net, which read and give small numbers; with what lies between them in
    # 8 bits, r of the epistemic map was 0.987 and not 0.988
    r"network\.uncertainty(/|\.(encoder\.0|total\.head|aleatoric\.head)[./]).*",
)
"""What stays in float32."""
KEPT_TYPES = (
    "MatMul",  # that resize at either end: with those in 8 bits, r of a map was as low as 0.03
    "Subtract",  # total less aleatoric: rounded, the small difference was off by 0.0026
)


def quantise(model: Model, calibration: Sequence[Pixels], kept: Sequence[str] = KEPT) -> Model:
    """Quantise a model; the one given is left as it is.

    Args:
        model: Whose nodes have the names that `smokescope.export.onnx.trace` gives them.
        calibration: Pictures.
        kept: Regular expressions for the names of nodes that stay in float32.

    Raises:
        SmokescopeError: NNCF is not installed.
    """
    need("nncf")
    os.environ.setdefault("NNCF_CI", "1")  # it would otherwise report its use to its makers
    import nncf

    with quietly():
        return nncf.quantize(
            model,
            nncf.Dataset(calibration, _as_batch),
            subset_size=len(calibration),
            ignored_scope=nncf.IgnoredScope(patterns=list(kept), types=list(KEPT_TYPES), validate=False),
        )


def _as_batch(picture: Pixels) -> Pixels:
    return np.ascontiguousarray(picture.transpose(2, 0, 1)[None])
