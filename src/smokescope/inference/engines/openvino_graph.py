"""OpenVINO's graphs: for inputs of any size, and copies for one size, which take a tenth less time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smokescope.inference.engines.card import OUTPUTS
from smokescope.inference.engines.exported import threads

if TYPE_CHECKING:
    from openvino import Core, Model

RESIZE = "resize/"
"""How names of products begin that resize, by weights [after, before], rows or columns of pictures."""
# Some processors would otherwise compute in bfloat16, and give another answer than others.
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
"""Shapes of inputs, by name."""


class Graph:
    """A model that is ready to run, by any number of threads.

    Raises:
        RuntimeError: OpenVINO cannot compile it.
    """

    def __init__(self, core: "Core", model: "Model") -> None:
        self._model = core.compile_model(model, "CPU", {**SETTINGS, "INFERENCE_NUM_THREADS": threads()})
        self._idle = [self._model.create_infer_request()]

    def run(self, inputs: Mapping[str, NDArray[np.generic]]) -> Sequence[NDArray[np.float32]]:
        """Inputs by name to the four maps."""
        try:
            request = self._idle.pop()  # a request works on one thing at a time
        except IndexError:
            request = self._model.create_infer_request()
        results = request.infer(dict(inputs))
        maps = [np.array(results[name], np.float32) for name in OUTPUTS]  # copies: the next call reuses them
        self._idle.append(request)
        return maps


def specialise(model: "Model", shapes: Shapes) -> "Model":
    """A copy of a model for inputs of these shapes alone, without resizing where there is nothing to resize.

    It shares the model's weights. What else follows from the shapes, OpenVINO finds when it compiles.
    """
    own = model.clone()
    own.reshape({name: list(shape) for name, shape in shapes})
    for product in own.get_ordered_ops():
        if product.get_friendly_name().startswith(RESIZE):
            weights = next(i for i in (0, 1) if len(product.get_input_shape(i)) == 2)
            after, before = product.get_input_shape(weights)
            if after == before:  # the weights are then the identity
                product.output(0).replace(product.input_value(1 - weights))
    own.validate_nodes_and_infer_types()
    return own
