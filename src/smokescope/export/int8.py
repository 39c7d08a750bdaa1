"""An OpenVINO model that computes in 8 bits, by NNCF's quantisation after training.

Weights get a scale for each output channel; what flows between layers gets one for each layer, from what
calibration pictures bring about. `benchmarks/quantisation.py` measures what is lost by it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from smokescope.export.int8_graph import as_batch, even_out, read_levels, round_kernels, step_by_levels
from smokescope.export.onnx import need, quietly
from smokescope.inference.engines.maps import Pixels

if TYPE_CHECKING:
    from openvino import Model

KEPT = (  # regular expressions for the names of nodes; benchmarks/RESULTS.md has the measurements
    # both ends of the uncertainty net, which read and give small numbers; with what lies between them in
    # 8 bits, r of the epistemic map was 0.987 and not 0.988
    r"network\.uncertainty(/|\.(encoder\.0|total\.head|aleatoric\.head)[./]).*",
)
"""What stays in float32."""
KEPT_TYPES = (
    "MatMul",  # that resize at either end: with those in 8 bits, r of a map was as low as 0.03
    "Subtract",  # total less aleatoric: rounded, the small difference was off by 0.0026
)
OUTLIERS = 1e-4
"""Share of the values flowing out of a layer that may lie above its range: a few large ones would make the
steps coarse for all."""


def need_nncf() -> None:
    """Make sure that NNCF is there, and that it does not report its use to its makers; before it is imported.

    Raises:
        SmokescopeError: It is not installed.
    """
    need("nncf")
    os.environ.setdefault("NNCF_CI", "1")


def quantise(model: Model, calibration: Sequence[Pixels], kept: Sequence[str] = KEPT) -> Model:
    """Quantise a model; the one given is left as it is.

    Args:
        model: Whose nodes have the names that `smokescope.export.onnx.trace` gives them.
        calibration: Pictures.
        kept: Regular expressions for the names of nodes that stay in float32.

    Raises:
        SmokescopeError: NNCF is not installed.
    """
    need_nncf()
    import nncf
    from nncf.quantization.range_estimator import (
        AggregatorType,
        RangeEstimatorParameters,
        StatisticsCollectorParameters,
        StatisticsType,
    )

    model = model.clone()
    read_levels(model)
    even_out(model, calibration, OUTLIERS)
    round_kernels(model, kept)
    ranges = RangeEstimatorParameters(
        min=StatisticsCollectorParameters(StatisticsType.MIN, AggregatorType.MIN),
        max=StatisticsCollectorParameters(
            StatisticsType.QUANTILE, AggregatorType.MAX, quantile_outlier_prob=OUTLIERS
        ),
    )
    with quietly():
        quantised: Model = nncf.quantize(
            model,
            nncf.Dataset(calibration, as_batch),
            subset_size=len(calibration),
            ignored_scope=nncf.IgnoredScope(patterns=list(kept), types=list(KEPT_TYPES), validate=False),
            advanced_parameters=nncf.AdvancedQuantizationParameters(
                activations_range_estimator_params=ranges
            ),
        )
    step_by_levels(quantised)
    return quantised
