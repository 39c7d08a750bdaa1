"""Which views two sets share: found through scenes, named by the most alike, and kept in a file."""

import json
from pathlib import Path

import pytest
from tests.data.hills import hills

from smokescope.data.comparison import Comparison, Found, compare, find_nearest, read_comparison
from smokescope.data.scenes import THRESHOLD, Grouping
from smokescope.data.sets import PictureName
from smokescope.data.views import Views, describe_view
from smokescope.errors import SmokescopeError

LAND = [0, 1, 0, 2, 1, 0, 3, 1, 0, 2]
VIEWS = Views.stack(
    [
        describe_view(hills(seed, frame=i, light=0.5 + i / 20, shift=(2 * i, -i), smoke=i % 3 == 0))
        for i, seed in enumerate(LAND)
    ]
)


def test_the_nearest_is_the_same_land() -> None:
    others = Views.stack([describe_view(hills(seed, frame=9)) for seed in (3, 2, 1, 9)])
    found = [find_nearest(VIEWS, i, others) for i in range(len(LAND))]
    for seed, (nearest, similarity) in zip(LAND, found, strict=True):
        assert (similarity >= THRESHOLD) == (seed != 0)
        if seed:
            assert nearest == {3: 0, 2: 1, 1: 2}[seed]


def test_the_nearest_of_many_is_found() -> None:
    """More than are compared closely, and the one meant is the most alike of them, not the first."""
    others = Views.stack([*(describe_view(hills(seed)) for seed in range(20, 40)), VIEWS])
    assert find_nearest(VIEWS, 3, others) == (23, 1.0)


def test_a_scene_is_seen_where_any_of_its_pictures_is() -> None:
    """A turning camera: the last step is like none of the others, but its scene reaches to them."""
    turning = [describe_view(hills(5, shift=(12 * step, 0))) for step in range(9)]
    own, theirs = (
        Views.stack([*turning[1:], describe_view(hills(1))]),
        Views.stack([describe_view(hills(2)), turning[0]]),
    )
    grouping = Grouping(own, THRESHOLD)
    for index in range(len(own)):
        grouping.link(index)
    names = [PictureName("own", str(number)) for number in range(1, 10)]
    others = [PictureName("theirs", name) for name in ("2", "0")]
    told = list[tuple[int, int]]()
    found = compare(grouping, names, theirs, others, lambda done, of: told.append((done, of)))
    assert [found[name].status for name in names] == ["seen"] * 8 + ["unseen"]
    assert found[names[0]].nearest == others[1]
    assert found[names[7]].similarity < THRESHOLD
    assert told == [(done, 20) for done in range(1, 21)]
    assert len(set(grouping.scenes.tolist())) == 2, "the scenes that were given have changed"


def comparison() -> Comparison:
    nearest = PictureName("train", "t")
    found = {
        PictureName("b", "x"): Found("seen", 0.5, nearest),
        PictureName("a", "y/1"): Found("unseen", -0.01, nearest),
    }
    return Comparison(0.22, {"a": "negatives", "b": "pairs"}, {"train": "pairs"}, found)


def test_a_file_says_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(comparison().encode())
    assert read_comparison(path) == comparison()
    assert json.loads(comparison().encode())["pictures"]["b"]["x"] == {
        "status": "seen",
        "similarity": 0.5,
        "nearest": {"set": "train", "name": "t"},
    }


def test_status_of_a_picture() -> None:
    assert comparison().status("b", "x") == "seen"
    assert comparison().status("a", "y/1") == "unseen"
    with pytest.raises(SmokescopeError, match=r"^z of a was not compared"):
        comparison().status("a", "z")


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("status", "maybe", "status should be seen or unseen"),
        ("nearest", {"set": "b", "name": "t"}, 'none of the "others"'),
        ("similarity", None, "similarity should be a number"),
    ],
)
def test_damaged_comparisons_are_refused(tmp_path: Path, key: str, value: object, complaint: str) -> None:
    contents = json.loads(comparison().encode())
    contents["pictures"]["b"]["x"][key] = value
    path = tmp_path / "against.json"
    path.write_text(json.dumps(contents))
    with pytest.raises(SmokescopeError, match=complaint):
        read_comparison(path)
