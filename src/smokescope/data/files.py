"""Opening what somebody named, and writing results that are there whole or not at all."""

import os
import secrets
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from smokescope.errors import SmokescopeError


def plain_reason(error: OSError) -> str:
    """What the operating system says, as the end of a sentence: "no space left on device"."""
    return (error.strerror or str(error) or type(error).__name__).lower()


def open_input(path: Path) -> BinaryIO:
    """Open an ordinary file for reading.

    Raises:
        SmokescopeError: The file is missing, a folder, a device or pipe, empty, or may not be read.
    """
    try:
        status = path.stat()
        if S_ISDIR(status.st_mode):
            raise SmokescopeError(f"{path} is a folder where a file is needed")
        if not S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            raise SmokescopeError(f"{path} is a device or a pipe, not an ordinary file")
        if status.st_size == 0:
            raise SmokescopeError(f"{path} is empty")
        return path.open("rb")
    except FileNotFoundError:
        raise SmokescopeError(f"{path} does not exist") from None
    except OSError as error:
        raise SmokescopeError(f"{path} cannot be read: {plain_reason(error)}") from error


def walk(
    folder: Path, suffixes: Container[str], fail: Callable[[OSError], object], out: Path | None = None
) -> Iterator[Path]:
    """Find files below a folder by their suffix, those of a folder in the order of names.

    What is hidden is passed over.

    Args:
        folder: Where to begin.
        suffixes: In lower case.
        fail: Told of each folder that cannot be read; it may raise.
        out: A folder that is passed over too: results of an earlier run are no inputs.
    """
    for root, folders, files in os.walk(folder, onerror=fail):
        here = Path(root)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not (out and same_folder(here / name, out))
        )
        for file in sorted(files):
            if Path(file).suffix.lower() in suffixes and not file.startswith("."):
                yield here / file


def same_folder(one: Path, other: Path) -> bool:
    """Whether two names stand for one folder; not, where one is not there."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def unreadable_folder(error: OSError) -> SmokescopeError:
    """The sentence on a folder of which the operating system shows nothing."""
    return SmokescopeError(f"the folder {error.filename} cannot be read: {plain_reason(error)}")


def make_folder(path: Path) -> list[Path]:
    """Make sure that results can be written into a folder, creating it where needed.

    Returns:
        What was not there before, it and folders above it, the deepest first.

    Raises:
        SmokescopeError: A file is in the way, or the folder cannot be made or written to; then none is left.
    """
    made: list[Path] = []
    try:
        made = _missing(path)
        if path.exists() and not path.is_dir():
            raise SmokescopeError(f"{path} is a file: name a folder for the results")
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):  # permission bits alone do not tell
            pass
        return made
    except OSError as error:
        remove_empty(made)
        raise SmokescopeError(f"the folder {path} cannot be written to: {plain_reason(error)}") from error


def try_folder(path: Path) -> None:
    """As `make_folder`, before there is anything to write: one that was not there is removed again."""
    remove_empty(make_folder(path))


def try_file(path: Path, others: Iterable[Path] = ()) -> None:
    """Make sure that a result can be written under a name, in a folder as `try_folder` tries it.

    Args:
        path: The name.
        others: What is read, or written besides.

    Raises:
        SmokescopeError: It is one of the others, a folder or device has that name, or its folder cannot be
            written to.
    """
    place = path.resolve()
    if any(place == other.resolve() for other in others):
        raise SmokescopeError(
            f"{path} is also an input or another result, and would be overwritten: give another name"
        )
    try_folder(path.parent)
    _refuse_others(path)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that its name never stands for anything but the whole of `data`.

    Raises:
        SmokescopeError: The file cannot be written; what stood under that name before still does.
    """
    write_together({path: data})


def write_together(files: Mapping[Path, bytes | Path]) -> None:
    """Write files that belong together: all of them appear, each whole, or none does.

    Every byte is on the disk under a temporary name before the first file takes its final one, so a full
    disk shows itself in time. Missing folders are made. What was too large for a memory comes as the path of
    a file in the same folder, which is moved.

    Raises:
        SmokescopeError: A file cannot be written; nothing new is left behind.
    """
    waiting: dict[Path, Path] = {}
    created: list[Path] = []
    made: list[Path] = []
    try:
        for path, data in files.items():
            with _naming(path):
                _refuse_others(path)
                made = [*_missing(path.parent), *made]
                path.parent.mkdir(parents=True, exist_ok=True)
                waiting[path] = data if isinstance(data, Path) else waiting_name(path)
                _write_through(waiting[path], data)
        for path in files:
            with _naming(path):
                if not path.exists():
                    created.append(path)
                waiting[path].replace(path)
    except BaseException:  # Ctrl-C leaves nothing behind either
        for leftover in [*waiting.values(), *created]:  # what took an older file's place is whole, and stays
            with suppress(OSError):
                leftover.unlink()
        remove_empty(made)
        raise


def waiting_name(path: Path) -> Path:
    """A name beside another, for what is to take it when it is whole."""
    # Hidden, so that no walk picks it up; short, so that it fits wherever the final name does.
    return path.with_name(f".{secrets.token_hex(8)}.part")


def remove_empty(folders: Iterable[Path]) -> None:
    """Remove what `make_folder` made, where nothing came to be in it."""
    for each in folders:
        with suppress(OSError):  # it was not made after all, or something is in it
            each.rmdir()


def _missing(folder: Path) -> list[Path]:
    """A folder and those above it that are not there, the deepest first."""
    return [each for each in (folder, *folder.parents) if not each.exists()]


def _refuse_others(path: Path) -> None:
    """Refuse a name that no file has but something else: as root, a rename would replace /dev/null itself."""
    if path.exists() and not path.is_file():
        raise SmokescopeError(f"{path} cannot be written: a folder or device has that name")


def _write_through(path: Path, data: bytes | Path) -> None:
    with path.open("xb" if isinstance(data, bytes) else "r+b") as stream:
        if isinstance(data, bytes):
            stream.write(data)
            stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn the operating system's complaint into a sentence that names the target, not the temporary."""
    try:
        yield
    except OSError as error:
        raise SmokescopeError(f"{path} cannot be written: {plain_reason(error)}") from error
