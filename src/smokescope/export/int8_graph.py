"""A graph made ready for 8 bits: it computes what it did, but of numbers that survive rounding.

Most of it is about the first layers, which see thin smoke as a little less contrast; behind them hardly
anything is lost. `benchmarks/RESULTS.md` has what each step is worth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from smokescope.checkpoints.quantise import LEVELS, dequantise_weight, quantise_weight
from smokescope.inference.engines.maps import Pixels
from smokescope.inference.engines.openvino_graph import SETTINGS

if TYPE_CHECKING:
    from openvino import Model, Node, Output

FIRST = r"network\.encoder\.bn1/.*"
"""Names the first convolution."""
UNEVEN = (FIRST, r"network\.encoder\.layer1\.0\.bn1/.*", r"network\.encoder\.layer1\.0\.bn2/.*")
"""Names the convolutions whose channels differ the most."""
GREY = 128 / 255
"""What the first convolution reads as 0."""
LEAST = 0.01
"""Least reach that a channel counts as having, as a share of the widest channel's."""


def read_levels(model: Model) -> None:
    """Let the first convolution read colours less one grey, so that a step can be a level of every colour.

    It read colours less each one's mean, over each one's deviation. Kernels take over the latter, and its
    bias what is left of the former. Borders must be of the mean colour still, and so come before the grey.
    """
    from openvino import opset13 as ops

    first = _find(model, FIRST)
    divide = first.input_value(0).get_node()
    subtract = divide.input_value(0).get_node()
    mean, deviation = (node.input_value(1).get_node().data for node in (subtract, divide))
    grey = np.float32(GREY) - mean
    kernels = _kernels(first) / deviation
    _set_kernels(first, kernels)
    _set_bias(first, _bias(first) + (kernels * grey).sum((1, 2, 3)))
    asked = first.get_attributes()
    before, after = (np.array([0, 0, *asked[key]]) for key in ("pads_begin", "pads_end"))
    bordered = ops.pad(subtract, before, after, "constant", np.float32(0))
    first.input(0).replace_source_output(ops.subtract(bordered, ops.constant(grey)).output(0))
    for key in ("pads_begin", "pads_end"):
        first.set_attribute(key, [0, 0])


def step_by_levels(model: Model) -> None:
    """Set the range of what a quantised model's first convolution reads: its steps are a colour's levels."""
    from openvino import opset13 as ops

    rounding = _find(model, FIRST).input_value(0).get_node()
    if rounding.get_type_name() != "FakeQuantize":  # it was kept in float32
        return
    for number, end in enumerate((-GREY, 1 - GREY, -GREY, 1 - GREY), start=1):
        rounding.input(number).replace_source_output(ops.constant(np.float32(end)).output(0))


def even_out(model: Model, calibration: Sequence[Pixels], outliers: float) -> None:
    """Bring channels that share one range closer together; what reads them undoes it.

    Channels of edges reach ten times as far as those of colour, in which smoke is seen, and all have the same
    steps. Each is divided by the root of what it reaches: half the way, since the readers' kernels, which are
    multiplied by it, have one range as well.

    Args:
        model: Changed in place.
        calibration: Pictures.
        outliers: Share of a channel's values that may lie beyond what it is said to reach.
    """
    convolutions = [_find(model, name) for name in UNEVEN]
    outputs = [_activated(each) for each in convolutions]
    reaches = _reach(model, outputs, calibration, outliers)
    for convolution, given, reach in zip(convolutions, outputs, reaches, strict=True):
        scale = np.maximum(reach, LEAST * reach.max()) ** np.float32(-0.5)
        scale /= np.median(scale)
        _set_kernels(convolution, _kernels(convolution) * scale.reshape(-1, 1, 1, 1))
        _set_bias(convolution, _bias(convolution) * scale)
        for reader in filter(_is_convolution, (each.get_node() for each in given.get_target_inputs())):
            _set_kernels(reader, _kernels(reader) / scale.reshape(1, -1, 1, 1))


def round_kernels(model: Model, kept: Sequence[str]) -> None:
    """Round convolutions' weights in place, each kernel's sum kept, to numbers that NNCF then finds again."""
    for node in model.get_ops():
        if not _is_convolution(node) or any(_is_convolution(node, each) for each in kept):
            continue
        if node.input_value(1).get_node().get_type_name() != "Constant":  # z's and f4's shares of one weight
            continue
        # NNCF gives the first one half of the range: processors without VNNI would add up too much
        levels = LEVELS // 2 if _is_convolution(node, FIRST) else LEVELS
        values, scale = quantise_weight(torch.from_numpy(_kernels(node).copy()), levels)
        _set_kernels(node, dequantise_weight(values, scale).numpy())


def _find(model: Model, name: str) -> Node:
    """The one convolution of a name, which is a regular expression."""
    (found,) = (node for node in model.get_ops() if _is_convolution(node, name))
    return found


def _is_convolution(node: Node, name: str = ".*") -> bool:
    return node.get_type_name() == "Convolution" and bool(re.fullmatch(name, node.get_friendly_name()))


def _kernels(convolution: Node) -> NDArray[np.float32]:
    kernels: NDArray[np.float32] = convolution.input_value(1).get_node().data
    return kernels


def _set_kernels(convolution: Node, kernels: NDArray[np.float32]) -> None:
    from openvino import opset13 as ops

    convolution.input(1).replace_source_output(ops.constant(kernels).output(0))


def _bias(convolution: Node) -> NDArray[np.float32]:
    node = _biased(convolution).input_value(1).get_node()
    while node.get_type_name() != "Constant":  # it is brought into shape in between
        node = node.input_value(0).get_node()
    bias: NDArray[np.float32] = node.data.ravel()
    return bias


def _set_bias(convolution: Node, bias: NDArray[np.float32]) -> None:
    from openvino import opset13 as ops

    constant = ops.constant(bias.reshape(1, -1, 1, 1))
    _biased(convolution).input(1).replace_source_output(constant.output(0))


def _biased(convolution: Node) -> Node:
    """A convolution's sum with its bias, which is made where there is none: untrained networks have zeros."""
    from openvino import opset13 as ops

    readers = list(convolution.output(0).get_target_inputs())
    for reader in readers:
        if reader.get_node().get_type_name() == "Add":
            return reader.get_node()
    zeros = np.zeros((1, len(_kernels(convolution)), 1, 1), np.float32)
    add = ops.add(convolution, ops.constant(zeros))
    for reader in readers:
        reader.replace_source_output(add.output(0))
    return add


def _activated(convolution: Node) -> Output:
    """What convolutions read of another one: behind bias, ReLU and, of the first one, the pooling."""
    (relu,) = _biased(convolution).output(0).get_target_inputs()
    output = relu.get_node().output(0)
    reader = next(iter(output.get_target_inputs())).get_node()
    return reader.output(0) if reader.get_type_name() == "MaxPool" else output


def _reach(
    model: Model, outputs: Sequence[Output], pictures: Sequence[Pixels], outliers: float
) -> list[NDArray[np.float32]]:
    """What each channel of outputs inside a model reaches, but for a few values of each picture."""
    import openvino

    part = openvino.Model(list(outputs), model.get_parameters())
    compiled = openvino.Core().compile_model(part, "CPU", SETTINGS)
    reached: list[list[NDArray[np.float32]]] = [[] for _ in outputs]
    for picture in pictures:
        for channels, values in zip(reached, compiled([as_batch(picture)]).values(), strict=True):
            channels.append(np.quantile(values[0].reshape(values.shape[1], -1), 1 - outliers, axis=1))
    return [np.max(channels, axis=0).astype(np.float32) for channels in reached]


def as_batch(picture: Pixels) -> Pixels:
    """A picture [H, W, 3] as a model's graph takes it."""
    return np.ascontiguousarray(picture.transpose(2, 0, 1)[None])
