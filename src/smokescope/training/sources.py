"""From the lines of a data mix to decoded pictures: each folder once, however many lines take from it."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from smokescope.data.cache import PictureCache
from smokescope.data.folds import Folds
from smokescope.data.layouts import Listing, Pair, Progress, list_pairs, list_pictures, refuse_among
from smokescope.data.sets import find_set
from smokescope.errors import SmokescopeError
from smokescope.training.settings import Kind, Source, TrainingSettings


@dataclass(frozen=True)
class Pictures:
    """Pictures of one folder, in memory, that are put to one use."""

    kind: Kind
    cache: PictureCache
    numbers: Sequence[int]
    """Of the pictures in the cache."""
    weight: float = 1.0

    def plain(self) -> list[object]:
        """Their use, names and pixels, as values that can be written down and compared."""
        pixels = [[self.cache.pairs[number].name, self.cache.checksum(number)] for number in self.numbers]
        return [self.kind, self.weight, pixels]


@dataclass(frozen=True)
class Split:
    """Which scenes are kept from training: a fold of a folds file."""

    folds: Folds
    fold: int

    def training(self, folder: Path) -> set[str]:
        """Names of a folder's pictures that may be trained on."""
        return set(self.folds.training(self.fold, find_set(self.folds.sets, folder)))

    def validation(self, folder: Path) -> set[str]:
        """Names of a folder's pictures that are kept for validation."""
        return set(self.folds.validation(self.fold, find_set(self.folds.sets, folder)))

    def refuse_strangers(self, folder: Path, cache: PictureCache) -> None:
        """Raise a `SmokescopeError` if a folder has pictures that no fold has: nobody would ever see them."""
        known = self.training(folder) | self.validation(folder)
        if strangers := [pair.name for pair in cache.pairs if pair.name not in known]:
            raise SmokescopeError(
                f"the folds do not speak of {len(strangers)} pictures of {folder}, {strangers[0]} among "
                "them: make them anew with smokescope data scenes"
            )


@dataclass(frozen=True)
class Data:
    """All pictures of a run."""

    training: list[Pictures]
    validation: list[Pictures]

    def fingerprint(self) -> str:
        """Of which pictures there are, and for what: the same pixels, the same order."""
        plain = [[each.plain() for each in part] for part in (self.training, self.validation)]
        return hashlib.sha256(json.dumps(plain).encode()).hexdigest()

    def problems(self) -> list[SmokescopeError]:
        """What was left out as it could not be read."""
        caches = {id(each.cache): each.cache for each in (*self.training, *self.validation)}
        return [problem for cache in caches.values() for problem in cache.problems]


def load_data(
    settings: TrainingSettings,
    root: Path,
    split: Split | None = None,
    *,
    out: Path | None = None,
    kept_in: Path | None = None,
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> Data:
    """Decode all pictures that a run needs.

    Args:
        settings: Whose mix to load.
        root: The folder that sources are below.
        split: Scenes to keep from training, and to validate on; None trains on everything.
        out: The run's folder, which must not lie among the pictures.
        kept_in: A folder for decoded pictures, which later runs need not decode and processes share; None
            keeps them in memory.
        skip_bad: Go on without what cannot be read.
        progress: Told how far reading is, of each folder.

    Raises:
        SmokescopeError: A folder is missing or of another kind, has the run's in it, files in it cannot be
            used, or the split does not speak of all pictures, or leaves none to validate on.
    """
    opened: dict[tuple[str, str | None], PictureCache] = {}

    def cache_of(folder: str, strokes: str | None, only: set[str] | None = None) -> PictureCache:
        if (folder, strokes) not in opened:
            listing = _list(root, folder, strokes)
            if out is not None:
                refuse_among(out, listing)
            if only is not None:
                listing = listing._replace(pairs=[pair for pair in listing.pairs if pair.name in only])
            file = kept_in / _file_name(root / folder, strokes, settings.side, only) if kept_in else None
            scribbles = strokes is not None
            opened[folder, strokes] = PictureCache(
                listing, settings.side, file, scribbles=scribbles, skip_bad=skip_bad, progress=progress
            )
        return opened[folder, strokes]

    training = []
    for source in settings.data:
        cache = cache_of(source.folder, source.strokes)
        allowed = None
        if split is not None and not source.whole:
            split.refuse_strangers(root / source.folder, cache)
            allowed = split.training(root / source.folder)
        training.append(Pictures(source.kind, cache, _select(source, cache, allowed), source.weight))
    validation = []
    for folder in dict.fromkeys(source.folder for source in settings.data if not source.whole):
        kept = split.validation(root / folder) if split is not None else set()
        if not kept:
            continue
        cache = cache_of(folder, None, kept)  # whole masks, also where strokes are trained on
        if numbers := _matching(cache, settings.validation_names, kept):
            validation.append(Pictures(_own_kind(cache), cache, numbers))
    if split is not None and not validation:
        raise SmokescopeError(
            f"fold {split.fold} has no picture to validate on whose name matches validation_names, "
            f"{settings.validation_names}"
        )
    return Data(training, sorted(validation, key=lambda pictures: pictures.kind != "pairs"))


def _list(root: Path, folder: str, strokes: str | None) -> Listing:
    if strokes is None:
        return list_pictures(root / folder)
    listing = list_pairs(root / folder)
    drawn = [pair._replace(mask=root / strokes / f"{pair.name}.png") for pair in listing.pairs]
    missing = [
        SmokescopeError(f"{p.picture} has no strokes: {p.mask} is missing") for p in drawn if not _there(p)
    ]
    return Listing([pair for pair in drawn if _there(pair)], [*listing.problems, *missing])


def _file_name(folder: Path, strokes: str | None, side: int, only: set[str] | None) -> str:
    """Of a folder's decoded pictures; other folders, and other uses of this one, have other files."""
    use = json.dumps([str(folder.absolute()), strokes, side, None if only is None else sorted(only)])
    return f"{folder.name}-{hashlib.sha256(use.encode()).hexdigest()[:8]}.cache"


def _there(pair: Pair) -> bool:
    return pair.mask is not None and pair.mask.is_file()


def _own_kind(cache: PictureCache) -> Kind:
    return "pairs" if any(pair.mask is not None for pair in cache.pairs) else "negatives"


def _select(source: Source, cache: PictureCache, allowed: set[str] | None) -> list[int]:
    """Numbers of the pictures that a source takes."""
    own = _own_kind(cache)
    if source.kind in ("negatives", "lookalikes") and own == "pairs":
        raise SmokescopeError(
            f"{source.folder} has masks: {source.kind} takes a folder of pictures without smoke"
        )
    if source.kind in ("pairs", "transplanted") and own == "negatives":
        raise SmokescopeError(
            f"{source.folder} has no masks: {source.kind} takes a data set of pictures and masks"
        )
    chosen = _matching(cache, source.names, allowed)
    if not chosen:
        raise SmokescopeError(f"no picture of {source.folder} is left to train on as {source.kind}")
    return chosen


def _matching(cache: PictureCache, names: str, allowed: set[str] | None) -> list[int]:
    """Numbers of the pictures whose name matches a regular expression, and is allowed."""
    try:
        pattern = re.compile(names)
    except re.error as error:
        raise SmokescopeError(f"{names} is no regular expression: {error}") from None
    return [
        number
        for number, pair in enumerate(cache.pairs)
        if pattern.fullmatch(pair.name) and (allowed is None or pair.name in allowed)
    ]
