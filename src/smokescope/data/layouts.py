"""Data sets on disk: pictures and masks, paired by file stem in the layouts that are in use.

    img/ + gt/              smokescope's own, and SMOKE5K as often repacked
    img/ + gt_/             SMOKE5K as released
    blendall/ + gt_blendall/, img/ + mask/   SYN70K's training and test sets
    images/ + masks/, images/ + labels/      many others

The folders may be written in capitals. Within them a mask has its picture's stem, or that stem and `_mask`,
`_gt` or (SYN70K's tests) `Alpha`. A folder without masks is one of pictures without smoke, read with all its
subfolders.
"""

import os
from collections.abc import Container, Sequence
from pathlib import Path
from typing import NamedTuple

from smokescope.data.files import unreadable_folder, walk
from smokescope.data.pictures import SUFFIXES
from smokescope.errors import SmokescopeError

LAYOUTS = (
    ("img", "gt"),
    ("img", "gt_"),
    ("blendall", "gt_blendall"),
    ("img", "mask"),
    ("images", "masks"),
    ("images", "labels"),
)
MASK_FOLDERS = {masks for _, masks in LAYOUTS} | {
    "label",
    "annotation",
    "annotations",
    "ground_truth",
    "groundtruth",
    "gts",
    "segmentation",
    "segmentations",
    "segmentationclass",
}
"""Names of folders, in small letters, whose pictures are never taken for ones without smoke."""
MASK_ENDINGS = ("", "_mask", "_gt", "Alpha")


class Pair(NamedTuple):
    """A picture and its mask."""

    name: str
    """Unique in its set: the path below the picture folder, without suffix, with forward slashes."""
    picture: Path
    mask: Path | None
    """None for a picture without smoke."""


class Listing(NamedTuple):
    """What a folder holds, and each thing that is wrong with it."""

    pairs: list[Pair]
    problems: list[SmokescopeError]


def list_pairs(folder: Path) -> Listing:
    """Pair the pictures and masks of a data set by name; nothing is opened yet.

    Raises:
        SmokescopeError: The folder is missing, has none of the layouts, or is empty.
    """
    listing = try_pairs(folder)
    if listing is None:
        raise SmokescopeError(
            f"{folder} is not a data set: it has none of the folder pairs {_known_layouts()}"
        )
    return listing


def try_pairs(folder: Path) -> Listing | None:
    """As `list_pairs`; None where a folder has none of the layouts, and may hold pictures without masks.

    Raises:
        SmokescopeError: The folder is missing or empty.
    """
    found = _find_layout(folder)
    if found is None:
        return None
    pictures_in, masks_in = found
    pictures, masks = _index(pictures_in), _index(masks_in)
    if not pictures:
        raise SmokescopeError(f"the folder {pictures_in} holds no pictures")
    if not masks:
        raise SmokescopeError(f"the folder {masks_in} holds no masks: masks must be picture files")
    pairs, problems, used = [], list[SmokescopeError](), set[str]()
    for name, same_name in sorted(pictures.items()):
        # a_mask is the mask of a, unless a picture has that very name
        endings = [ending for ending in MASK_ENDINGS if not ending or name + ending not in pictures]
        partners = [name + ending for ending in endings if name + ending in masks]
        files = [*same_name, *(path for partner in partners for path in masks[partner])]
        if not partners:
            problems.append(SmokescopeError(f"{same_name[0]} has no mask in {masks_in}"))
        elif len(files) > 2:
            problems.append(_ambiguous(name, files))
        else:
            pairs.append(Pair(name, files[0], files[1]))
        used.update(partners)
    problems += [
        SmokescopeError(f"{masks[name][0]} has no picture in {pictures_in}")
        for name in sorted(set(masks) - used)
    ]
    return Listing(pairs, problems)


def list_negatives(folder: Path) -> Listing:
    """List a folder of pictures without smoke, with all its subfolders.

    Raises:
        SmokescopeError: The folder is missing, holds no pictures, or has masks: then smoke is in it.
    """
    if (found := _find_layout(folder)) is not None:
        raise SmokescopeError(f"{folder} has masks in {found[1]}: name a folder of pictures without smoke")
    pictures = _index(folder)
    if not pictures:
        raise SmokescopeError(f"the folder {folder} holds no pictures")
    likely = (paths[0] for name, paths in pictures.items() if _is_named_as_mask(name, pictures))
    if mask := next(likely, None):
        raise SmokescopeError(
            f"{mask} looks like a mask: name a data set with both its folders ({_known_layouts()}), or a "
            "folder with nothing but pictures"
        )
    single = [Pair(name, paths[0], None) for name, paths in sorted(pictures.items()) if len(paths) == 1]
    problems = [_ambiguous(name, paths) for name, paths in sorted(pictures.items()) if len(paths) > 1]
    return Listing(single, problems)


def list_unmasked(folder: Path) -> Listing:
    """List the pictures of a data set, whether they have masks or not, or of any other folder.

    Raises:
        SmokescopeError: The folder is missing, or holds no pictures.
    """
    named = _folders_in(folder)
    return list_negatives(next((named[name] for name, _ in LAYOUTS if name in named), folder))


def list_pictures(folder: Path) -> Listing:
    """List the pairs of a data set; of any other folder all pictures, as ones without smoke.

    Raises:
        SmokescopeError: As for `try_pairs` and `list_negatives`.
    """
    return try_pairs(folder) or list_negatives(folder)


def refuse_among(out: Path, listing: Listing) -> None:
    """Refuse an output folder among the data: results would replace masks, or be read as pictures.

    Raises:
        SmokescopeError: The folder lies in that of the pictures or of the masks.
    """
    for pair in listing.pairs[:1]:  # all of a listing have the same two folders
        for file in (pair.picture, pair.mask):
            root = file and file.parents[pair.name.count("/")]
            if root and out.resolve().is_relative_to(root.resolve()):
                raise SmokescopeError(f"{out} lies inside {root}, among the data: name another output folder")


def _ambiguous(name: str, files: Sequence[Path]) -> SmokescopeError:
    listed = ", ".join(map(str, files))
    return SmokescopeError(f"{name} is ambiguous: several files have this name: {listed}")


def _find_layout(folder: Path) -> tuple[Path, Path] | None:
    """The folders of pictures and of masks, where there are both."""
    named = _folders_in(folder)
    for pictures, masks in LAYOUTS:
        if pictures in named and masks in named:
            return named[pictures], named[masks]
    return None


def _folders_in(folder: Path) -> dict[str, Path]:
    """The folders in a folder, by their names in small letters."""
    if not folder.is_dir():
        raise SmokescopeError(f"{folder} is not a folder")
    _, inside, _ = next(os.walk(folder, onerror=_fail))
    return {name.lower(): folder / name for name in sorted(inside)}  # of IMG and img, the latter


def _is_named_as_mask(name: str, pictures: Container[str]) -> bool:
    """Whether it lies in a folder of masks, or is named by a picture beside it: a_mask by a."""
    if MASK_FOLDERS.intersection(name.lower().split("/")[:-1]):
        return True
    endings = [ending for ending in MASK_ENDINGS if ending and name.endswith(ending)]
    return any(name.removesuffix(ending) in pictures for ending in endings)


def _known_layouts() -> str:
    return ", ".join(f"{pictures}/ + {masks}/" for pictures, masks in LAYOUTS)


def _fail(error: OSError) -> None:
    raise unreadable_folder(error)


def _index(folder: Path) -> dict[str, list[Path]]:
    """Pictures below a folder by their name, hidden files left out."""
    found: dict[str, list[Path]] = {}
    for path in walk(folder, SUFFIXES, _fail):
        found.setdefault(path.relative_to(folder).with_suffix("").as_posix(), []).append(path)
    return found
