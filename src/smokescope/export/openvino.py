"""An ONNX file of ours as an OpenVINO model.

OpenVINO reads ONNX, but its antialiased "linear_onnx" resizing is not ONNX's: maps were off by up to 0.03.
Its "bilinear_pillow" is the same triangle filter as PyTorch's, and equal to rounding; so it takes that place.
"""

import json
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np

from smokescope.errors import SmokescopeError
from smokescope.export.onnx import need
from smokescope.inference.engines.openvino import SECTION
from smokescope.settings.input import InputSettings

LARGEST = 1600  # pixels a side of the network's input, beyond which sizes no longer fit OpenVINO's 31 bits


class OpenVinoFiles(NamedTuple):
    """The two files of a model."""

    xml: bytes
    bin: bytes


def to_openvino(onnx: bytes, metadata: Mapping[str, str], input: InputSettings) -> OpenVinoFiles:
    """Turn an ONNX file of `to_onnx` into OpenVINO's two files, weights in float32.

    Args:
        onnx: The file's bytes.
        metadata: What the model should say of itself; the .bin file's checksum joins it.
        input: Of the model.

    Raises:
        SmokescopeError: OpenVINO is not installed, or the model's input is too large for it.
    """
    need("openvino")
    if input.fit == "aspect" and input.height * input.width > LARGEST**2:
        raise SmokescopeError(f"OpenVINO takes inputs of up to {LARGEST} x {LARGEST} pixels: export as ONNX")
    import openvino
    from openvino import opset13
    from openvino.utils import replace_node

    model = openvino.Core().read_model(onnx)
    for node in model.get_ops():
        if node.get_type_name() == "Interpolate" and node.get_attributes()["antialias"]:
            pixels, sizes = node.input_value(0), node.input_value(1)
            axes = np.array([2, 3])
            size = opset13.gather(sizes, axes, np.array(0))
            replace_node(node, opset13.interpolate(pixels, size, "bilinear_pillow", "sizes", axes=axes))
    model.validate_nodes_and_infer_types()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        openvino.save_model(model, path, compress_to_fp16=False)
        weights = path.with_suffix(".bin").read_bytes()
        model.set_rt_info(json.dumps({**metadata, "bin": sha256(weights).hexdigest()}), SECTION)
        openvino.save_model(model, path, compress_to_fp16=False)
        return OpenVinoFiles(path.read_bytes(), path.with_suffix(".bin").read_bytes())
