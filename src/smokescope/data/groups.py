"""Who duplicates whom: pictures go by, best first, and each is kept unless it repeats one that was kept.

So no two kept pictures are duplicates, and each dropped one was compared with the kept one it stands for: a
chain of small changes is never taken for one picture from end to end.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from smokescope.data import duplicates, plumes
from smokescope.data.duplicates import Glance
from smokescope.data.plumes import Plume, Unfit

Kind = Literal["exact", "near", "smoke"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Rough products below which the slow comparison never says yes; measured, with room to spare.
NEAR_PRODUCT = 0.8
SMOKE_PRODUCT = 0.985


class Entry(NamedTuple):
    """A picture of the set."""

    name: str
    look: Glance
    smoke: Plume | Unfit | None
    """None without masks; otherwise the plume, or why its shape proves nothing."""

    @property
    def rank(self) -> tuple[int, str]:
        """Sorts the best first: most pixels, then by name."""
        return -self.look.pixels, self.name


class Dropped(NamedTuple):
    """A picture that repeats a kept one."""

    name: str
    picture: float | None
    """Correlation with the kept picture: 1 if exact; None if only the smoke is the same."""
    mask: float | None
    """Overlap of the masks, or of the plumes' shapes; None without masks."""


class Group(NamedTuple):
    """A kept picture and those that repeat it in one way."""

    kind: Kind
    kept: str
    dropped: list[Dropped]


class Sieve:
    """Takes pictures one by one, best first (sorted by `Entry.rank`), and sorts out repetitions."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self._groups: dict[tuple[Kind, str], Group] = {}
        self._digests: dict[bytes, Entry] = {}
        self._pictures, self._plumes = _Shelf(), _Shelf()

    def add(self, entry: Entry) -> None:
        """Keep a picture, or put it with the kept one that it repeats; the strictest kind first."""
        repeated = self._exact(entry) or self._near(entry) or self._smoke(entry)
        if repeated:
            kind, kept, dropped = repeated
            self._groups.setdefault((kind, kept), Group(kind, kept, [])).dropped.append(dropped)
            return
        self.kept.append(entry.name)
        self._digests[entry.look.digest] = entry
        self._pictures.put(entry, duplicates.signature(entry.look))
        if isinstance(entry.smoke, Plume):
            self._plumes.put(entry, plumes.signature(entry.smoke))

    def groups(self) -> list[Group]:
        """The groups: exact, near, then smoke; the largest first."""
        return sorted(self._groups.values(), key=lambda g: (KINDS.index(g.kind), -len(g.dropped), g.kept))

    def _exact(self, entry: Entry) -> tuple[Kind, str, Dropped] | None:
        kept = self._digests.get(entry.look.digest)
        if kept is None:
            return None
        return "exact", kept.name, Dropped(entry.name, 1.0, duplicates.mask_overlap(kept.look, entry.look))

    def _near(self, entry: Entry) -> tuple[Kind, str, Dropped] | None:
        found = list[tuple[float, str, float | None]]()
        for kept in self._pictures.like(duplicates.signature(entry.look), NEAR_PRODUCT):
            if alike := duplicates.near_duplicate(kept.look, entry.look):
                found.append((-alike.picture, kept.name, alike.mask))
        if not found:
            return None
        correlation, name, mask = min(found)
        return "near", name, Dropped(entry.name, -correlation, mask)

    def _smoke(self, entry: Entry) -> tuple[Kind, str, Dropped] | None:
        if not isinstance(entry.smoke, Plume):
            return None
        found = list[tuple[float, str]]()
        ways = (entry.smoke, plumes.mirrored(entry.smoke))
        for kept in self._plumes.like(np.stack([plumes.signature(way) for way in ways]), SMOKE_PRODUCT):
            if isinstance(kept.smoke, Plume) and (overlap := plumes.same_smoke(kept.smoke, entry.smoke)):
                found.append((-overlap, kept.name))
        if not found:
            return None
        overlap, name = min(found)
        return "smoke", name, Dropped(entry.name, None, -overlap)


class _Shelf:
    """Entries with their signatures, in an array that grows by doubling."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._rows = np.empty((64, 256), np.float32)

    def put(self, entry: Entry, signature: NDArray[np.float32]) -> None:
        if len(self._entries) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[len(self._entries)] = signature
        self._entries.append(entry)

    def like(self, signatures: NDArray[np.float32], least: float) -> list[Entry]:
        """Those whose product with a signature, or with one of several, reaches `least`."""
        products = self._rows[: len(self._entries)] @ np.atleast_2d(signatures).T
        return [self._entries[i] for i in np.flatnonzero(products.max(axis=1) >= least)]
