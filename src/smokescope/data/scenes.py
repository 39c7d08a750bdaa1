"""Scenes: pictures of one camera's one view, whatever the minute, the light and the smoke.

Two pictures are linked when their views (`smokescope.data.views`) are alike; a scene is all that hangs
together by links. So no link ever leads from one scene to another, which is what a split by scene must
promise. A chain of links may join views that have little in common at its ends, as when a camera turns
step by step: neighbours in it would give each other away, and they stay together.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smokescope.data.pairs import Progress
from smokescope.data.records import Record, encode_record, read_record
from smokescope.data.sets import KINDS, Kind, PictureName
from smokescope.data.views import Views, compare_views, describe_view

FORMAT = "smokescope scenes"

# Of labelled pairs, the most alike of different views and the least alike of the same view on different days
# are on either side of it: 0.13 and 0.31; of unrelated pictures from the web, 0.20. See docs/data.md.
THRESHOLD = 0.22

_COARSE = 0.9  # of the threshold, from which pictures are worth comparing closely (measured: from 1.17)
_BATCH = 64


class Grouping:
    """Links pictures and keeps track of the scenes that they form.

    Call `link` once with each index; what is already together is not compared again. The scenes are the
    same in whatever order that is done.

    Args:
        views: Views of all pictures.
        threshold: From which similarity two pictures are linked.
        scenes: To start from, for each picture a number; by default each picture is on its own.
    """

    def __init__(self, views: Views, threshold: float, scenes: NDArray[np.intp] | None = None) -> None:
        self.views, self.threshold = views, threshold
        self.scenes = np.arange(len(views)) if scenes is None else scenes.copy()
        """For each picture its scene's number."""

    def link(self, index: int) -> None:
        """Compare a picture with all after it, the most promising first, and join what is alike."""
        coarse, fine = self.views.coarse, self.views.fine
        others = self._apart(index, np.arange(index + 1, len(self.views)))
        promise = compare_views(coarse[index], coarse[others])
        best_first = np.argsort(-promise, kind="stable")
        waiting = others[best_first[promise[best_first] >= _COARSE * self.threshold]]
        while len(waiting):
            batch, waiting = waiting[:_BATCH], waiting[_BATCH:]
            for other in batch[compare_views(fine[index], fine[batch]) >= self.threshold]:
                self.scenes[self.scenes == self.scenes[other]] = self.scenes[index]
            waiting = self._apart(index, waiting)

    def _apart(self, index: int, others: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.asarray(others[self.scenes[others] != self.scenes[index]], np.intp)


class SceneFinder:
    """Finds out which pictures show one view, of pictures that come one by one."""

    def __init__(self) -> None:
        self._views: dict[PictureName, Views] = {}
        self._found: dict[PictureName, int] = {}

    def add(self, name: PictureName, picture: NDArray[np.uint8]) -> None:
        """Take in a picture, H x W x 3; one that is known already costs nothing."""
        if name not in self._views:
            self._views[name] = describe_view(picture)

    def find(self, progress: Progress | None = None) -> Mapping[PictureName, int]:
        """Each picture's scene, by a number that is the scene's own; compared again only if more have come.

        Args:
            progress: Told how many pictures are compared: of many thousand it takes minutes.
        """
        if len(self._found) < len(self._views):
            names = sorted(self._views)  # whatever the order in which they came
            grouping = Grouping(Views.stack([self._views[name] for name in names]), THRESHOLD)
            for number in range(len(names)):
                grouping.link(number)
                if progress is not None:
                    progress(number + 1, len(names))
            self._found = dict(zip(names, grouping.scenes.tolist(), strict=True))
        return self._found


@dataclass(frozen=True)
class Scenes:
    """The pictures of some sets, by scene."""

    threshold: float
    sets: Mapping[str, Kind]
    scenes: Sequence[Sequence[PictureName]]
    """The largest first; scene 1 is the first."""

    @staticmethod
    def of(
        numbers: Iterable[int], pictures: Sequence[PictureName], sets: Mapping[str, Kind], threshold: float
    ) -> "Scenes":
        """From each picture's scene number, which can be any as long as it is the scene's own."""
        members = defaultdict[int, list[PictureName]](list)
        for number, picture in zip(numbers, pictures, strict=True):
            members[number].append(picture)
        scenes = sorted((sorted(scene) for scene in members.values()), key=lambda s: (-len(s), s[0]))
        return Scenes(threshold, dict(sorted(sets.items())), scenes)

    def encode(self) -> bytes:
        """As the bytes of a scenes file."""
        listed = [{"scene": i, "pictures": by_set(scene)} for i, scene in enumerate(self.scenes, 1)]
        settings = {"threshold": self.threshold}
        return encode_record(FORMAT, {"settings": settings, "sets": self.sets, "scenes": listed})


def read_scenes(path: Path) -> Scenes:
    """Read a scenes file.

    Raises:
        SmokescopeError: The file is missing, damaged or of another kind, or lists a picture twice.
    """
    record = read_record(path, FORMAT)
    sets = read_sets(record.take("sets"))
    threshold = record.take("settings").take("threshold").read(float)
    return Scenes(threshold, sets, read_groups(record.take("scenes"), "scene", sets))


def by_set(pictures: Iterable[PictureName]) -> dict[str, list[str]]:
    """Names by set, both in order."""
    names = defaultdict[str, list[str]](list)
    for picture in sorted(pictures):
        names[picture.set].append(picture.name)
    return dict(names)


def read_sets(record: Record) -> dict[str, Kind]:
    """Read what `Scenes.sets` says: the sets' names and kinds."""
    sets: dict[str, Kind] = {}
    for name, part in record.parts().items():
        kind = [known for known in KINDS if known == part.read(str)]
        if not kind:
            raise part.wrong(f"should be one of {', '.join(KINDS)}")
        sets[name] = kind[0]
    return sets


def read_groups(record: Record, word: str, sets: Mapping[str, Kind]) -> list[list[PictureName]]:
    """Read numbered groups of pictures, `word` being the number's key; each picture is in one only."""
    groups, seen = list[list[PictureName]](), set[PictureName]()
    for i, part in enumerate(record.items(), 1):
        if part.take(word).read(int) != i:
            raise part.wrong(f'should have "{word}": {i}')
        group = list[PictureName]()
        for name, names in part.take("pictures").parts().items():
            if name not in sets:
                raise names.wrong('is none of the "sets"')
            group += [PictureName(name, item.read(str)) for item in names.items()]
        if len(seen.union(group)) < len(seen) + len(group):
            raise part.wrong("lists a picture that is already in another group")
        seen.update(group)
        groups.append(group)
    return groups
