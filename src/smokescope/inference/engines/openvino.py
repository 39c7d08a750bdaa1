"""OpenVINO: two files, no torch; the fastest on Intel's processors."""

import json
import logging
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smokescope.data.files import open_input
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.card import Card, read_card
from smokescope.inference.engines.exported import ExportedEngine
from smokescope.inference.engines.frequent import Frequent
from smokescope.inference.engines.openvino_graph import Graph, Shapes, specialise

if TYPE_CHECKING:
    from openvino import Core, Model

log = logging.getLogger(__name__)

SECTION = "smokescope"
"""Section of the model's runtime information that holds the metadata, as JSON."""


class OpenVinoEngine(ExportedEngine):
    """An OpenVINO model that `smokescope export` wrote: an .xml file, and beside it its weights, .bin.

    Cameras give one size for ever: sizes that come often get a graph of their own, compiled on the way.
    """

    name = "OpenVINO"

    def _open(self, path: Path) -> Card:
        try:
            import openvino
        except ImportError:
            raise SmokescopeError(
                f"{path} needs OpenVINO: install it with pip install 'smokescope[export]'"
            ) from None
        with open_input(path) as graph, open_input(path.with_suffix(".bin")) as weights:
            xml, data = graph.read(), weights.read()
        damaged = f"{path} is not an OpenVINO model, or is damaged or cut short: get a fresh copy"
        try:
            core = openvino.Core()
            # of bytes, not of a path: whatever becomes of the files, later sizes get the same weights
            model = core.read_model(xml, openvino.Tensor(np.frombuffer(data, np.uint8)))
            told = model.get_rt_info(SECTION).astype(str) if model.has_rt_info(SECTION) else "{}"
            metadata = dict(json.loads(told))
        except Exception as error:  # hostile bytes fail in many ways
            raise SmokescopeError(damaged) from error
        card = read_card(metadata, path)
        if metadata.get("bin") != sha256(data).hexdigest():
            raise SmokescopeError(f"{path} and the .bin file beside it do not belong together: export again")
        try:
            self._any = Graph(core, model)
        except RuntimeError as error:
            raise SmokescopeError(damaged) from error
        self._frequent = Frequent[Shapes, Graph](lambda shapes: self._specialised(core, model, shapes))
        return card

    def run(self, inputs: Mapping[str, NDArray[np.generic]]) -> Sequence[NDArray[np.float32]]:
        """Run the graph; see `ExportedEngine`."""
        shapes = tuple((name, values.shape) for name, values in inputs.items())
        return (self._frequent.get(shapes) or self._any).run(inputs)

    def _specialised(self, core: "Core", model: "Model", shapes: Shapes) -> Graph:
        try:
            return Graph(core, specialise(model, shapes))
        except RuntimeError as error:  # slower is better than not at all
            log.warning("OpenVINO runs input shapes %s without a faster graph: %s", dict(shapes), error)
            return self._any
