"""A pipeline as one ONNX file: uint8 pictures of any size in, the four maps at their size out.

    >>> data = to_onnx(load_model(Path("m.safetensors")), {"sha256": "..."})

Resizing is ONNX's own, antialiased: onnxruntime's results equal PyTorch's to rounding.
"""

from __future__ import annotations

import ast
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from smokescope import __version__
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.card import INPUT, LAYOUT, OUTPUTS
from smokescope.inference.engines.onnx import seal
from smokescope.models.bvm import evaluating
from smokescope.models.pipeline import Pipeline

if TYPE_CHECKING:
    from onnx import NodeProto

OPSET = 20  # 18 is the first with antialiasing
EXAMPLE = (2, 3, 70, 90)  # any picture will do: no side, and no batch of one, may stand for all
MODULES = "pkg.torch.onnx.name_scopes"  # a node's note on where it comes from


def to_onnx(pipeline: Pipeline, notes: Mapping[str, str]) -> bytes:
    """Turn a pipeline, on the CPU, into an ONNX file's bytes.

    Args:
        pipeline: Exported as it is in eval mode, whatever mode it is in.
        notes: What else the file should say of itself, the weights' sha256 above all.

    Raises:
        SmokescopeError: What exporting needs is not installed.
    """
    pictures = torch.zeros(EXAMPLE, dtype=torch.uint8)
    return trace(pipeline, {INPUT: pictures}, {INPUT: (0, 2, 3)}, describe(pipeline, notes))


def trace(
    module: nn.Module,
    examples: Mapping[str, Tensor],
    free: Mapping[str, tuple[int, ...]],
    metadata: Mapping[str, str],
) -> bytes:
    """Trace a module whose outputs are the four maps into an ONNX file's bytes.

    Args:
        module: Traced in eval mode; each node's name begins with the part of it that the node belongs to.
        examples: Its inputs by name, in their order.
        free: The sides of each input that may be of any length.
        metadata: What the file says of itself.

    Raises:
        SmokescopeError: What exporting needs is not installed.
    """
    need("onnx", "onnxscript")
    auto = torch.export.Dim.AUTO
    with evaluating(module), torch.no_grad(), quietly():
        program = torch.onnx.export(
            module,
            tuple(examples.values()),
            dynamo=True,
            opset_version=OPSET,
            input_names=list(examples),
            output_names=list(OUTPUTS),
            dynamic_shapes={name: dict.fromkeys(sides, auto) for name, sides in free.items()},
            verbose=False,
        )
        assert program is not None  # noqa: S101  # it is with dynamo
        model = program.model_proto
    model.producer_name, model.producer_version = "smokescope", __version__
    del model.metadata_props[:]
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=value)
    for node in model.graph.node:
        node.name = f"{_origin(node)}/{node.name}"
        del node.metadata_props[:]  # where in our sources it comes from: half of a small file, and nobody's
    return seal(model.SerializeToString())


def describe(pipeline: Pipeline, notes: Mapping[str, str]) -> dict[str, str]:
    """What an exported file says of itself; `smokescope.inference.engines.card` reads it."""
    return {
        **notes,
        "class": "smoke",
        "layout": str(LAYOUT),
        "precision": "float32",
        "architecture": pipeline.network.settings.architecture,
        "input": json.dumps(asdict(pipeline.input)),
        "temperature": repr(pipeline.temperature),
        "threshold": repr(pipeline.threshold),
        "verdicts": json.dumps(asdict(pipeline.verdicts)),
        "smokescope": __version__,
    }


def need(*packages: str) -> None:
    """Make sure that packages are there.

    Raises:
        SmokescopeError: One is not.
    """
    if missing := [each for each in packages if find_spec(each) is None]:
        raise SmokescopeError(f"exporting needs {' and '.join(missing)}: pip install 'smokescope[export]'")


@contextmanager
def quietly() -> Iterator[None]:
    """Exporters tell of their own affairs, in warnings, logs and prints."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _origin(node: NodeProto) -> str:
    """The module that a node belongs to, as `named_modules` calls it; "pipeline" is what is in none."""
    told = {each.key: each.value for each in node.metadata_props}
    *modules, _ = ast.literal_eval(told.get(MODULES, "['', '']"))
    return str(modules[-1]) or "pipeline"
