"""What computes: the option that verbs share, and what is said of it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smokescope.cli.console import printable
from smokescope.settings.choices import EngineName, Tiles

if TYPE_CHECKING:
    from smokescope.inference import Segmenter


EngineOption = Annotated[
    EngineName | None,
    typer.Option(help="Inference engine; auto: the fastest here. Default: torch, or an exported file's own."),
]


def load_segmenter(
    model: Path | None,
    device: str,
    engine: EngineName | None,
    tiles: Tiles = "auto",
) -> Segmenter:
    """As `smokescope.load`; what there is to say meanwhile goes to stderr."""
    from smokescope import load

    with telling():
        return load(model, device, tiles, engine)


def shown(segmenter: Segmenter) -> str:
    """What computes, and where."""
    return f"{segmenter.engine.name} on {segmenter.engine.device}"


class _Teller(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(f"smokescope: {printable(record.getMessage())}", file=sys.stderr)


@contextmanager
def telling() -> Iterator[None]:
    """Print what is logged of exporting."""
    log, teller = logging.getLogger("smokescope.export"), _Teller()
    log.addHandler(teller)
    level, log.propagate = log.level, False
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(teller)
        log.setLevel(level)
        log.propagate = True
