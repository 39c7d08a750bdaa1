"""OpenVINO: two files, no torch; the fastest on Intel's processors."""

import json
import threading
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smokescope.data.files import open_input
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.card import OUTPUTS, Card, read_card
from smokescope.inference.engines.exported import ExportedEngine, threads

SECTION = "smokescope"
"""Of the model's runtime information, where the metadata is, as JSON."""
# Some processors would otherwise compute in bfloat16, and give another answer than others.
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}


class OpenVinoEngine(ExportedEngine):
    """An OpenVINO model that `smokescope export` wrote: an .xml file, and beside it its weights, .bin."""

    name = "OpenVINO"

    def _open(self, path: Path) -> Card:
        try:
            import openvino
        except ImportError:
            raise SmokescopeError(
                f"{path} needs OpenVINO: install it with pip install 'smokescope[export]'"
            ) from None
        with open_input(path) as graph, open_input(path.with_suffix(".bin")) as weights:
            graph.read(1)
            digest = sha256(weights.read()).hexdigest()
        damaged = f"{path} is not an OpenVINO model, or is damaged or cut short: get a fresh copy"
        try:
            core = openvino.Core()
            model = core.read_model(path)
            metadata = (
                json.loads(model.get_rt_info(SECTION).astype(str)) if model.has_rt_info(SECTION) else {}
            )
        except Exception as error:  # hostile bytes fail in many ways
            raise SmokescopeError(damaged) from error
        card = read_card(metadata, path)
        if metadata.get("bin") != digest:
            raise SmokescopeError(f"{path} and the .bin file beside it do not belong together: export again")
        try:
            self._model = core.compile_model(model, "CPU", {**SETTINGS, "INFERENCE_NUM_THREADS": threads()})
        except RuntimeError as error:
            raise SmokescopeError(damaged) from error
        self._requests = threading.local()  # one for each thread: a request works on one thing at a time
        return card

    def run(self, inputs: Mapping[str, NDArray[np.generic]]) -> Sequence[NDArray[np.float32]]:
        """Run the graph; see `ExportedEngine`."""
        if not hasattr(self._requests, "own"):
            self._requests.own = self._model.create_infer_request()
        results = self._requests.own.infer(dict(inputs))
        return [np.array(results[name], np.float32) for name in OUTPUTS]  # copies: the next call reuses them
