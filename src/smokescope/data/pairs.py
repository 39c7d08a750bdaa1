"""Pairs of pictures and masks, read and checked: what of a listing can be used, and what is wrong with it."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from smokescope.data.layouts import Listing, Pair
from smokescope.data.masks import read_mask
from smokescope.data.pictures import read_picture, without_warnings
from smokescope.errors import SmokescopeError

Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Told how many are done, and of how many."""


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
