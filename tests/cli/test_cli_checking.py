"""Data verbs look before they work: all that is wrong is told in one report, and no time is spent."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from PIL import Image

from smokescope.cli.checking import check_first, work_on_checked
from smokescope.data.layouts import Pair, list_pairs
from smokescope.errors import SmokescopeError

Run = Callable[..., CompletedProcess[str]]
WORK = {  # what each verb does with a picture
    "stats": "smokescope.data.statistics.Statistics.add",
    "dedupe": "smokescope.data.duplicates.glance",
    "scribble": "smokescope.data.scribbles.draw_scribble",
    "scenes": "smokescope.data.views.describe_view",
}
verbs = pytest.mark.parametrize("verb", WORK)


def write_set(folder: Path, names: str) -> Path:
    chance = np.random.default_rng(0)
    for name in names:
        for part, shape in (("img", (60, 80, 3)), ("gt", (60, 80))):
            (folder / part).mkdir(parents=True, exist_ok=True)
            pixels = chance.integers(0, 256, shape, np.uint8)
            Image.fromarray(pixels if part == "img" else pixels // 128 * 255).save(
                folder / part / f"{name}.png"
            )
    return folder


def spoil(folder: Path) -> dict[str, str]:
    """Four things wrong with a set of a to f: files, and what is said of them."""
    whole = (folder / "img/f.png").read_bytes()
    (folder / "img/f.png").write_bytes(whole[: len(whole) // 2])  # the header is good, the pixels are not
    (folder / "gt/e.png").write_text("no picture")
    (folder / "gt/d.png").unlink()
    Image.new("L", (8, 9)).save(folder / "gt/c.png")
    return {"img/f.png": "damaged", "gt/e.png": "is not a", "img/d.png": "no mask", "gt/c.png": "in size"}


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("work began")

    for name in WORK.values():
        monkeypatch.setattr(name, fail)


@verbs
@pytest.mark.usefixtures("no_work")
def test_all_problems_are_told_before_any_work(tmp_path: Path, run: Run, verb: str) -> None:
    folder = write_set(tmp_path / "set", "abcdef")
    problems = spoil(folder)
    result = run("data", verb, folder, "--out", tmp_path / "out")
    assert (result.returncode, result.stdout) == (2, "")
    first, *lines = result.stderr.splitlines()
    assert first == "smokescope: 4 things are wrong with the data (--skip-bad leaves those files out):"
    assert len(lines) == 4
    for file, words in problems.items():
        assert any(str(folder / file) in line and words in line for line in lines), file
    assert not (tmp_path / "out").exists()


@verbs
def test_skip_bad_tells_them_and_goes_on(tmp_path: Path, run: Run, verb: str) -> None:
    folder = write_set(tmp_path / "set", "abcdef")
    spoil(folder)
    more = ("--folds", 0) if verb == "scenes" else ()
    result = run("data", verb, folder, "--out", tmp_path / "out", "--skip-bad", *more)
    assert result.returncode == 0
    assert result.stderr.count("smokescope: ") == result.stderr.count("\n") == 4
    assert list((tmp_path / "out").iterdir())


@pytest.mark.usefixtures("no_work")
def test_scenes_checks_what_it_compares_with_too(tmp_path: Path, run: Run) -> None:
    own, other = write_set(tmp_path / "own", "abc"), write_set(tmp_path / "other", "abcdef")
    (own / "gt/a.png").unlink()
    spoil(other)
    result = run("data", "scenes", own, "--against", other, "--out", tmp_path / "out", "--folds", 0)
    assert result.returncode == 2
    assert result.stderr.startswith("smokescope: 5 things are wrong")
    assert f"{own / 'img/a.png'} has no mask" in result.stderr
    assert f"{other / 'img/f.png'} is damaged" in result.stderr


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("spoilt", ["own", "other"])
def test_scenes_needs_pictures_on_both_sides(tmp_path: Path, run: Run, spoilt: str) -> None:
    own, other = write_set(tmp_path / "own", "ab"), write_set(tmp_path / "other", "ab")
    for path in (tmp_path / spoilt / "img").iterdir():
        path.write_text("no picture")
    out = tmp_path / "out"
    result = run("data", "scenes", own, "--against", other, "--out", out, "--folds", 0, "--skip-bad")
    assert result.returncode == 2
    assert result.stderr.endswith(f"no usable picture is left in {tmp_path / spoilt}\n")


def test_a_terminal_sees_that_it_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listing = list_pairs(write_set(tmp_path, "abc"))
    assert check_first(listing, skip_bad=False) == listing
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")  # rich's way to say that it writes to a terminal
    check_first(listing, skip_bad=False)
    shown = capsys.readouterr().err
    assert "checking" in shown
    assert "3/3" in shown


def test_what_fails_all_the_same_stops_it(capsys: pytest.CaptureFixture[str]) -> None:
    seen = []

    def work(pair: Pair) -> None:
        seen.append(pair.name)
        if pair.name == "b":
            raise SmokescopeError("b is gone")

    with pytest.raises(SmokescopeError, match="nothing was written"):
        work_on_checked([Pair(name, Path(name), None) for name in "abc"], work, label="x")
    assert seen == ["a", "b", "c"]
    assert capsys.readouterr().err == "smokescope: b is gone\n"
