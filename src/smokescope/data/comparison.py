"""What one set of pictures shares with another: which views of a test set were trained on."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from smokescope.data.pairs import Progress
from smokescope.data.records import Record, encode_record, read_record
from smokescope.data.scenes import Grouping, read_sets
from smokescope.data.sets import Kind, PictureName, PictureSet, find_set
from smokescope.data.views import Views, compare_views
from smokescope.errors import SmokescopeError

FORMAT = "smokescope comparison"

Status = Literal["seen", "unseen"]

_CANDIDATES = 8  # most alike at the small size, of which the fine one chooses


class Found(NamedTuple):
    """What the other sets hold that is like a picture."""

    status: Status
    """Seen if the picture, or one of its own scene, is linked to a picture of theirs."""
    similarity: float
    nearest: PictureName


@dataclass(frozen=True)
class Comparison:
    """Pictures of some sets, compared with others."""

    threshold: float
    sets: Mapping[str, Kind]
    others: Mapping[str, Kind]
    pictures: Mapping[PictureName, Found]

    def status(self, of: str, name: str) -> Status:
        """Whether a picture's scene is in the other sets.

        Raises:
            SmokescopeError: The picture was not compared.
        """
        found = self.pictures.get(PictureName(of, name))
        if found is None:
            raise SmokescopeError(
                f"{name} of {of} was not compared: run smokescope data scenes --against again"
            )
        return found.status

    def encode(self) -> bytes:
        """As the bytes of a comparison file."""
        listed = defaultdict[str, dict[str, object]](dict)
        for picture, found in sorted(self.pictures.items()):
            listed[picture.set][picture.name] = {
                "status": found.status,
                "similarity": found.similarity,
                "nearest": found.nearest._asdict(),
            }
        settings = {"threshold": self.threshold}
        contents = {"settings": settings, "sets": self.sets, "others": self.others, "pictures": listed}
        return encode_record(FORMAT, contents)


def find_nearest(views: Views, index: int, others: Views) -> tuple[int, float]:
    """The most alike of other pictures: its index and the similarity, in thousandths.

    Args:
        views: Views of some pictures.
        index: The one of them to look for.
        others: At least one.
    """
    promise = compare_views(views.coarse[index], others.coarse)
    candidates = np.sort(np.argsort(-promise, kind="stable")[:_CANDIDATES])
    similar = compare_views(views.fine[index], others.fine[candidates])
    best = int(np.argmax(similar))
    return int(candidates[best]), round(min(float(similar[best]), 1.0), 3)


def compare(
    grouping: Grouping,
    pictures: Sequence[PictureName],
    their_views: Views,
    their_pictures: Sequence[PictureName],
    progress: Progress | None = None,
) -> dict[PictureName, Found]:
    """Look for each picture's scene in other sets.

    Args:
        grouping: Grouping of the pictures among themselves, all linked.
        pictures: Their names.
        their_views: Views of the others, at least one.
        their_pictures: The others' names.
        progress: Told how many steps are done, two for each picture and one for each other.
    """
    own, count = grouping.views, len(pictures)
    on_their_own = count + np.arange(len(their_pictures))
    together = Grouping(
        Views.stack([own, their_views]),
        grouping.threshold,
        np.concatenate([grouping.scenes, on_their_own]),
    )
    found = dict[PictureName, Found]()

    def find(index: int) -> None:
        nearest, similarity = find_nearest(own, index, their_views)
        seen = together.scenes[index] in together.scenes[count:]
        found[pictures[index]] = Found("seen" if seen else "unseen", similarity, their_pictures[nearest])

    steps = [(together.link, each) for each in range(len(together.views))]
    steps += [(find, each) for each in range(count)]
    for done, (step, index) in enumerate(steps, 1):
        step(index)
        if progress is not None:
            progress(done, len(steps))
    return found


def read_comparison(path: Path) -> Comparison:
    """Read a comparison file.

    Raises:
        SmokescopeError: The file is missing, damaged or of another kind.
    """
    record = read_record(path, FORMAT)
    sets, others = read_sets(record.take("sets")), read_sets(record.take("others"))
    pictures = {
        PictureName(of, name): _read_found(part, others)
        for of, names in record.take("pictures").parts().items()
        for name, part in names.parts().items()
    }
    return Comparison(record.take("settings").take("threshold").read(float), sets, others, pictures)


def read_statuses(path: Path, sets: Sequence[PictureSet]) -> dict[PictureName, Status]:
    """Which pictures' scenes the other sets have; negatives that the file does not speak of are left out.

    Raises:
        SmokescopeError: The file is no comparison, or does not speak of some data.
    """
    comparison = read_comparison(path)
    found: dict[PictureName, Status] = {}
    problems: list[SmokescopeError] = []
    for each in sets:
        try:
            called = find_set(comparison.sets, each.folder)
        except SmokescopeError as error:
            if each.kind == "pairs":
                problems.append(error)
            continue
        for pair in each.listing.pairs:
            try:
                found[PictureName(each.name, pair.name)] = comparison.status(called, pair.name)
            except SmokescopeError as error:
                problems.append(error)
    if problems:
        raise SmokescopeError(f"{path} does not cover all of the data:", problems)
    if not found:
        raise SmokescopeError(f"{path} covers none of the data: leave --scenes out")
    return found


def _read_found(record: Record, others: Mapping[str, Kind]) -> Found:
    nearest = PictureName(*(record.take("nearest").take(key).read(str) for key in PictureName._fields))
    if nearest.set not in others:
        raise record.wrong('names a nearest picture that is in none of the "others"')
    status = record.take("status")
    similarity = record.take("similarity").read(float)
    match status.read(str):
        case "seen":
            return Found("seen", similarity, nearest)
        case "unseen":
            return Found("unseen", similarity, nearest)
    raise status.wrong("should be seen or unseen")
