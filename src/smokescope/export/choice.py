"""Which engine a model runs in: as asked for, or the fastest that is here."""

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

from smokescope.errors import SmokescopeError
from smokescope.export.cache import load_exported
from smokescope.inference.devices import has_gpu
from smokescope.inference.engines.base import Engine
from smokescope.inference.engines.formats import format_of
from smokescope.inference.segmenter import load_engine
from smokescope.settings.choices import EngineName, Format

log = logging.getLogger(__name__)

# On CPUs, the fastest first; docs/engines.md has the measurements.
PACKAGES: dict[Format, str] = {"onnx": "onnxruntime", "openvino": "openvino"}


def load_by(model: Path | None, device: str, engine: EngineName | None) -> Engine:
    """Load a model in an engine.

    Args:
        model: A model file, or None for the embedded one.
        device: As for `smokescope.load`.
        engine: "auto" is `fastest`; None is PyTorch, or what an exported file is for.

    Raises:
        SmokescopeError: As for `smokescope.load`.
    """
    if engine not in (None, *get_args(EngineName)):
        raise SmokescopeError(f"there is no engine {engine}: choose {', '.join(get_args(EngineName))}")
    own = format_of(model)
    if own is not None:
        if engine not in (None, "auto", own):
            raise SmokescopeError(
                f"{model} runs only in {PACKAGES[own]}: choose that engine, or give the safetensors model"
            )
        return load_engine(model, device)
    if engine == "auto":
        return fastest(model, device)
    if engine is None or engine == "torch":
        return load_engine(model, device)
    if device not in ("auto", "cpu"):
        raise SmokescopeError(f"{PACKAGES[engine]} runs on the CPU, not on {device!r}: use the torch engine")
    return load_exported(model, engine)


def installed() -> list[Format]:
    """Engines other than PyTorch that are here, the fastest first."""
    return [engine for engine, package in PACKAGES.items() if find_spec(package) is not None]


def fastest(model: Path | None, device: str) -> Engine:
    """Load a safetensors model in the engine that is fastest by experience: on a GPU PyTorch, else as listed.

    An engine that cannot take the model is passed over, and that is logged.

    Raises:
        SmokescopeError: Not even PyTorch can.
    """
    problems: list[SmokescopeError] = []
    if device == "cpu" or (device == "auto" and not has_gpu()):
        for engine in installed():
            try:
                return load_exported(model, engine)
            except SmokescopeError as error:
                problems.append(error)
    found = load_engine(model, device)  # if it is the model that is no good, this says so
    for problem in problems:
        log.warning("%s", problem)
    return found
