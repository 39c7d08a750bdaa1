"""Where to compute, and what to say when there is no room."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from smokescope.errors import SmokescopeError

DEVICE_HELP = "Where to compute: auto (a GPU if there is one), cpu, cuda, cuda:1, mps."

# Engines tell of it in their own ways, torch in a RuntimeError; to ask for its class would load torch.
_NO_ROOM = ("can't allocate memory", "not enough memory", "out of memory")


@contextmanager
def enough_memory(what: Path | str, advice: str = "make it smaller first") -> Iterator[None]:
    """Turn running out of memory, while working on something, into a sentence that names it."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_ROOM):
            raise SmokescopeError(f"{what} does not fit into memory: {advice}") from error
        raise
