"""The weights that come with smokescope, if this build has any."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

from smokescope.errors import SmokescopeError


def embedded_weights() -> Traversable | None:
    """The model file inside the package; None where this build ships none."""
    found = files("smokescope") / "weights" / "default.safetensors"
    return found if found.is_file() else None


@contextmanager
def model_file(model: Path | None) -> Iterator[Path]:
    """A model's own file; None is the embedded one.

    Raises:
        SmokescopeError: This build ships none.
    """
    if model is not None:
        yield model
        return
    found = embedded_weights()
    if found is None:
        raise SmokescopeError(
            "this build of smokescope ships no weights: name a model file (--model), or install it again, "
            "with smokescope/weights/default.safetensors"
        )
    with as_file(found) as path:
        yield path
