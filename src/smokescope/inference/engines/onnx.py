"""onnxruntime: one file, no torch."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smokescope.data.files import open_input
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.card import OUTPUTS, Card, read_card
from smokescope.inference.engines.exported import ExportedEngine, threads

CHECKSUM = "checksum"
"""The last of a file's metadata: of all bytes before it."""
# By protobuf's rules, what stands before the 64 digits: an entry of field 14 with its key and value.
_ENTRY = bytes([14 << 3 | 2, 76, 1 << 3 | 2, 8]) + CHECKSUM.encode() + bytes([2 << 3 | 2, 64])


def seal(data: bytes) -> bytes:
    """An ONNX file's bytes with their checksum behind them, to readers one more entry of the metadata."""
    return data + _ENTRY + sha256(data).hexdigest().encode()


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
        card = read_card(self._session.get_modelmeta().custom_metadata_map, path)
        if data != seal(data[: -len(seal(b""))]):  # it may compute all the same, and see no smoke
            raise SmokescopeError(f"{path} was damaged or changed after its export: export again")
        return card

    def run(self, inputs: Mapping[str, NDArray[np.generic]]) -> Sequence[NDArray[np.float32]]:
        """Run the graph; see `ExportedEngine`."""
        return [np.asarray(each, np.float32) for each in self._session.run(list(OUTPUTS), dict(inputs))]
