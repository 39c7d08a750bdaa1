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
from collections.abc import Callable, Container, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from smokescope.data.files import unreadable_folder, walk
from smokescope.data.masks import read_mask
from smokescope.data.pictures import SUFFIXES, read_picture, without_warnings
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


Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Told how many are done, and of how many."""


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


def read_pair(pair: Pair) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Read a picture, H x W x 3, and its mask, H x W in [0, 1]; all zeros for a picture without smoke.

    Raises:
        SmokescopeError: A file cannot be read, or the two differ in size.
    """
    picture = read_picture(pair.picture)
    if pair.mask is None:
        return picture, np.zeros(picture.shape[:2], np.float32)
    mask = read_mask(pair.mask)
    refuse_other_size(pair, picture, mask)
    return picture, mask


def refuse_other_size(pair: Pair, picture: NDArray[np.uint8], mask: NDArray[np.generic]) -> None:
    """Raise a `SmokescopeError` unless a picture and its mask are of one size."""
    if mask.shape != picture.shape[:2]:
        sizes = " and ".join(f"{each.shape[1]} x {each.shape[0]}" for each in (picture, mask))
        raise SmokescopeError(f"{pair.picture} and {pair.mask} differ in size: {sizes} pixels")


def for_each_pair(
    work: Callable[[Pair], Result], pairs: Sequence[Pair], progress: Progress | None = None
) -> list[Result | SmokescopeError]:
    """Do the same with each pair, several at a time; a pair's `SmokescopeError` stands for its result."""

    def attempt(pair: Pair) -> Result | SmokescopeError:
        try:
            return work(pair)
        except SmokescopeError as error:
            return error

    results: list[Result | SmokescopeError] = []
    # Threads, as decoders work without Python's lock. What they silence is given back here and not by the
    # last of them, perhaps inside a `catch_warnings` of the caller's.
    with without_warnings(), ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(attempt, pairs):
            results.append(result)
            if progress is not None:
                progress(len(results), len(pairs))
    return results


def check_pairs(pairs: Iterable[Pair], progress: Progress | None = None) -> Listing:
    """Read every file and compare sizes: what can be used, and what is wrong with the rest.

    Pixels are decoded too, as a file that was cut short shows it nowhere else.
    """

    def check(pair: Pair) -> Pair:
        read_pair(pair)
        return pair

    results = for_each_pair(check, list(pairs), progress)
    return Listing(
        [result for result in results if isinstance(result, Pair)],
        [result for result in results if isinstance(result, SmokescopeError)],
    )


def usable_pairs(listing: Listing, skip_bad: bool, progress: Progress | None = None) -> Listing:
    """Check a listing: the pairs that can be used, and the problems that `skip_bad` goes on without.

    Raises:
        SmokescopeError: Something is wrong and `skip_bad` is not set, or nothing usable is left.
    """
    checked = check_pairs(listing.pairs, progress)
    usable = Listing(checked.pairs, [*listing.problems, *checked.problems])
    refuse_problems(usable, skip_bad)
    return usable


def refuse_problems(listing: Listing, skip_bad: bool) -> None:
    """Stop at a listing's problems.

    Raises:
        SmokescopeError: Something is wrong and `skip_bad` is not set, or nothing usable is left.
    """
    problems = listing.problems
    if problems and not skip_bad:
        if len(problems) == 1:
            raise SmokescopeError(f"{problems[0]} (--skip-bad leaves it out)")
        raise SmokescopeError(
            f"{len(problems)} things are wrong with the data (--skip-bad leaves those files out):", problems
        )
    if not listing.pairs:
        raise SmokescopeError("no usable picture is left:", problems)


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
