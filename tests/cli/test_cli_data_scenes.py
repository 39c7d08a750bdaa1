"""`smokescope data scenes`: groups, folds and sheets of any folder; one sentence for what is wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from PIL import Image
from tests.data.hills import as_jpeg, hills

from smokescope.data import files
from smokescope.data.comparison import read_comparison
from smokescope.data.folds import read_folds
from smokescope.data.scenes import THRESHOLD, read_scenes
from smokescope.data.sets import PictureName

Run = Callable[..., CompletedProcess[str]]

SMOKE = {"a1": 0, "b1": 1, "a2": 0, "c1": 2, "b2": 1, "a3": 0}
CLEAR = {"north/a4": 0, "north/d1": 3, "d2": 3, "e1": 4}


def write_sets(folder: Path) -> tuple[Path, Path]:
    """A data set and a folder of negatives; a name's letter is the view."""
    for frame, (name, seed) in enumerate(SMOKE.items()):
        picture = hills(seed, frame=frame, light=0.7, shift=(frame, 0), smoke=True)
        path = folder / "smoke/img" / f"{name}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_jpeg(picture))
        mask = folder / "smoke/gt" / f"{name}.png"
        mask.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros(picture.shape[:2], np.uint8)).save(mask)
    for frame, (name, seed) in enumerate(CLEAR.items()):
        path = folder / "clear" / f"{name}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_jpeg(hills(seed, frame=frame + 10)))
    return folder / "smoke", folder / "clear"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_views_become_scenes_and_scenes_stay_in_one_fold(tmp_path: Path, run: Run) -> None:
    smoke, clear = write_sets(tmp_path)
    result = run("data", "scenes", smoke, clear, "--out", tmp_path / "out", "--folds", 2)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("10 pictures show 5 scenes; the largest has 4 pictures, 2 have one\n")
    found = read_scenes(tmp_path / "out/scenes.json")
    assert [{picture.name.split("/")[-1][0] for picture in scene} for scene in found.scenes] == [
        {letter}
        for letter in "adbec"  # by size, then by set and name
    ]
    assert found.sets == {"clear": "negatives", "smoke": "pairs"}
    folds = read_folds(tmp_path / "out/folds.json")
    for scene in found.scenes:
        assert sum(bool(set(scene) & set(fold)) for fold in folds.folds) == 1
    assert sorted(folds.validation(1, "smoke") + folds.training(1, "smoke")) == sorted(SMOKE)
    with Image.open(tmp_path / "out/sheet-001.png") as sheet:
        assert sheet.width > 1000
    assert str(tmp_path).encode() not in b"".join(contents(tmp_path / "out").values())


def test_the_order_of_folders_changes_nothing(tmp_path: Path, run: Run) -> None:
    smoke, clear = write_sets(tmp_path)
    orders = {"one": (smoke, clear), "other": (clear, smoke), "twice": (clear, smoke, clear)}
    for out, folders in orders.items():
        assert run("data", "scenes", *folders, "--out", tmp_path / out, "--folds", 3).returncode == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "other") == contents(tmp_path / "twice")


def test_against_tells_what_was_seen(tmp_path: Path, run: Run) -> None:
    smoke, clear = write_sets(tmp_path)
    result = run("data", "scenes", clear, "--against", smoke, "--out", tmp_path / "out", "--folds", 0)
    assert (result.returncode, result.stderr) == (0, "")
    assert f"pictures whose scene {smoke} shows too: 1; others: 3" in result.stdout
    compared = read_comparison(tmp_path / "out/against.json")
    assert {name: compared.status("clear", name) for name in CLEAR} == {
        "north/a4": "seen", "north/d1": "unseen", "d2": "unseen", "e1": "unseen"
    }  # fmt: skip
    assert compared.pictures[PictureName("clear", "north/a4")].nearest.name[0] == "a"
    assert read_scenes(tmp_path / "out/scenes.json").sets == {"clear": "negatives"}
    assert not (tmp_path / "out/folds.json").exists()


def test_a_picture_is_seen_through_another_of_its_scene(tmp_path: Path, run: Run) -> None:
    """A turning camera: the last step is like no picture of the other set, but its scene reaches there."""
    for i in range(9):
        path = tmp_path / ("other" if i == 0 else "own") / f"{i}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(as_jpeg(hills(5, shift=(12 * i, 0))))
    own, other, out = tmp_path / "own", tmp_path / "other", tmp_path / "out"
    run("data", "scenes", own, "--against", other, "--out", out, "--folds", 0)
    compared = read_comparison(out / "against.json")
    assert compared.pictures[PictureName("own", "8")].similarity < compared.threshold
    assert {found.status for found in compared.pictures.values()} == {"seen"}


def test_bad_files_are_all_told_and_nothing_is_written(tmp_path: Path, run: Run) -> None:
    smoke, clear = write_sets(tmp_path)
    (clear / "cut.jpg").write_bytes(as_jpeg(hills(0))[:900])
    (smoke / "gt/c1.png").unlink()
    result = run("data", "scenes", smoke, clear, "--out", tmp_path / "out", "--folds", 2)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("smokescope: 2 things are wrong")
    assert result.stderr.count("\n") == 3
    for words in ("cut.jpg is damaged", "c1.jpg has no mask", "--skip-bad"):
        assert words in result.stderr
    assert not (tmp_path / "out").exists()

    result = run("data", "scenes", smoke, clear, "--out", tmp_path / "out", "--folds", 2, "--skip-bad")
    assert result.returncode == 0
    assert "cut.jpg is damaged" in result.stderr
    assert result.stdout.startswith("9 pictures show 4 scenes")


def test_a_failing_disk_leaves_nothing(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    smoke, _ = write_sets(tmp_path)
    write = files._write_through

    def full(path: Path, data: bytes) -> None:
        if data.startswith(b"\x89PNG"):
            raise OSError(28, "No space left on device")
        write(path, data)

    monkeypatch.setattr(files, "_write_through", full)
    result = run("data", "scenes", smoke, "--out", tmp_path / "out", "--folds", 2)
    assert result.returncode == 2
    assert "sheet-001.png cannot be written: no space left" in result.stderr
    assert not (tmp_path / "out").exists()


def test_sheets_of_an_earlier_run_go(tmp_path: Path, run: Run) -> None:
    smoke, _ = write_sets(tmp_path)
    (tmp_path / "out").mkdir()
    for name in ("sheet-007.png", "sheet-me.png"):
        (tmp_path / "out" / name).touch()
    run("data", "scenes", smoke, "--out", tmp_path / "out", "--folds", 2)
    left = {"folds.json", "scenes.json", "sheet-001.png", "sheet-me.png"}
    assert contents(tmp_path / "out").keys() == left


def test_the_threshold_is_used_and_written(tmp_path: Path, run: Run) -> None:
    smoke, _ = write_sets(tmp_path)
    run("data", "scenes", smoke, "--out", tmp_path / "out", "--folds", 0, "--threshold", 1)
    assert json.loads((tmp_path / "out/scenes.json").read_text())["settings"] == {"threshold": 1.0}
    assert len(read_scenes(tmp_path / "out/scenes.json").scenes) == len(SMOKE)


def test_help_tells_the_threshold(run: Run) -> None:
    assert f"{THRESHOLD} if not given" in " ".join(run("data", "scenes", "--help").stdout.split())


def test_bad_requests_get_one_sentence(tmp_path: Path, run: Run) -> None:
    smoke, clear = write_sets(tmp_path)
    out = tmp_path / "out"
    for arguments, words in (
        ((tmp_path / "nowhere", "--out", out), "nowhere is not a folder"),
        ((smoke, "--out", out), "3 scenes are too few for 5 folds"),
        ((smoke, "--out", out, "--folds", 1), "one fold is not a split"),
        ((smoke, "--out", out, "--against", smoke), "cannot be compared with itself"),
        ((smoke, clear, "--out", out, "--against", smoke / "../clear"), "cannot be compared with itself"),
        ((clear, "--out", clear / "north"), "among the data: name another output folder"),
        ((smoke, "--out", clear / "x", "--against", clear), "among the data: name another output folder"),
        ((tmp_path, "--out", out), "looks like a mask"),
    ):
        result = run("data", "scenes", *arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith("smokescope: ")
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
        assert not out.exists()
    assert run("data", "scenes", smoke, "--out", out, "--threshold", "0").returncode == 2
