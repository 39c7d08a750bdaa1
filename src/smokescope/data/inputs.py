"""From the names that somebody gave to the pictures that are meant, each with a name for its results."""

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Collection as Container
from pathlib import Path
from typing import NamedTuple

from smokescope.data.files import plain_reason, same_folder, unreadable_folder, walk
from smokescope.data.pictures import SUFFIXES
from smokescope.errors import SmokescopeError

VIDEO_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".ts", ".wmv", ".flv", ".3gp"}
    | {".mjpeg", ".mjpg", ".h264", ".264", ".hevc", ".265"}  # streams as cameras send them
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)  # a path keeps one of its two slashes


class PictureFile(NamedTuple):
    """A picture, or a video, to work on."""

    path: Path
    """The file, named as the user named it."""
    name: Path
    """Where its results go: relative to the output folder, without the picture's suffix."""

    def result(self, folder: Path, ending: str) -> Path:
        """The file in `folder` for one result, for instance `ending` ".mask.png"."""
        return folder / self.name.with_name(self.name.name + ending)


class Collection(NamedTuple):
    """What was found, and what was wrong with the inputs that gave nothing."""

    pictures: list[PictureFile]
    problems: list[SmokescopeError]


def collect_pictures(
    inputs: Sequence[Path],
    out: Path,
    suffixes: Container[str] = SUFFIXES,
    is_result: Callable[[Path], bool] | None = None,
) -> Collection:
    """Find the pictures that the inputs name.

    A pattern that no shell has replaced (`hills/*.jpg`) stands for what it matches. A file is taken whatever
    its suffix, and its results are named by its stem. A folder is walked with its subfolders in sorted order;
    pictures are known by their suffix, hidden files are passed over, and results keep their place relative
    to the folder. What is named twice is taken once. The output folder is not walked: results of an earlier
    run are no inputs.

    Args:
        inputs: Files, folders and patterns.
        out: The folder that results will be written to.
        suffixes: By which files of a folder are known, in lower case.
        is_result: Says of a file in a folder that it is a result of a run into yet another folder.

    Returns:
        The pictures, and a problem for each input that is missing, unreadable or without pictures.

    Raises:
        SmokescopeError: Two pictures' results would have the same name, or `out` is one of the inputs.
    """
    pictures: dict[Path, PictureFile] = {}
    problems: list[SmokescopeError] = []
    for given in _expand(inputs, problems):
        if same_folder(given, out):
            raise SmokescopeError(
                f"{given} is both input and output folder, and the next run would read this one's results: "
                "name another output folder"
            )
        try:
            if given.is_dir():
                walked = _walk(given, out, suffixes, problems)
                found = [file for file in walked if is_result is None or not is_result(file.path)]
                if not found:
                    problems.append(SmokescopeError(f"the folder {given} holds no pictures"))
            else:
                given.stat()
                found = [PictureFile(given, Path(given.stem))]
        except FileNotFoundError:
            address = _ADDRESS.match(str(given))
            why = "is an address: download it first" if address else "does not exist"
            problems.append(SmokescopeError(f"{given} {why}"))
        except OSError as error:
            problems.append(SmokescopeError(f"{given} cannot be read: {plain_reason(error)}"))
        else:
            for picture in found:
                # The folder is resolved and the name is not: a link beside its target is a second picture.
                pictures.setdefault(picture.path.parent.resolve() / picture.path.name, picture)
    _refuse_collisions(pictures.values())
    return Collection(list(pictures.values()), problems)


def _expand(inputs: Sequence[Path], problems: list[SmokescopeError]) -> Iterator[Path]:
    """Replace each pattern by what it matches; a file that is really called so comes first."""
    for given in inputs:
        if not glob.has_magic(str(given)) or os.path.lexists(given):
            yield given
        elif matched := sorted(glob.glob(str(given), recursive=True)):  # noqa: PTH207 (keeps names as given)
            yield from map(Path, matched)
        else:
            problems.append(SmokescopeError(f"nothing matches {given}"))


def _walk(
    folder: Path, out: Path, suffixes: Container[str], problems: list[SmokescopeError]
) -> Iterator[PictureFile]:
    def note(error: OSError) -> None:
        problems.append(unreadable_folder(error))

    for path in walk(folder, suffixes, note, out):
        yield PictureFile(path, path.relative_to(folder).with_suffix(""))


def _refuse_collisions(pictures: Iterable[PictureFile]) -> None:
    taken: dict[str, PictureFile] = {}
    for picture in pictures:
        # Without regard to case, as file systems of Windows and macOS see names.
        first = taken.setdefault(str(picture.name).casefold(), picture)
        if first is not picture:
            raise SmokescopeError(
                f"the results of {first.path} and {picture.path} would have the same name: "
                "rename one, or run them into different folders"
            )
