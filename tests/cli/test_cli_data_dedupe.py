"""`smokescope data dedupe`: what repeats what, and a list of what to keep; nothing half-written."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from PIL import Image
from tests.data.test_duplicates import Mask, Pixels, background, smoky, with_smoke
from tests.data.test_plumes import blob, paste, scaled

Run = Callable[..., CompletedProcess[str]]


def save(folder: Path, name: str, picture: Pixels, mask: Mask | None, quality: int = 75) -> None:
    (folder / "img").mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(folder / "img" / name, quality=quality)
    if mask is not None:
        (folder / "gt").mkdir(exist_ok=True)
        Image.fromarray((mask * 255).astype(np.uint8)).save(folder / "gt" / f"{Path(name).stem}.png")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Six pairs: an original, its copy with other metadata, a JPEG of it, its smoke elsewhere; two others."""
    folder = tmp_path / "set"
    picture, mask = smoky(7)
    save(folder, "a.png", picture, mask)
    save(folder, "b.bmp", picture, mask)
    save(folder, "c.jpg", picture, mask, quality=80)
    elsewhere = paste(scaled(blob(7)[:, ::-1], 0.85), 10, 130)
    save(folder, "d.png", with_smoke(background(8), elsewhere), elsewhere)
    save(folder, "e.png", *smoky(9))
    moved = paste(scaled(blob(10), 0.1), 30, 150)
    save(folder, "f.png", with_smoke(background(9), moved), moved)
    return folder


def test_finds_each_kind_and_says_what_to_keep(data: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out"
    result = run("data", "dedupe", data, "--out", out)
    assert (result.returncode, result.stderr) == (0, "")
    assert "3 of 6 pictures to keep" in result.stdout
    assert (out / "keep.txt").read_text() == "a\ne\nf\n"
    report = json.loads((out / "duplicates.json").read_text())
    assert (report["pictures"], report["kept"]) == (6, 3)
    assert report["dropped"] == {"exact": 1, "near": 1, "smoke": 1}
    assert report["smoke_not_compared"] == {"small": ["f"], "cut": [], "scattered": [], "plain": []}
    for kind, name in (("exact", "b"), ("near", "c"), ("smoke", "d")):
        (group,) = report["groups"][kind]
        assert (group["kept"], [d["name"] for d in group["dropped"]]) == ("a", [name])
        assert group["why"] == "first name of those with most pixels"
    with Image.open(out / "sheet-001.png") as sheet:
        assert sheet.height > 3 * 150  # a row for each group
    assert sorted(p.name for p in out.iterdir()) == ["duplicates.json", "keep.txt", "sheet-001.png"]


def test_every_name_is_kept_or_dropped_once(data: Path, tmp_path: Path, run: Run) -> None:
    run("data", "dedupe", data, "--out", tmp_path / "out")
    report = json.loads((tmp_path / "out/duplicates.json").read_text())
    groups = [group for kind in report["groups"].values() for group in kind]
    kept = (tmp_path / "out/keep.txt").read_text().split()
    assert sorted(kept + [d["name"] for g in groups for d in g["dropped"]]) == list("abcdef")
    assert {group["kept"] for group in groups} <= set(kept)


def test_the_same_run_writes_the_same_bytes(data: Path, tmp_path: Path, run: Run) -> None:
    for out in ("one", "two"):
        assert run("data", "dedupe", data, "--out", tmp_path / out).returncode == 0
    names = sorted(p.name for p in (tmp_path / "one").iterdir())
    assert names == sorted(p.name for p in (tmp_path / "two").iterdir())
    assert all((tmp_path / "one" / n).read_bytes() == (tmp_path / "two" / n).read_bytes() for n in names)


def test_the_larger_picture_is_kept(tmp_path: Path, run: Run) -> None:
    picture = background(3)
    save(tmp_path / "pics", "a-small.png", np.asarray(Image.fromarray(picture).resize((180, 150))), None)
    save(tmp_path / "pics", "b-large.png", picture, None)
    assert run("data", "dedupe", tmp_path / "pics", "--out", tmp_path / "out").returncode == 0
    assert (tmp_path / "out/keep.txt").read_text() == "img/b-large\n"
    (group,) = json.loads((tmp_path / "out/duplicates.json").read_text())["groups"]["near"]
    assert group["why"] == "most pixels"
    assert group["dropped"][0]["mask"] is None


def test_sheets_of_an_earlier_run_go_away(data: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "sheet-002.png").write_text("old")
    (out / "sheet-notes.png").write_text("mine")
    run("data", "dedupe", data, "--out", out)
    assert sorted(p.name for p in out.glob("sheet-*")) == ["sheet-001.png", "sheet-notes.png"]


def test_bad_files_stop_the_run_or_are_skipped(data: Path, tmp_path: Path, run: Run) -> None:
    (data / "img/bad.png").write_text("no picture")
    (data / "gt/bad.png").write_text("no picture")
    whole = (data / "img/e.png").read_bytes()
    (data / "img/e.png").write_bytes(whole[: len(whole) // 2])  # the header is good, the pixels are not
    out = tmp_path / "out"
    result = run("data", "dedupe", data, "--out", out)
    assert (result.returncode, result.stdout) == (2, "")
    assert "img/bad.png" in result.stderr
    (data / "img/bad.png").unlink()
    (data / "gt/bad.png").unlink()
    result = run("data", "dedupe", data, "--out", out)
    assert (result.returncode, result.stdout) == (2, "")
    assert "img/e.png is damaged" in result.stderr
    assert "--skip-bad" in result.stderr
    assert list(tmp_path.glob("out/*")) == []
    result = run("data", "dedupe", data, "--out", out, "--skip-bad")
    assert result.returncode == 0
    assert "img/e.png is damaged" in result.stderr
    assert (out / "keep.txt").read_text() == "a\nf\n"


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.mkdir(), lambda p: p.write_text("file")])
def test_a_folder_without_pictures_is_refused(
    tmp_path: Path, run: Run, make: Callable[[Path], object]
) -> None:
    make(tmp_path / "pics")
    result = run("data", "dedupe", tmp_path / "pics", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert result.stderr.startswith("smokescope: ")
    assert str(tmp_path / "pics") in result.stderr
    assert not (tmp_path / "out").exists()


def test_results_do_not_become_pictures_of_the_next_run(tmp_path: Path, run: Run) -> None:
    save(tmp_path, "a.png", background(1), None)
    result = run("data", "dedupe", tmp_path / "img", "--out", tmp_path / "img/out")
    assert result.returncode == 2
    assert "name another" in result.stderr
    assert not (tmp_path / "img/out").exists()


def test_a_full_disk_leaves_nothing(
    data: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, calls = os.fsync, []

    def fills_up(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fills_up)
    result = run("data", "dedupe", data, "--out", tmp_path / "out")
    assert result.returncode == 2
    assert "no space left on device" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_large_group_shows_a_sample_chosen_by_the_seed(tmp_path: Path, run: Run) -> None:
    picture = background(5)
    for i in range(20):
        save(tmp_path / "pics", f"{i:02}.png", picture, None)
    sheets = []
    for out, seed in (("a", 0), ("b", 0), ("c", 1)):
        assert (
            run("data", "dedupe", tmp_path / "pics", "--out", tmp_path / out, "--seed", seed).returncode == 0
        )
        sheets.append((tmp_path / out / "sheet-001.png").read_bytes())
    assert sheets[0] == sheets[1] != sheets[2]  # captions tell which were chosen
    assert (tmp_path / "a/keep.txt").read_bytes() == (tmp_path / "c/keep.txt").read_bytes()
