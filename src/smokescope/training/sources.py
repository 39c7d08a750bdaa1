"""From the lines of a data mix to decoded pictures: each folder once, however many lines take from it."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from smokescope.data.cache import PictureCache
from smokescope.data.folds import Folds
from smokescope.data.layouts import Listing, list_pairs, list_pictures, list_unmasked, refuse_among, try_pairs
from smokescope.data.pairs import Progress
from smokescope.data.sets import find_set
from smokescope.errors import SmokescopeError
from smokescope.training.settings import Kind, Source, TrainingSettings


@dataclass(frozen=True)
class Pictures:
    """Pictures of one folder, in memory, that are put to one use."""

    kind: Kind
    cache: PictureCache
    numbers: Sequence[int]
    """Numbers of the pictures in the cache."""
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
                f"the folds do not cover {len(strangers)} pictures of {folder}, such as {strangers[0]}: "
                "make new folds with `smokescope data scenes`"
            )


@dataclass(frozen=True)
class Data:
    """All pictures of a run."""

    training: list[Pictures]
    validation: list[Pictures]

    def fingerprint(self) -> str:
        """Checksum of which pictures there are, and for what: the same pixels, the same order."""
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
    scribbled = any(source.strokes for source in settings.data)  # all lines are, or none

    def cache_of(folder: str, strokes: str | None, find: Callable[[], Listing]) -> PictureCache:
        if (folder, strokes) not in opened:
            listing = find()
            if out is not None:
                refuse_among(out, listing)
            only = [pair.name for pair in listing.pairs] if scribbled else None
            file = kept_in / _file_name(root / folder, strokes, settings.side, only) if kept_in else None
            scribbles = strokes is not None
            opened[folder, strokes] = PictureCache(
                listing, settings.side, file, scribbles=scribbles, skip_bad=skip_bad, progress=progress
            )
        return opened[folder, strokes]

    training = []
    for source in settings.data:
        apart = None if source.whole else split
        like = [s for s in settings.data if (s.folder, s.strokes) == (source.folder, source.strokes)]
        cache = cache_of(source.folder, source.strokes, partial(_list, root, like, apart))
        allowed = None
        if apart is not None:
            apart.refuse_strangers(root / source.folder, cache)
            allowed = apart.training(root / source.folder)
        training.append(Pictures(source.kind, cache, _select(source, cache, allowed), source.weight))
    validation = []
    for folder in dict.fromkeys(source.folder for source in settings.data if not source.whole):
        taken = _taken([source for source in settings.data if source.folder == folder and source.validated])
        kept = set(filter(taken, split.validation(root / folder))) if split is not None else set()
        if not kept:
            continue
        cache = cache_of(folder, None, partial(_list_masked, root / folder, kept))
        if numbers := [number for number, pair in enumerate(cache.pairs) if pair.name in kept]:
            validation.append(Pictures(_own_kind(cache), cache, numbers))
    if split is not None and not validation:
        raise SmokescopeError(
            f"fold {split.fold} has no picture to validate on: it holds out none of the `validated` sources"
        )
    return Data(training, sorted(validation, key=lambda pictures: pictures.kind != "pairs"))


def _list(root: Path, lines: Sequence[Source], split: Split | None) -> Listing:
    """What to decode for lines of one folder: all of it, or the pictures whose strokes are trained on."""
    source, folder = lines[0], root / lines[0].folder
    if source.strokes is None:
        return list_pictures(folder)
    kept = split.validation(folder) if split is not None else set()
    if kept and try_pairs(folder) is None:
        raise SmokescopeError(
            f"{folder} has no masks to validate on: draw those of the fold, or set `whole: true`"
        )
    listing, taken = list_unmasked(folder), _taken(lines)
    pairs = [
        pair._replace(mask=root / source.strokes / f"{pair.name}.png")
        for pair in listing.pairs
        if taken(pair.name) and pair.name not in kept
    ]
    if not pairs:
        raise _none_left(source)
    return listing._replace(pairs=pairs)


def _list_masked(folder: Path, kept: set[str]) -> Listing:
    """Pictures kept apart, with their masks, of a folder whose strokes are trained on."""
    pairs = [pair for pair in list_pairs(folder).pairs if pair.name in kept]
    missing = kept & {pair.name for pair in list_unmasked(folder).pairs} - {pair.name for pair in pairs}
    return Listing(
        pairs,
        [
            SmokescopeError(f"{folder} has no mask for {name}, which is held out for validation")
            for name in sorted(missing)
        ],
    )


def _file_name(folder: Path, strokes: str | None, side: int, only: Sequence[str] | None) -> str:
    """Name for a folder's decoded pictures; other folders, and other uses of this one, have other files."""
    use = json.dumps([str(folder.absolute()), strokes, side, only])
    return f"{folder.name}-{hashlib.sha256(use.encode()).hexdigest()[:8]}.cache"


def _own_kind(cache: PictureCache) -> Kind:
    return "pairs" if any(pair.mask is not None for pair in cache.pairs) else "negatives"


def _select(source: Source, cache: PictureCache, allowed: set[str] | None) -> list[int]:
    """Numbers of the pictures that a source takes."""
    own = _own_kind(cache)
    if source.kind in ("negatives", "lookalikes") and own == "pairs":
        raise SmokescopeError(
            f"{source.folder} has masks: {source.kind} takes a folder of pictures without smoke"
        )
    if source.kind in ("pairs", "cleared", "transplanted") and own == "negatives":
        raise SmokescopeError(
            f"{source.folder} has no masks: {source.kind} takes a data set of pictures and masks"
        )
    taken = _taken([source])
    chosen = [
        number
        for number, pair in enumerate(cache.pairs)
        if taken(pair.name) and (allowed is None or pair.name in allowed)
    ]
    if not chosen:
        raise _none_left(source)
    return chosen


def _none_left(source: Source) -> SmokescopeError:
    return SmokescopeError(f"no picture of {source.folder} is left to train on as {source.kind}")


def _taken(lines: Sequence[Source]) -> Callable[[str], bool]:
    """Whether any of some lines takes a picture, by its name."""
    patterns = []
    for line in lines:
        try:
            patterns.append(re.compile(line.names))
        except re.error as error:
            raise SmokescopeError(f"{line.names} is not a regular expression: {error}") from None
    return lambda name: any(pattern.fullmatch(name) for pattern in patterns)
