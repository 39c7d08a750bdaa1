"""The weights that come with smokescope, if this build has any."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from smokescope.errors import SmokescopeError

if TYPE_CHECKING:  # other engines want the file alone
    from smokescope.models.pipeline import Pipeline


def embedded_weights() -> Traversable | None:
    """The model file inside the package; None where this build ships none."""
    found = files("smokescope") / "weights" / "default.safetensors"
    return found if found.is_file() else None


def require_embedded() -> Traversable:
    """The model file inside the package.

    Raises:
        SmokescopeError: This build ships none.
    """
    found = embedded_weights()
    if found is None:
        raise SmokescopeError(
            "this build of smokescope ships no weights: name a model file (--model), or install it again, "
            "with smokescope/weights/default.safetensors"
        )
    return found


@contextmanager
def model_file(model: Path | None) -> Iterator[Path]:
    """A model's own file; None is the embedded one.

    Raises:
        SmokescopeError: As for `require_embedded`.
    """
    if model is not None:
        yield model
        return
    with as_file(require_embedded()) as path:
        yield path


def load_embedded() -> "Pipeline":
    """Load the model that comes with smokescope.

    Raises:
        SmokescopeError: This build ships none, or it is damaged.
    """
    from smokescope.checkpoints.model import load_model

    with model_file(None) as path:
        return load_model(path)
