"""An OpenVINO model that computes in 8 bits, by NNCF's quantisation after training.

Weights get a scale for each output channel; what flows between layers gets one for each layer, from what
calibration pictures bring about. `benchmarks/quantisation.py` measures what is lost by it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from smokescope.checkpoints.quantise import dequantise_weight, quantise_weight
from smokescope.export.onnx import need, quietly
from smokescope.inference.engines.base import Pixels

if TYPE_CHECKING:
    from openvino import Model

KEPT = (  # regular expressions for the names of nodes; benchmarks/RESULTS.md has the measurements
    # the first convolution: thin smoke is a few levels of grey
    r"network\.encoder\.bn1/.*",
    # the first block, which reads what that gives: with both in 8 bits, r of the epistemic map was 0.965
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
OUTLIERS = 1e-4
"""Share of the values flowing out of a layer that may lie above its range: a few large ones would make the
steps coarse for all."""


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
    from nncf.quantization.range_estimator import (
        AggregatorType,
        RangeEstimatorParameters,
        StatisticsCollectorParameters,
        StatisticsType,
    )

    model = model.clone()
    _round_kernels(model, kept)
    ranges = RangeEstimatorParameters(
        min=StatisticsCollectorParameters(StatisticsType.MIN, AggregatorType.MIN),
        max=StatisticsCollectorParameters(
            StatisticsType.QUANTILE, AggregatorType.MAX, quantile_outlier_prob=OUTLIERS
        ),
    )
    with quietly():
        return nncf.quantize(
            model,
            nncf.Dataset(calibration, _as_batch),
            subset_size=len(calibration),
            ignored_scope=nncf.IgnoredScope(patterns=list(kept), types=list(KEPT_TYPES), validate=False),
            advanced_parameters=nncf.AdvancedQuantizationParameters(
                activations_range_estimator_params=ranges
            ),
        )


def _round_kernels(model: Model, kept: Sequence[str]) -> None:
    """Round convolutions' weights in place, each kernel's sum kept, to numbers that NNCF then finds again."""
    from openvino import opset13

    for node in model.get_ops():
        name = node.get_friendly_name()
        if node.get_type_name() != "Convolution" or any(re.fullmatch(each, name) for each in kept):
            continue
        constant = node.input_value(1).get_node()
        if constant.get_type_name() != "Constant":  # z's and f4's shares of one weight
            continue
        values, scale = quantise_weight(torch.from_numpy(constant.data.copy()))
        rounded = opset13.constant(dequantise_weight(values, scale).numpy())
        node.input(1).replace_source_output(rounded.output(0))


def _as_batch(picture: Pixels) -> Pixels:
    return np.ascontiguousarray(picture.transpose(2, 0, 1)[None])
