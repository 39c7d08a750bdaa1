"""The weights that come with smokescope, if this build has any."""

from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
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


def load_embedded() -> "Pipeline":
    """Load the model that comes with smokescope.

    Raises:
        SmokescopeError: This build ships none, or it is damaged.
    """
    from smokescope.checkpoints.model import load_model

    with as_file(require_embedded()) as path:
        return load_model(path)
