"""Folds: every picture once, no scene in two, sizes as even as the scenes allow, the same every time."""

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smokescope.data.folds import Folds, make_folds
from smokescope.data.scenes import Scenes
from smokescope.data.sets import KINDS, Kind, PictureName
from smokescope.errors import SmokescopeError

SETS: dict[str, Kind] = {"smoke": "pairs", "more": "pairs", "clear": "negatives"}

sizes = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), min_size=2, max_size=40)


def scenes_of(sizes: list[tuple[int, int]]) -> Scenes:
    """Scenes with so many pictures with smoke, and so many without."""
    pictures, numbers = list[PictureName](), list[int]()
    for i, (smoke, clear) in enumerate(sizes):
        names = [PictureName("smoke" if k % 2 else "more", f"{i}-{k}") for k in range(smoke)]
        names += [PictureName("clear", f"{i}-{k}") for k in range(clear)]
        pictures += names
        numbers += [i] * len(names)
    return Scenes.of(numbers, pictures, SETS, 0.22)


def loads(folds: Folds) -> list[Counter[Kind]]:
    return [Counter(folds.sets[picture.set] for picture in fold) for fold in folds.folds]


@example([(0, 1), (1, 0)], 2, 0)
@given(sizes, st.integers(2, 6), st.integers(0, 5))
def test_every_picture_once_and_no_scene_in_two(sizes: list[tuple[int, int]], count: int, seed: int) -> None:
    scenes = scenes_of(sizes)
    if len(scenes.scenes) < count:
        with pytest.raises(SmokescopeError, match="too few"):
            make_folds(scenes, count, seed)
        return
    folds = make_folds(scenes, count, seed)
    everything = sorted(picture for scene in scenes.scenes for picture in scene)
    assert sorted(picture for fold in folds.folds for picture in fold) == everything
    fold_of = {picture: k for k, fold in enumerate(folds.folds) for picture in fold}
    for scene in scenes.scenes:
        assert len({fold_of[picture] for picture in scene}) == 1
    assert all(folds.folds)  # no fold without anything to try
    assert folds == make_folds(scenes, count, seed)


@given(st.lists(st.integers(1, 30), min_size=5, max_size=60), st.integers(2, 5))
def test_folds_differ_by_no_more_than_the_largest_scene(sizes: list[int], count: int) -> None:
    """The bound of dealing to the emptiest."""
    totals = [len(fold) for fold in make_folds(scenes_of([(n, 0) for n in sizes]), count, 0).folds]
    assert max(totals) - min(totals) <= max(sizes)


def test_both_kinds_are_balanced() -> None:
    for load in loads(make_folds(scenes_of([(10, 0)] * 10 + [(0, 4)] * 10), 5, 0)):
        assert [load[kind] for kind in KINDS] == [20, 8]
    # Two views of each kind for every fold, and one large view that has mostly one kind.
    mixed = make_folds(scenes_of([(2, 40), *[(9, 3), (8, 12)] * 5]), 5, 0)
    assert all(load["pairs"] >= 9 and load["negatives"] >= 12 for load in loads(mixed))


def test_the_largest_are_dealt_first() -> None:
    assert sorted(
        len(f) for f in make_folds(scenes_of([(n, 0) for n in (1, 1, 1, 3, 3, 9)]), 2, 0).folds
    ) == [
        9,
        9,
    ]


def test_the_seed_decides_between_equals_only() -> None:
    equal = scenes_of([(2, 0)] * 12)
    assert len({tuple(map(tuple, make_folds(equal, 3, seed).folds)) for seed in range(5)}) > 1
    different = scenes_of([(n, 0) for n in range(1, 9)])
    assert len({tuple(map(tuple, make_folds(different, 3, seed).folds)) for seed in range(5)}) == 1


def test_training_and_validation_of_a_set() -> None:
    folds = make_folds(scenes_of([(4, 1)] * 6), 3, 0)
    for fold in (1, 2, 3):
        for of, count in (("smoke", 12), ("clear", 6)):
            own, rest = folds.validation(fold, of), folds.training(fold, of)
            assert (len(own), len(rest)) == (count // 3, count - count // 3)
            assert not set(own) & set(rest)
            scene = {name.split("-")[0] for name in own}
            assert not scene & {name.split("-")[0] for name in rest}


@pytest.mark.parametrize(
    ("fold", "of", "complaint"),
    [(0, "smoke", "from 1 to 2"), (3, "smoke", "no fold 3"), (1, "x", "no set x")],
)
def test_unknown_folds_and_sets(fold: int, of: str, complaint: str) -> None:
    folds = make_folds(scenes_of([(1, 1)] * 4), 2, 0)
    with pytest.raises(SmokescopeError, match=complaint):
        folds.training(fold, of)
