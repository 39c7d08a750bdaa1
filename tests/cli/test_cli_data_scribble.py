"""`smokescope data scribble`: strokes for a whole set, each picture's its own."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from PIL import Image

from smokescope.data.scribbles import read_scribble

Run = Callable[..., CompletedProcess[str]]


def write_pair(folder: Path, name: str, radius: int = 20) -> None:
    rows, columns = np.mgrid[:96, :128]
    smoke = (rows - 40) ** 2 + (columns - 60) ** 2 <= radius**2
    for path, pixels in (("img", np.full((96, 128, 3), 90, np.uint8)), ("gt", smoke)):
        target = folder / path / f"{name}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(target)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, radius in (("one", 20), ("fire/two", 35), ("three", 0)):
        write_pair(tmp_path / "set", name, radius)
    return tmp_path / "set"


def read_all(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.png")}


def test_every_mask_gets_a_scribble(tmp_path: Path, data: Path, run: Run) -> None:
    result = run("data", "scribble", data, "--out", tmp_path / "out")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"3 scribbles are in {tmp_path / 'out'}\n"
    assert set(read_all(tmp_path / "out")) == {"one.png", "fire/two.png", "three.png"}
    for name in ("one", "fire/two", "three"):
        with Image.open(tmp_path / f"out/{name}.png") as image:
            assert (image.mode, image.size) == ("L", (128, 96))
        scribble = read_scribble(tmp_path / f"out/{name}.png")
        smoke = np.asarray(Image.open(data / f"gt/{name}.png"))
        assert set(np.unique(scribble)) == {0, 1, 2}
        assert smoke[scribble == 1].all()
        assert not smoke[scribble == 2].any()


def test_seeds_reproduce_and_other_pictures_do_not_matter(tmp_path: Path, data: Path, run: Run) -> None:
    run("data", "scribble", data, "--out", tmp_path / "a")
    write_pair(data, "another")
    run("data", "scribble", data, "--out", tmp_path / "b")
    run("data", "scribble", data, "--out", tmp_path / "c", "--seed", 1)
    first, second, third = (read_all(tmp_path / name) for name in "abc")
    assert first == {name: second[name] for name in first}
    assert first["one.png"] != third["one.png"]
    assert second["one.png"] != second["another.png"]  # the same mask, another name


@pytest.mark.parametrize("where", ["img", "gt", "gt/scribbles"])
def test_it_does_not_write_among_the_data(data: Path, run: Run, where: str) -> None:
    before = read_all(data)
    result = run("data", "scribble", data, "--out", data / where)
    assert result.returncode == 2
    assert "name another output folder" in result.stderr
    assert read_all(data) == before


def test_a_folder_beside_them_is_fine(data: Path, run: Run) -> None:
    assert run("data", "scribble", data, "--out", data / "scribbles").returncode == 0


@pytest.mark.parametrize("kind", ["size", "pixels", "unpaired"])
def test_bad_masks_stop_it_unless_skipped(tmp_path: Path, data: Path, run: Run, kind: str) -> None:
    bad = data / "gt/one.png"
    if kind == "size":
        Image.new("1", (5, 5)).save(bad)
    elif kind == "pixels":
        bad.write_bytes(bad.read_bytes()[:-40])
    else:
        (data / "img/one.png").unlink()
    result = run("data", "scribble", data, "--out", tmp_path / "out")
    assert (result.returncode, result.stdout) == (2, "")
    assert str(bad) in result.stderr
    assert "--skip-bad" in result.stderr
    assert not (tmp_path / "out").exists()
    result = run("data", "scribble", data, "--out", tmp_path / "out", "--skip-bad")
    assert result.returncode == 0
    assert result.stdout.endswith("; 1 left out\n")
    assert str(bad) in result.stderr
    assert set(read_all(tmp_path / "out")) == {"fire/two.png", "three.png"}


def test_pictures_without_masks_are_no_data_set(tmp_path: Path, data: Path, run: Run) -> None:
    result = run("data", "scribble", data / "img", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert "is not a data set" in result.stderr
