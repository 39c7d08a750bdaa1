"""Collecting: which pictures are meant, and what their results are called."""

from pathlib import Path

import pytest

from smokescope.data.inputs import collect_pictures
from smokescope.errors import SmokescopeError


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def names(inputs: list[Path], out: Path) -> list[str]:
    found = collect_pictures(inputs, out)
    assert found.problems == []
    return [str(picture.name) for picture in found.pictures]


def test_files_are_taken_whatever_their_suffix(tmp_path: Path) -> None:
    touch(tmp_path, "b.jpg", "a.camera", "plain")
    inputs = [tmp_path / "b.jpg", tmp_path / "a.camera", tmp_path / "plain"]
    assert names(inputs, tmp_path / "out") == ["b", "a", "plain"]


def test_folders_are_walked_sorted_by_suffix_without_the_hidden(tmp_path: Path) -> None:
    touch(tmp_path, "z.JPG", "a.png", "sub/a.png", "sub/deep/x.v2.tif", "notes.txt", ".x.jpg", ".git/y.jpg")
    assert names([tmp_path], tmp_path / "out") == ["a", "z", "sub/a", "sub/deep/x.v2"]


def test_paths_stay_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "pics/a.png")
    monkeypatch.chdir(tmp_path)
    found = collect_pictures([Path("pics")], Path("out"))
    assert str(found.pictures[0].path) == "pics/a.png"
    assert found.pictures[0].result(Path("out"), ".mask.png") == Path("out/a.mask.png")


def test_what_is_given_twice_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "pics/a.png", "pics/b.png")
    monkeypatch.chdir(tmp_path)
    inputs = [Path("pics/a.png"), Path("pics"), tmp_path / "pics/../pics/b.png", Path("pics")]
    assert names(inputs, Path("out")) == ["a", "b"]


def test_a_link_beside_its_target_is_a_picture_of_its_own(tmp_path: Path) -> None:
    touch(tmp_path, "pics/a.png")
    (tmp_path / "pics" / "latest.png").symlink_to("a.png")
    assert names([tmp_path / "pics"], tmp_path / "out") == ["a", "latest"]


def test_dots_in_a_name_are_kept(tmp_path: Path) -> None:
    touch(tmp_path, "cam.2024.08.jpg")
    found = collect_pictures([tmp_path / "cam.2024.08.jpg"], tmp_path / "out")
    assert found.pictures[0].result(Path("o"), ".t.png") == Path("o/cam.2024.08.t.png")


@pytest.mark.parametrize("pair", [("a.jpg", "a.png"), ("a.jpg", "A.png")])
def test_results_that_would_collide_are_refused_naming_both(tmp_path: Path, pair: tuple[str, str]) -> None:
    touch(tmp_path, *pair)
    with pytest.raises(SmokescopeError) as caught:
        collect_pictures([tmp_path], tmp_path / "out")
    assert all(str(tmp_path / name) in str(caught.value) for name in pair)


def test_files_of_the_same_name_from_two_folders_collide(tmp_path: Path) -> None:
    touch(tmp_path, "x/a.jpg", "y/a.jpg")
    with pytest.raises(SmokescopeError, match="same name"):
        collect_pictures([tmp_path / "x" / "a.jpg", tmp_path / "y" / "a.jpg"], tmp_path / "out")
    assert names([tmp_path], tmp_path / "out") == ["x/a", "y/a"]  # from their common folder they do not


def test_what_gives_nothing_is_a_problem_and_the_rest_goes_on(tmp_path: Path) -> None:
    touch(tmp_path, "a.jpg", "texts/b.txt")
    (tmp_path / "empty").mkdir()
    long = tmp_path / ("x" * 300)
    inputs = [tmp_path / "missing.jpg", tmp_path / "empty", tmp_path / "texts", long, tmp_path / "a.jpg"]
    found = collect_pictures(inputs, tmp_path / "out")
    assert [picture.path.name for picture in found.pictures] == ["a.jpg"]
    assert [str(problem) for problem in found.problems] == [
        f"{tmp_path / 'missing.jpg'} does not exist",
        f"the folder {tmp_path / 'empty'} holds no pictures",
        f"the folder {tmp_path / 'texts'} holds no pictures",
        f"{long} cannot be read: file name too long",
    ]


def test_results_of_an_earlier_run_are_no_inputs(tmp_path: Path) -> None:
    touch(tmp_path, "a.jpg", "out/a.mask.png", "out/sub/b.png")
    assert names([tmp_path], tmp_path / "out") == ["a"]
    with pytest.raises(SmokescopeError, match="name another output folder"):
        collect_pictures([tmp_path], tmp_path / "out" / "..")


def test_an_unreadable_subfolder_is_told(tmp_path: Path, locked: str) -> None:
    touch(tmp_path, "a.jpg", f"{locked}/b.jpg")
    found = collect_pictures([tmp_path], tmp_path / "out")
    assert [str(p.name) for p in found.pictures] == ["a"]
    assert [str(p) for p in found.problems] == [
        f"the folder {tmp_path / 'locked'} cannot be read: permission denied"
    ]


@pytest.mark.parametrize("address", ["https://hill.example/a.jpg", "rtsp://camera/stream"])
def test_an_address_is_told_apart_from_a_missing_file(tmp_path: Path, address: str) -> None:
    found = collect_pictures([Path(address)], tmp_path / "out")
    assert [problem.sentence.partition(" ")[2] for problem in found.problems] == [
        "is an address: download it first"
    ]


def test_patterns_stand_for_what_they_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "pics/b.jpg", "pics/a.jpg", "pics/c.png", "pics/deep/d.jpg", "[odd].jpg", "o.jpg")
    monkeypatch.chdir(tmp_path)
    assert names([Path("pics/*.jpg")], Path("out")) == ["a", "b"]
    assert names([Path("pics/**/*.jpg")], Path("out")) == ["a", "b", "d"]
    assert names([Path("[odd].jpg")], Path("out")) == ["[odd]"]
    assert [str(p.path) for p in collect_pictures([Path("p*/a.jpg")], Path("out")).pictures] == ["pics/a.jpg"]
    found = collect_pictures([Path("pics/*.tif"), Path("pics/a.jpg")], Path("out"))
    assert [str(picture.name) for picture in found.pictures] == ["a"]
    assert [str(problem) for problem in found.problems] == ["nothing matches pics/*.tif"]


def test_other_suffixes_may_be_asked_for(tmp_path: Path) -> None:
    touch(tmp_path, "a.jpg", "b.MP4", "c.txt")
    found = collect_pictures([tmp_path], tmp_path / "out", {".jpg", ".mp4"})
    assert [str(picture.name) for picture in found.pictures] == ["a", "b"]
