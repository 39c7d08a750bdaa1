"""Scenes hold together what is linked, in whatever order pictures come, and survive being written."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.data.hills import hills

from smokescope.data.comparison import read_comparison
from smokescope.data.folds import make_folds, read_folds
from smokescope.data.scenes import THRESHOLD, Grouping, SceneFinder, Scenes, read_scenes
from smokescope.data.sets import PictureName
from smokescope.data.views import Views, compare_views, describe_view
from smokescope.errors import SmokescopeError

LAND = [0, 1, 0, 2, 1, 0, 3, 1, 0, 2]
VIEWS = Views.stack(
    [
        describe_view(hills(seed, frame=i, light=0.5 + i / 20, shift=(2 * i, -i), smoke=i % 3 == 0))
        for i, seed in enumerate(LAND)
    ]
)
TURNING = Views.stack([describe_view(hills(5, shift=(12 * i, 0))) for i in (*range(9), 15, 16, 17)])


def group(views: Views, threshold: float = THRESHOLD) -> list[int]:
    grouping = Grouping(views, threshold)
    for i in range(len(views)):
        grouping.link(i)
    return grouping.scenes.tolist()


def partition(numbers: list[int], order: list[int]) -> set[frozenset[int]]:
    scenes: dict[int, set[int]] = {}
    for number, picture in zip(numbers, order, strict=True):
        scenes.setdefault(number, set()).add(picture)
    return {frozenset(scene) for scene in scenes.values()}


@settings(deadline=None, max_examples=40)
@given(st.permutations(range(len(LAND))))
def test_the_same_land_is_one_scene_in_any_order(order: list[int]) -> None:
    found = group(Views(VIEWS.coarse[order], VIEWS.fine[order]))
    assert partition(found, order) == partition(LAND, list(range(len(LAND))))


@settings(deadline=None, max_examples=40)
@given(st.permutations(range(12)))
def test_scenes_are_what_hangs_together_by_links(order: list[int]) -> None:
    """A turning camera: neighbours are alike, the ends are not, and no link leads out of a scene."""
    assert compare_views(TURNING.fine[0], TURNING.fine[8:9])[0] < THRESHOLD
    found = group(Views(TURNING.coarse[order], TURNING.fine[order]))
    assert partition(found, order) == {frozenset(range(9)), frozenset({9, 10, 11})}


def test_all_candidates_get_their_turn() -> None:
    """A hundred pictures look more like the first at the small size, and are not; the last one is."""
    first, decoy, last = (describe_view(picture) for picture in (hills(0), hills(1), hills(0, shift=(9, 0))))
    decoys = [Views(first.coarse, decoy.fine)] * 100
    grouping = Grouping(Views.stack([first, *decoys, last]), THRESHOLD)
    grouping.link(0)
    assert grouping.scenes[101] == grouping.scenes[0]
    assert grouping.scenes[0] not in grouping.scenes[1:101]


def test_the_threshold_decides() -> None:
    assert len(set(group(VIEWS, 1.0))) == len(LAND)
    assert len(set(group(VIEWS, 0.02))) == 1


NAMES = [PictureName("b", "x"), PictureName("a", "y/1"), PictureName("b", "ü"), PictureName("a", "z")]
SCENES = Scenes.of([7, 3, 3, 3], NAMES, {"b": "pairs", "a": "negatives"}, 0.22)


def test_scenes_are_ordered_by_size_and_name() -> None:
    assert SCENES.scenes == [
        [PictureName("a", "y/1"), PictureName("a", "z"), PictureName("b", "ü")],
        [PictureName("b", "x")],
    ]
    again = Scenes.of([0, 0, 0, 1], list(reversed(NAMES)), {"a": "negatives", "b": "pairs"}, 0.22)
    assert again.encode() == SCENES.encode()
    equal = [Scenes.of(numbers, NAMES, SCENES.sets, 0.22) for numbers in ([1, 2, 2, 1], [2, 1, 1, 2])]
    backwards = Scenes.of([1, 2, 2, 1], list(reversed(NAMES)), SCENES.sets, 0.22)
    assert equal[0].scenes[0][0] == PictureName("a", "y/1")
    assert equal[0] == equal[1] == backwards


def test_files_say_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(SCENES.encode())
    assert read_scenes(path) == SCENES
    folds = make_folds(SCENES, 2, seed=3)
    path.write_bytes(folds.encode())
    assert read_folds(path) == folds


def test_the_format_that_is_documented() -> None:
    assert json.loads(SCENES.encode()) == {
        "format": "smokescope scenes",
        "version": 1,
        "settings": {"threshold": 0.22},
        "sets": {"a": "negatives", "b": "pairs"},
        "scenes": [
            {"scene": 1, "pictures": {"a": ["y/1", "z"], "b": ["ü"]}},
            {"scene": 2, "pictures": {"b": ["x"]}},
        ],
    }


Edit = Callable[[dict[str, object]], object]


def scenes_list(value: dict[str, object]) -> list[dict[str, object]]:
    scenes = value["scenes"]
    assert isinstance(scenes, list)
    return scenes


DAMAGE: dict[str, tuple[Edit, str]] = {
    "another format": (lambda v: v.update(format="smokescope folds"), "is not a smokescope scenes file; its"),
    "no format": (lambda v: v.pop("format"), "is not a smokescope scenes file"),
    "later version": (lambda v: v.update(version=2), "later smokescope"),
    "odd version": (lambda v: v.update(version="1"), "version should be a whole number"),
    "no scenes": (lambda v: v.pop("scenes"), 'lacks "scenes"'),
    "no list": (lambda v: v.update(scenes={}), "scenes should be a list"),
    "odd threshold": (lambda v: v.update(settings={"threshold": True}), "settings.threshold should be a num"),
    "odd kind": (lambda v: v.update(sets={"a": "masks", "b": "pairs"}), "sets.a should be one of pairs, neg"),
    "unknown set": (lambda v: v.update(sets={"a": "pairs"}), r"scenes\[0\].pictures.b is none of the"),
    "picture twice": (lambda v: scenes_list(v)[1].update(pictures={"a": ["z"]}), r"scenes\[1\] lists a pict"),
    "odd name": (
        lambda v: scenes_list(v)[1].update(pictures={"b": [3]}),
        r"pictures.b\[0\] should be a text",
    ),
    "odd number": (lambda v: scenes_list(v)[1].update(scene=3), r'scenes\[1\] should have "scene": 2'),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_files_are_refused_by_name(tmp_path: Path, damage: str) -> None:
    edit, complaint = DAMAGE[damage]
    value = json.loads(SCENES.encode())
    edit(value)
    path = tmp_path / "scenes.json"
    path.write_text(json.dumps(value))
    with pytest.raises(SmokescopeError, match=complaint) as caught:
        read_scenes(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("data", [SCENES.encode()[:-9], b"[]", b"\xff\xfe\x00", b"[" * 100_000, b"null"])
def test_what_is_no_such_file_is_refused_by_name(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "scenes.json"
    path.write_bytes(data)
    for read in (read_scenes, read_folds, read_comparison):
        with pytest.raises(SmokescopeError, match=r"scenes\.json is not a"):
            read(path)


def test_pictures_that_come_twice_are_described_and_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    described = list[int]()

    def describe(picture: NDArray[np.uint8]) -> Views:
        described.append(int(picture[0, 0, 0]))
        return describe_view(picture)

    monkeypatch.setattr("smokescope.data.scenes.describe_view", describe)
    finder, compared = SceneFinder(), list[tuple[int, int]]()
    noise = np.random.default_rng(0).integers(0, 256, (2, 60, 80, 3), dtype=np.uint8)
    one, same, other = PictureName("a", "x"), PictureName("b", "x"), PictureName("b", "y")
    named = {one: noise[0], same: noise[0], other: noise[1]}
    for _ in range(2):
        for name, picture in named.items():
            finder.add(name, picture)
        scenes = finder.find(lambda *done: compared.append(done))
        assert scenes[one] == scenes[same] != scenes[other]
    assert len(described) == 3
    assert compared == [(1, 3), (2, 3), (3, 3)]
