"""Whole models: one safetensors file that says how to rebuild what it holds."""

import json
from collections.abc import Mapping
from pathlib import Path

from smokescope import __version__
from smokescope.checkpoints.files import read_tensors, write_tensors
from smokescope.errors import SmokescopeError
from smokescope.models.bvm import SmokeBVM
from smokescope.models.settings import ModelSettings

ARCHITECTURE = "smoke-bvm"


def save_model(model: SmokeBVM, path: Path, notes: Mapping[str, str] | None = None) -> None:
    """Write a model and its settings, whole or not at all.

    Args:
        model: Any model that its settings alone rebuild.
        path: The safetensors file to write.
        notes: What else the file should say of itself: its data, its figures.

    Raises:
        SmokescopeError: The file cannot be written.
    """
    metadata = {
        **(notes or {}),
        "architecture": ARCHITECTURE,
        "settings": json.dumps(model.settings.to_dict()),
        "smokescope": __version__,
    }
    write_tensors(path, model.state_dict(), metadata)


def load_model(path: Path) -> SmokeBVM:
    """Rebuild a model from its file, on the CPU and in eval mode.

    Raises:
        SmokescopeError: The file cannot be read, or holds something else.
    """
    tensors, metadata = read_tensors(path)
    if metadata.get("architecture") != ARCHITECTURE:
        raise SmokescopeError(f"{path} is not a model of smokescope's: its metadata does not say so")
    try:
        model = SmokeBVM(ModelSettings.from_dict(json.loads(metadata["settings"])))
        model.load_state_dict(tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        writer = metadata.get("smokescope", "of unknown version")
        raise SmokescopeError(
            f"{path} does not fit smokescope {__version__}: smokescope {writer} wrote it, or it is damaged"
        ) from error
    return model.eval()
