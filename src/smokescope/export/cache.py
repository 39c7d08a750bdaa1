"""Models that were exported for another engine once, kept for every later start.

    cache folder / models / CHECKSUM-VERSION-FORMAT / model.onnx, or model.xml and model.bin

The checksum is of the whole safetensors file, thresholds and all, so that a name never stands for another
model. A folder takes its name when it is whole. All of it may be deleted at any time.
"""

import logging
import os
import secrets
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from smokescope import __version__
from smokescope.checkpoints.embedded import model_file
from smokescope.data.files import write_together
from smokescope.errors import SmokescopeError
from smokescope.inference.engines.base import Engine
from smokescope.inference.engines.formats import ENDINGS
from smokescope.inference.identity import file_checksum
from smokescope.inference.segmenter import load_engine
from smokescope.settings.choices import Format

log = logging.getLogger(__name__)

KEPT = 8  # models; whichever was not used for longest goes first


def load_exported(model: Path | None, format: Format) -> Engine:
    """Load a safetensors model in another engine; it is exported now if that was not done before.

    What takes long, and what cannot be kept, is logged.

    Args:
        model: The safetensors file; None is the embedded model.
        format: What the engine takes.

    Raises:
        SmokescopeError: The model cannot be read or exported, or a package is missing.
    """
    with model_file(model) as path:
        place, name = cache_folder() / "models" / _key(path, format), f"model{ENDINGS[format]}"
        with suppress(SmokescopeError):  # it is not there, or damaged, and then replaced
            engine = load_engine(place / name, "cpu")
            with suppress(OSError):
                os.utime(place)
            return engine
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            _export(path, format, Path(folder, name))
            return load_engine(_keep(Path(folder), place, name) / name, "cpu")


def cache_folder() -> Path:
    """This user's: as SMOKESCOPE_CACHE says, or where the platform has such things.

    Raises:
        SmokescopeError: This user has no home.
    """
    if told := os.environ.get("SMOKESCOPE_CACHE"):
        return Path(told)
    try:
        home = Path.home()
    except RuntimeError:
        raise SmokescopeError(
            "this user has no home folder: set SMOKESCOPE_CACHE to a folder for exported models"
        ) from None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "smokescope"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home)) / "smokescope"
    told = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(told) if Path(told).is_absolute() else home / ".cache") / "smokescope"


def _export(path: Path, format: Format, out: Path) -> None:
    from smokescope.export.files import export_model  # here: it loads torch

    log.info("exporting %s to %s, this once: it takes a minute or two", path.name, format)
    export_model(path, format, out)


def _keep(folder: Path, place: Path, model: str) -> Path:
    """Copy files to their place in the cache, whole or not at all: where the model can be read from now."""
    part = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        write_together({part / each.name: each.read_bytes() for each in folder.iterdir()})
        try:
            part.rename(place)
        except OSError:  # there is one: damaged, or of a process that was quicker and may be reading it
            if not _loads(place / model):
                shutil.rmtree(place, ignore_errors=True)
                with suppress(OSError):
                    part.rename(place)
        _forget_old(place.parent)
        return place
    except SmokescopeError as error:
        log.warning(
            "the exported model could not be kept and will be made again next time, unless SMOKESCOPE_CACHE "
            "names another folder: %s",
            error,
        )
        return folder
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _loads(model: Path) -> bool:
    with suppress(SmokescopeError):
        load_engine(model, "cpu")
        return True
    return False


def _forget_old(folder: Path) -> None:
    with suppress(OSError):  # others may be at it too
        models = sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime, reverse=True)
        for each in models[KEPT:]:
            shutil.rmtree(each, ignore_errors=True)


def _key(path: Path, format: str) -> str:
    return f"{file_checksum(path)[:32]}-{__version__}-{format}"
