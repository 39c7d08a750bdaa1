"""onnxruntime: one file, no torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smokescope.data.files import open_input
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.card import OUTPUTS, Card, read_card
from smokescope.inference.engines.exported import ExportedEngine, threads


class OnnxEngine(ExportedEngine):
    """An ONNX file that `smokescope export` wrote."""

    name = "onnxruntime"

    def _open(self, path: Path) -> Card:
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
        return read_card(self._session.get_modelmeta().custom_metadata_map, path)

    def run(self, inputs: Mapping[str, NDArray[np.generic]]) -> Sequence[NDArray[np.float32]]:
        """Run the graph; see `ExportedEngine`."""
        return [np.asarray(each, np.float32) for each in self._session.run(list(OUTPUTS), dict(inputs))]
