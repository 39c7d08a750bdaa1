"""onnxruntime: one file, no torch."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smokescope.data.files import open_input
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.card import INPUT, OUTPUTS, read_card
from smokescope.inference.engines.exported import ExportedEngine, refuse_device, threads


class OnnxEngine(ExportedEngine):
    """An ONNX file that `smokescope export` wrote.

    Args:
        path: The file.
        device: "auto" or "cpu".

    Raises:
        SmokescopeError: It cannot be read or is something else, or onnxruntime is not installed.
    """

    name = "onnxruntime"

    def __init__(self, path: Path, device: str = "auto") -> None:
        refuse_device(device, path)
        try:
            import onnxruntime
        except ImportError:
            raise SmokescopeError(
                f"{path} needs onnxruntime: install it with pip install 'smokescope[export]'"
            ) from None
        with open_input(path) as stream:
            data = stream.read()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads()
        options.log_severity_level = 4  # what is wrong is ours to say
        try:
            # of bytes, not of a path: a foreign file's references to other files lead nowhere
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # hostile bytes fail in many ways
            raise SmokescopeError(
                f"{path} is not an ONNX model, or is damaged or cut short: get a fresh copy"
            ) from error
        super().__init__(read_card(self._session.get_modelmeta().custom_metadata_map, path))

    def run(self, batch: NDArray[np.uint8]) -> Sequence[NDArray[np.float32]]:
        """Pictures [N, 3, H, W] to maps."""
        return [np.asarray(each, np.float32) for each in self._session.run(list(OUTPUTS), {INPUT: batch})]
