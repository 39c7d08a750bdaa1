"""Sets have the shortest names that tell them apart, and are found again by their folders."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smokescope.data.sets import find_set, list_sets
from smokescope.errors import SmokescopeError


def make(folder: Path, *files: str) -> Path:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    return folder


def test_data_sets_and_plain_folders(tmp_path: Path) -> None:
    pairs = make(tmp_path / "smoke", "img/a.jpg", "gt/a.png")
    plain = make(tmp_path / "clear", "fog/b.jpg", "c.png")
    found = list_sets([pairs, plain, tmp_path / "smoke/../smoke"])
    assert [(s.name, s.kind) for s in found] == [("clear", "negatives"), ("smoke", "pairs")]
    assert [pair.name for pair in found[0].listing.pairs] == ["c", "fog/b"]
    assert [pair.name for pair in found[1].listing.pairs] == ["a"]


def test_as_much_of_the_path_as_tells_them_apart(tmp_path: Path) -> None:
    folders = [make(tmp_path / name, "a.jpg") for name in ("x/one/train", "x/two/train", "y/two/train", "z")]
    names = [s.name for s in list_sets(folders)]
    assert names == ["one/train", "x/two/train", "y/two/train", "z"]
    assert [s.name for s in list_sets(folders[::-1])] == names
    for folder, name in zip(folders, names, strict=True):
        assert find_set(names, folder) == name
    assert find_set(["train"], folders[0]) == "train"
    with pytest.raises(SmokescopeError, match=r"train is none of the known sets: test, val$"):
        find_set(["val", "test"], folders[0])


@given(st.lists(st.text("ab/", min_size=1, max_size=8), min_size=1, max_size=6))
def test_found_by_the_most_of_the_path(names: list[str]) -> None:
    known = [name.strip("/") for name in names if "//" not in name and name.strip("/")]
    for name in known:
        assert find_set(known, Path("/r") / name) == name


def test_the_folder_we_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make(tmp_path / "here", "a.jpg"))
    assert [s.name for s in list_sets([Path()])] == ["here"]


def test_a_link_keeps_the_name_it_was_given(tmp_path: Path) -> None:
    make(tmp_path / "target", "a.jpg")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert [s.name for s in list_sets([tmp_path / "link"])] == ["link"]


def test_masks_are_not_taken_for_pictures(tmp_path: Path) -> None:
    make(tmp_path / "all", "train/img/a.jpg", "train/gt/a.png")
    with pytest.raises(SmokescopeError, match=r"a\.png looks like a mask"):
        list_sets([tmp_path / "all"])
