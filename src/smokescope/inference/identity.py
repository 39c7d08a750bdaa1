"""Which model it is, whatever engine runs it: checksums of its weights and of its file."""

from hashlib import sha256
from pathlib import Path

from smokescope.checkpoints.embedded import model_file
from smokescope.data.files import open_input
from smokescope.inference.engines.base import Engine
from smokescope.inference.engines.exported import ExportedEngine


def file_checksum(model: Path | None) -> str:
    """SHA-256 of a model's whole file: weights, thresholds and all else that decides its answers.

    Args:
        model: The file; None for the embedded model. An .xml file includes the .bin file beside it.

    Raises:
        SmokescopeError: It cannot be read.
    """
    with model_file(model) as path, open_input(path) as stream:
        return sha256(stream.read()).hexdigest()


def weights_checksum(engine: Engine, file: Path | None) -> str | None:
    """SHA-256 of a model's weights, as its file has it.

    Args:
        engine: Engine that runs the model.
        file: File it was loaded from; None for the embedded model.

    Raises:
        SmokescopeError: It cannot be read.
    """
    if isinstance(engine, ExportedEngine):
        return engine.card.sha256
    from smokescope.checkpoints.files import summarise  # here: it loads torch

    with model_file(file) as path:
        return summarise(path).metadata.get("sha256")
