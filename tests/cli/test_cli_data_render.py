"""`smokescope data render`, as a user meets it."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from PIL import Image

from smokescope.data.layouts import list_pairs
from smokescope.data.pairs import read_pair, usable_pairs

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def backgrounds(tmp_path: Path) -> Path:
    folder = tmp_path / "hills"
    (folder / "camera").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for number in range(3):
        picture = np.full((96, 128, 3), (130, 170, 230), np.uint8)
        picture[40 + 3 * number :] = rng.integers(30, 80, picture[40 + 3 * number :].shape)
        Image.fromarray(picture).save(folder / "camera" / f"{number}.png")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_writes_a_data_set_that_reads_as_any_other(run: Run, backgrounds: Path, tmp_path: Path) -> None:
    result = run("data", "render", backgrounds, "--out", tmp_path / "out", "--count", "5")
    assert result.returncode == 0, result.stderr
    assert "5 pictures with rendered smoke" in result.stdout
    pairs = usable_pairs(list_pairs(tmp_path / "out"), skip_bad=False).pairs
    assert len(pairs) == 5
    masks = [read_pair(pair)[1] for pair in pairs]
    assert sum(mask.any() for mask in masks) >= 4
    for kind in ("opacity", "transmission"):
        with Image.open(tmp_path / "out" / kind / "000000.png") as image:
            assert image.mode.startswith("I;16")
            assert image.size == (128, 96)


def test_a_longer_run_begins_like_a_shorter(run: Run, backgrounds: Path, tmp_path: Path) -> None:
    for name, count, seed in (("a", 2, 7), ("b", 4, 7), ("c", 2, 8)):
        run("data", "render", backgrounds, "--out", tmp_path / name, "--count", count, "--seed", seed)
    a, b, c = (contents(tmp_path / name) for name in "abc")
    assert a.items() <= b.items()
    assert a["img/000000.jpg"] != c["img/000000.jpg"]


def test_lookalikes_are_a_folder_without_masks(run: Run, backgrounds: Path, tmp_path: Path) -> None:
    result = run("data", "render", backgrounds, "--out", tmp_path / "out", "--count", "3", "--lookalikes")
    assert result.returncode == 0, result.stderr
    assert sorted(contents(tmp_path / "out")) == [f"img/{n:06d}.jpg" for n in range(3)]


def test_masks_of_the_background_are_united(run: Run, backgrounds: Path, tmp_path: Path) -> None:
    data = tmp_path / "set"
    (data / "gt").mkdir(parents=True)
    (backgrounds / "camera").rename(data / "img")
    there = np.zeros((96, 128), np.uint8)
    there[80:90, 5:20] = 255
    for number in range(3):
        Image.fromarray(there).save(data / "gt" / f"{number}.png")
    assert run("data", "render", data, "--out", tmp_path / "out", "--count", "3").returncode == 0
    for pair in list_pairs(tmp_path / "out").pairs:
        assert (read_pair(pair)[1][80:90, 5:20] == 1).all()
    refused = run("data", "render", data, "--out", tmp_path / "x", "--lookalikes")
    assert refused.returncode == 2
    assert "masks" in refused.stderr


def test_bad_files_are_told_and_can_be_skipped(run: Run, backgrounds: Path, tmp_path: Path) -> None:
    (backgrounds / "camera" / "bad.jpg").write_text("not a picture")
    refused = run("data", "render", backgrounds, "--out", tmp_path / "out", "--count", "2")
    assert refused.returncode == 2
    assert "bad.jpg" in refused.stderr
    assert not (tmp_path / "out").exists()
    skipped = run("data", "render", backgrounds, "--out", tmp_path / "out", "--count", "2", "--skip-bad")
    assert skipped.returncode == 0
    assert "bad.jpg" in skipped.stderr
    assert "1 left out" in skipped.stdout


def test_what_was_asked_for_is_refused_before_files_are_read(
    run: Run, backgrounds: Path, tmp_path: Path
) -> None:
    (backgrounds / "camera" / "bad.jpg").write_text("not a picture")
    for out, device, complaint in (
        (backgrounds / "more", "cpu", "among the backgrounds"),
        (tmp_path / "out", "steam", "there is no device"),
    ):
        refused = run("data", "render", backgrounds, "--out", out, "--device", device)
        assert refused.returncode == 2
        assert complaint in refused.stderr


def test_never_mixes_with_what_is_there(run: Run, backgrounds: Path, tmp_path: Path) -> None:
    """Lookalikes over an earlier run's masks would be fog that is called smoke."""
    assert run("data", "render", backgrounds, "--out", tmp_path / "out", "--count", "2").returncode == 0
    before = contents(tmp_path)
    for out in (tmp_path / "out", backgrounds, backgrounds / "more"):
        for kind in ((), ("--lookalikes",)):
            refused = run("data", "render", backgrounds, "--out", out, "--count", "1", *kind)
            assert refused.returncode == 2
            assert "name a" in refused.stderr
    assert contents(tmp_path) == before
