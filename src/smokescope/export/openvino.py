"""An ONNX file of ours as an OpenVINO model.

OpenVINO reads ONNX, but its antialiased "linear_onnx" resizing is not ONNX's: maps were off by up to 0.03.
Its "bilinear_pillow" is the right filter, but takes seconds for the first picture of each size. So two
products of matrices take that place, rows and columns apart, with weights computed in the graph. They also
enlarge the network's own maps of a channel or two, which OpenVINO's resizing takes four times as long for.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from smokescope.errors import SmokescopeError
from smokescope.export.onnx import need
from smokescope.inference.engines.onnx import CHECKSUM
from smokescope.inference.engines.openvino import SECTION
from smokescope.inference.engines.openvino_graph import RESIZE
from smokescope.settings.input import InputSettings
from smokescope.settings.plain import from_plain

if TYPE_CHECKING:
    from openvino import Model, Node

NARROW = 2  # channels; by products, 15 of 604 ms are saved
LARGEST = 1600  # pixels a side of the network's input, beyond which sizes no longer fit OpenVINO's 31 bits


class OpenVinoFiles(NamedTuple):
    """The two files of a model."""

    xml: bytes
    bin: bytes


def to_openvino(onnx: bytes, quantise: Callable[[Model], Model] | None = None) -> OpenVinoFiles:
    """Turn an ONNX file of `smokescope.export.onnx.trace` into OpenVINO's two files.

    Args:
        onnx: The file's bytes. The model says of itself what they do, and the .bin file's checksum.
        quantise: Brings it to 8 bits; without, it stays in float32.

    Raises:
        SmokescopeError: OpenVINO is not installed, or the model's input is too large for OpenVINO.
    """
    need("onnx", "openvino")
    from onnx import load_model_from_string

    metadata = {each.key: each.value for each in load_model_from_string(onnx).metadata_props}
    del metadata[CHECKSUM]  # of the ONNX file
    input = from_plain(InputSettings, json.loads(metadata["input"]))
    if input.fit == "aspect" and input.height * input.width > LARGEST**2:
        raise SmokescopeError(
            f"OpenVINO accepts network inputs of up to {LARGEST} x {LARGEST} pixels: export as ONNX"
        )
    model = _read(onnx)
    if quantise is not None:
        model, metadata["precision"] = quantise(model), "int8"
    return _saved(model, metadata)


def _read(onnx: bytes) -> Model:
    """OpenVINO's own reading of a file, with our resizing in place of its own."""
    import openvino
    from openvino.utils import replace_node

    model = openvino.Core().read_model(onnx)
    for node in model.get_ops():
        if node.get_type_name() == "Interpolate" and (_antialiases(node) or _is_narrow(node)):
            replace_node(node, _resize(node))
    model.validate_nodes_and_infer_types()
    return model


def _antialiases(interpolate: Node) -> bool:
    return bool(interpolate.get_attributes()["antialias"])


def _is_narrow(interpolate: Node) -> bool:
    channels = interpolate.get_output_partial_shape(0)[1]
    return bool(channels.is_static and channels.get_length() <= NARROW)


def _saved(model: Model, metadata: Mapping[str, str]) -> OpenVinoFiles:
    import openvino

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        openvino.save_model(model, path, compress_to_fp16=False)
        weights = path.with_suffix(".bin").read_bytes()
        model.set_rt_info(json.dumps({**metadata, "bin": sha256(weights).hexdigest()}), SECTION)
        openvino.save_model(model, path, compress_to_fp16=False)
        return OpenVinoFiles(path.read_bytes(), path.with_suffix(".bin").read_bytes())


def _resize(interpolate: Node) -> Node:
    """Resize [N, C, H, W] as the node does, with antialiasing, which makes no difference in enlarging."""
    from openvino import opset13 as ops

    pixels, name = interpolate.input_value(0), interpolate.get_friendly_name()
    before = ops.shape_of(pixels, "i32")
    after = ops.convert(interpolate.input_value(1), "i32")
    rows, columns = (_weights(_item(before, axis), _item(after, axis)) for axis in (2, 3))
    higher = ops.matmul(rows, pixels, False, False, name=f"{RESIZE}{name}/rows")
    return ops.matmul(higher, columns, False, True, name=f"{RESIZE}{name}/columns")


def _weights(before: Node, after: Node) -> Node:
    """Weights [after, before] of antialiased bilinear resizing along an axis, as PyTorch has them.

    Output pixel i has its centre at (i + 1/2) s of the input, s = before / after, and sees pixel j by
    max(0, 1 - |j + 1/2 - (i + 1/2) s| / max(s, 1)), over the sum. In whole numbers that is
    |(2 j + 1) after - (2 i + 1) before| / (2 max(before, after)), which is exact until it is divided.
    """
    from openvino import opset13 as ops

    def odd(count: Node, axis: int) -> Node:
        zero, one, two = (np.array(value, np.int32) for value in (0, 1, 2))
        numbers = ops.add(ops.multiply(ops.range(zero, count, one, "i32"), two), one)
        return ops.unsqueeze(numbers, np.array(axis))

    distance = ops.abs(ops.subtract(ops.multiply(odd(before, 0), after), ops.multiply(odd(after, 1), before)))
    reach = ops.multiply(ops.maximum(before, after), np.array(2, np.int32))
    share = ops.divide(ops.convert(distance, "f32"), ops.convert(reach, "f32"))
    weights = ops.relu(ops.subtract(np.array(1, np.float32), share))
    return ops.divide(weights, ops.reduce_sum(weights, np.array(1), keep_dims=True))


def _item(sizes: Node, axis: int) -> Node:
    from openvino import opset13 as ops

    return ops.gather(sizes, np.array(axis), np.array(0))
