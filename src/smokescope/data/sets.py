"""Several folders at once, each with a short name that means the same on another machine.

Files that speak of pictures (scenes, folds, comparisons) name a picture by its set and its name therein. A
set is called like its folder; where two folders have that name, as `smoke5k/train` and `syn70k/train`, by as
many folders above as it takes to tell them apart.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from smokescope.data.layouts import Listing, list_negatives, try_pairs
from smokescope.errors import SmokescopeError

Kind = Literal["pairs", "negatives"]
KINDS: tuple[Kind, ...] = ("pairs", "negatives")


class PictureName(NamedTuple):
    """A picture, wherever its folder lies."""

    set: str
    name: str


class PictureSet(NamedTuple):
    """A folder of pictures."""

    name: str
    folder: Path
    kind: Kind
    listing: Listing


def list_sets(folders: Sequence[Path]) -> list[PictureSet]:
    """List data sets (with masks) and plain folders (negatives), in the order of their names.

    Args:
        folders: In any order; what is named twice is taken once.

    Raises:
        SmokescopeError: A folder is missing or empty.
    """
    distinct = {folder.resolve(): folder for folder in reversed(folders)}
    named = zip(_shortest_names(list(distinct.values())), distinct.values(), strict=True)
    return [_list_set(name, folder) for name, folder in sorted(named)]


def find_set(names: Iterable[str], folder: Path) -> str:
    """The set that a folder is, among those that a file names.

    Raises:
        SmokescopeError: None has the folder's name.
    """
    parts = _parts(folder)
    known = sorted(names, key=lambda name: -name.count("/"))
    for name in known:
        if parts[-name.count("/") - 1 :] == tuple(name.split("/")):
            return name
    raise SmokescopeError(f"{folder} is none of the known sets: {', '.join(sorted(known))}")


def _list_set(name: str, folder: Path) -> PictureSet:
    pairs = try_pairs(folder)
    if pairs is not None:
        return PictureSet(name, folder, "pairs", pairs)
    return PictureSet(name, folder, "negatives", list_negatives(folder))


def _shortest_names(folders: Sequence[Path]) -> list[str]:
    paths = [_parts(folder) for folder in folders]
    names = []
    for path in paths:
        length = 1
        while length < len(path) and sum(other[-length:] == path[-length:] for other in paths) > 1:
            length += 1
        names.append("/".join(path[-length:]))
    return names


def _parts(folder: Path) -> tuple[str, ...]:
    """The folder's path as it was named, "." and ".." worked out; links keep the name they were given."""
    path = Path(os.path.abspath(folder))  # noqa: PTH100 (Path.resolve would follow links)
    return path.parts[1:] or ("root",)
