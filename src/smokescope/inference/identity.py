"""Which weights a model computes with, whatever file and engine it came by."""

from importlib.resources import as_file
from pathlib import Path

from smokescope.inference.engines.base import Engine
from smokescope.inference.engines.exported import ExportedEngine


def weights_checksum(engine: Engine, file: Path | None) -> str | None:
    """SHA-256 of a model's weights, as its file has it.

    Args:
        engine: That runs it.
        file: That it came from; None if it is the embedded one.
    """
    if isinstance(engine, ExportedEngine):
        return engine.card.sha256
    from smokescope.checkpoints.embedded import embedded_weights
    from smokescope.checkpoints.files import summarise  # here: it loads torch

    if file is not None:
        return summarise(file).metadata.get("sha256")
    embedded = embedded_weights()
    if embedded is None:
        return None
    with as_file(embedded) as path:
        return summarise(path).metadata.get("sha256")
