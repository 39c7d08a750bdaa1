"""What a trained model is tried on: all pictures of some folders, or those that a fold kept apart."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from smokescope.data.folds import read_folds
from smokescope.data.layouts import Pair
from smokescope.data.sets import find_set, list_sets


def options(description: str | None) -> argparse.ArgumentParser:
    """The options that benchmarks of a model on pictures share."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, help="the one that comes along, if it is not given")
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--negatives", type=Path, action="append", default=[])
    parser.add_argument("--folds", type=Path)
    parser.add_argument("--fold", type=int, default=1)
    parser.add_argument("--match", default=".*", help="take only such names, a regular expression")
    parser.add_argument("--every", type=int, default=1, help="take every so many pictures of either kind")
    return parser


def chosen(given: argparse.Namespace) -> list[Pair]:
    """The pictures that the options name, those with smoke first."""
    return [pair for folders in (given.data, given.negatives) for pair in _of(folders, given)[:: given.every]]


def quarter(smoke: Tensor) -> tuple[slice, slice]:
    """Rows and columns of a quarter of a picture, about its smoke [H, W], of which there is some."""
    places = smoke.nonzero()
    row, column = places[len(places) // 2].tolist()
    height, width = smoke.shape
    return _around(row, height), _around(column, width)


def _around(centre: int, length: int) -> slice:
    """Half of an axis, with the centre in its middle if there is room."""
    start = min(max(centre - length // 4, 0), length - length // 2)
    return slice(start, start + length // 2)


def _of(folders: Sequence[Path], given: argparse.Namespace) -> list[Pair]:
    pairs = []
    known = read_folds(given.folds) if given.folds else None
    for each in list_sets(folders) if folders else ():
        names = set(known.validation(given.fold, find_set(known.sets, each.folder))) if known else None
        pairs += [pair for pair in each.listing.pairs if names is None or pair.name in names]
    return [pair for pair in pairs if re.fullmatch(given.match, pair.name)]
