"""Whole models: one safetensors file that says how to rebuild what it holds, and what it was made of."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import get_args

import torch
from torch import Tensor

from smokescope import __version__
from smokescope.checkpoints.files import read_tensors, write_tensors
from smokescope.checkpoints.quantise import dequantise, quantise
from smokescope.errors import SmokescopeError
from smokescope.models.build import build_model
from smokescope.models.pipeline import Pipeline
from smokescope.models.settings import Architecture, ModelSettings
from smokescope.settings.input import InputSettings
from smokescope.settings.plain import from_plain
from smokescope.settings.verdicts import VerdictSettings


def save_model(
    pipeline: Pipeline, path: Path, notes: Mapping[str, str] | None = None, *, int8: bool = False
) -> None:
    """Write a model with its pre- and post-processing, whole or not at all.

    Args:
        pipeline: With a network that its settings alone rebuild.
        path: The safetensors file to write.
        notes: What else the file should say of itself: its data, commit and figures.
        int8: Store weights in 8 bits, with a scale for each output channel: a quarter of the room.

    Raises:
        SmokescopeError: The file cannot be written.
        ValueError: Weights that are infinite or undefined cannot be stored in 8 bits.
    """
    tensors = pipeline.network.state_dict()
    tensors = quantise(tensors) if int8 else tensors
    settings = pipeline.network.settings
    metadata = {
        **(notes or {}),
        "architecture": settings.architecture,
        "settings": json.dumps(asdict(settings)),
        "input": json.dumps(asdict(pipeline.input)),
        "temperature": repr(pipeline.temperature),
        "threshold": repr(pipeline.threshold),
        "verdicts": json.dumps(asdict(pipeline.verdicts)),
        "weights": "int8 by output channel" if int8 else "as trained",
        "sha256": checksum(tensors),
        "smokescope": __version__,
    }
    write_tensors(path, tensors, metadata)


def load_model(path: Path) -> Pipeline:
    """Rebuild a model from its file, on the CPU and in eval mode.

    Raises:
        SmokescopeError: The file cannot be read, is damaged, or holds something else.
    """
    tensors, metadata = read_tensors(path)
    if metadata.get("architecture") not in get_args(Architecture):
        raise SmokescopeError(f"{path} is not a smokescope model: its metadata names no known architecture")
    if metadata.get("sha256") != checksum(tensors):
        raise SmokescopeError(f"{path} is damaged: its weights do not match its checksum; get a fresh copy")
    try:
        network = build_model(from_plain(ModelSettings, json.loads(metadata["settings"])))
        network.load_state_dict(dequantise(tensors))
        pipeline = Pipeline(
            network,
            from_plain(InputSettings, json.loads(metadata["input"])),
            float(metadata["temperature"]),
            float(metadata["threshold"]),
            from_plain(VerdictSettings, json.loads(metadata.get("verdicts", "{}"))),  # once there were none
        )
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        writer = metadata.get("smokescope", "of unknown version")
        raise SmokescopeError(
            f"{path} does not fit smokescope {__version__}: smokescope {writer} wrote it, or it is damaged"
        ) from error
    return pipeline.eval()


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, types, shapes and bytes, in the order of names; hexadecimal."""
    digest = sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
