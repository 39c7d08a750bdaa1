"""Folds for cross-validation that part no scene: a model is tried on views that it was not trained on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smokescope.data.records import encode_record, read_record
from smokescope.data.scenes import Scenes, by_set, read_groups, read_sets
from smokescope.data.sets import KINDS, Kind, PictureName
from smokescope.errors import SmokescopeError

FORMAT = "smokescope folds"


@dataclass(frozen=True)
class Folds:
    """Pictures in folds; fold k is tried on its own pictures and trained on all others."""

    threshold: float
    """Least similarity that links two pictures of a scene; scenes were kept whole."""
    seed: int
    sets: Mapping[str, Kind]
    folds: Sequence[Sequence[PictureName]]
    """Fold 1 is the first."""

    def validation(self, fold: int, of: str) -> list[str]:
        """The names that a fold is tried on, of one set.

        Raises:
            SmokescopeError: There is no such fold or set.
        """
        if not 1 <= fold <= len(self.folds):
            raise SmokescopeError(f"there is no fold {fold}: choose from 1 to {len(self.folds)}")
        if of not in self.sets:
            raise SmokescopeError(f"the folds have no set {of}, only {', '.join(self.sets)}")
        return sorted(picture.name for picture in self.folds[fold - 1] if picture.set == of)

    def training(self, fold: int, of: str) -> list[str]:
        """The names that a fold is trained on, of one set.

        Raises:
            SmokescopeError: There is no such fold or set.
        """
        own = set(self.validation(fold, of))
        return sorted(
            picture.name
            for pictures in self.folds
            for picture in pictures
            if picture.set == of and picture.name not in own
        )

    def encode(self) -> bytes:
        """As the bytes of a folds file."""
        settings = {"folds": len(self.folds), "seed": self.seed, "threshold": self.threshold}
        listed = [{"fold": i, "pictures": by_set(fold)} for i, fold in enumerate(self.folds, 1)]
        return encode_record(FORMAT, {"settings": settings, "sets": self.sets, "folds": listed})


def make_folds(scenes: Scenes, count: int, seed: int) -> Folds:
    """Deal scenes out to folds of nearly equal size, the largest first, each to where it is needed most.

    Pictures with masks, negatives and all together count, each as a share of its kind, so that every fold
    has its part of both.

    Args:
        scenes: What must stay together.
        count: Number of folds, at least 2.
        seed: Decides the order among scenes of equal size, and nothing else.

    Raises:
        SmokescopeError: There are fewer scenes than folds.
    """
    if len(scenes.scenes) < count:
        raise SmokescopeError(
            f"{len(scenes.scenes)} scenes are too few for {count} folds: ask for fewer, or none (--folds 0)"
        )
    sizes = np.array([_count(scene, scenes.sets) for scene in scenes.scenes])
    shares = sizes / np.maximum(sizes.sum(axis=0), 1)
    weights = shares.sum(axis=1)
    ties = np.random.default_rng(seed).permutation(len(weights))
    loads = np.zeros((count, shares.shape[1]))
    folds: list[list[PictureName]] = [[] for _ in range(count)]
    for i in np.lexsort((ties, -weights)):
        # The sum of squared loads is least when all are equal; this is how much it would grow.
        growth = ((loads + shares[i]) ** 2 - loads**2).sum(axis=1)
        # Rounded, so that equal folds are told apart by their number and not by the last bit.
        chosen = int(np.argmin(growth.round(12)))
        loads[chosen] += shares[i]
        folds[chosen] += scenes.scenes[i]
    return Folds(scenes.threshold, seed, scenes.sets, [sorted(fold) for fold in folds])


def read_folds(path: Path) -> Folds:
    """Read a folds file.

    Raises:
        SmokescopeError: The file is missing, damaged or of another kind, or lists a picture twice.
    """
    record = read_record(path, FORMAT)
    settings, sets = record.take("settings"), read_sets(record.take("sets"))
    return Folds(
        settings.take("threshold").read(float),
        settings.take("seed").read(int),
        sets,
        read_groups(record.take("folds"), "fold", sets),
    )


def _count(scene: Sequence[PictureName], sets: Mapping[str, Kind]) -> list[int]:
    counts = Counter(sets[picture.set] for picture in scene)
    return [*(counts[kind] for kind in KINDS), len(scene)]
