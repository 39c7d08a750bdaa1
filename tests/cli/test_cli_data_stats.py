"""`smokescope data stats`: four files that are whole and right, and sentences for what is wrong."""

import base64
import csv
import io
import json
import math
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from PIL import Image

from smokescope.data.statistics import ATTRIBUTES

Run = Callable[..., CompletedProcess[str]]
FILES = {"stats.csv", "stats.json", "stats.html", "difficult.txt"}


def write_pair(folder: Path, name: str, radius: int, haze: int) -> None:
    """A slope under a blue sky, with a disc of smoke; less haze is less contrast."""
    rows, columns = np.mgrid[:96, :128]
    smoke = (rows - 40) ** 2 + (columns - 60) ** 2 <= radius**2
    picture = np.where(rows[..., None] < 50, (80, 120, 200), (60, 70, 40)).astype(np.uint8)
    picture[smoke] += np.uint8(haze)
    for path, pixels in (("img", picture), ("gt", smoke)):
        target = folder / path / f"{name}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(target)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, radius, haze in (("easy", 30, 55), ("a/middle", 15, 30), ("b,<i>", 8, 15), ("hard", 3, 5)):
        write_pair(tmp_path / "set", name, radius, haze)
    return tmp_path / "set"


class Page(HTMLParser):
    """Checks that tags close in order, and collects addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)


def read_rows(out: Path) -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in csv.DictReader(io.StringIO((out / "stats.csv").read_text()))}


def test_a_set_is_measured_and_ranked(tmp_path: Path, data: Path, run: Run) -> None:
    result = run("data", "stats", data, "--out", tmp_path / "out")
    assert (result.returncode, result.stderr) == (0, "")
    assert "4 pictures, 4 with smoke\n" in result.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES

    rows = read_rows(tmp_path / "out")
    assert list(rows) == sorted(["easy", "a/middle", "b,<i>", "hard"])
    assert list(rows["easy"]) == ["name", "width", "height", *ATTRIBUTES, "difficulty", "rank"]
    assert float(rows["easy"]["size"]) == pytest.approx(math.pi * 30**2 / (96 * 128), rel=0.02)
    assert {name: row["rank"] for name, row in rows.items()} == {
        "hard": "1",
        "b,<i>": "2",
        "a/middle": "3",
        "easy": "4",
    }
    assert (rows["easy"]["width"], rows["easy"]["height"], rows["easy"]["parts"]) == ("128", "96", "1")
    assert (tmp_path / "out/difficult.txt").read_text() == "hard\n"

    summary = json.loads((tmp_path / "out/stats.json").read_text())
    sizes = [float(row["size"]) for row in rows.values()]
    assert (summary["pictures"], summary["with_mask"], summary["with_smoke"]) == (4, 4, 4)
    assert summary["attributes"]["size"]["median"] == pytest.approx(np.median(sizes), rel=1e-5)
    assert summary["attributes"]["size"]["quartile3"] == pytest.approx(np.quantile(sizes, 0.75), rel=1e-5)
    assert summary["difficult"]["count"] == 1
    assert set(summary["attributes"]) == set(ATTRIBUTES)


def test_the_page_is_whole_and_asks_for_nothing(tmp_path: Path, data: Path, run: Run) -> None:
    run("data", "stats", data, "--out", tmp_path / "out")
    text = (tmp_path / "out/stats.html").read_text()
    page = Page(text)
    assert all(address.startswith("data:image/") for address in page.addresses)
    assert not re.findall(r"url\(|@import|<script", text)
    assert text.count("<svg") >= 12
    thumbnails = [a for a in page.addresses if a.startswith("data:image/jpeg;base64,")]
    assert len(thumbnails) == 8  # two pictures by each end of the ranking, and four at random
    with Image.open(io.BytesIO(base64.b64decode(thumbnails[0].split(",")[1]))) as image:
        assert image.size == (128, 96)
    assert "b,&lt;i&gt;" in text
    assert "prefers-color-scheme: dark" in text


@pytest.mark.parametrize(("count", "shown"), [(1, (1, 0)), (5, (3, 2)), (40, (16, 16))])
def test_the_ends_of_the_ranking_share_no_picture(
    tmp_path: Path, run: Run, count: int, shown: tuple[int, int]
) -> None:
    for i in range(count):
        write_pair(tmp_path / "set", f"p{i}", 3 + i % 30, 10 + i)
    run("data", "stats", tmp_path / "set", "--out", tmp_path / "out")
    ranks = {name: int(row["rank"]) for name, row in read_rows(tmp_path / "out").items()}
    page = (tmp_path / "out/stats.html").read_text()
    titles = ("Most difficult", "Easiest", "At random")
    sections = {part.split("<", 1)[0]: part for part in page.split("<h2>") if part.startswith(titles)}
    hard, easy = (
        [ranks[name] for name in re.findall(r"<figcaption>(p\d+) ", sections.get(title, ""))]
        for title in titles[:2]
    )
    assert hard == list(range(1, shown[0] + 1))
    assert easy == list(range(count, count - shown[1], -1))


def test_the_difficult_share_can_be_chosen(tmp_path: Path, data: Path, run: Run) -> None:
    run("data", "stats", data, "--out", tmp_path / "out", "--difficult", 0.5)
    assert (tmp_path / "out/difficult.txt").read_text() == "hard\nb,<i>\n"
    assert run("data", "stats", data, "--out", tmp_path / "x", "--difficult", 1.5).returncode == 2


def test_runs_repeat_and_seeds_differ(tmp_path: Path, run: Run) -> None:
    for i in range(20):
        write_pair(tmp_path / "set", f"{i}", 3 + i, 20 + i)
    for out, seed in (("a", 0), ("b", 0), ("c", 1)):
        run("data", "stats", tmp_path / "set", "--out", tmp_path / out, "--seed", seed)
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (tmp_path / "a/stats.html").read_bytes() != (tmp_path / "c/stats.html").read_bytes()
    assert (tmp_path / "a/stats.csv").read_bytes() == (tmp_path / "c/stats.csv").read_bytes()


def test_pictures_without_masks_have_quality_alone(tmp_path: Path, data: Path, run: Run) -> None:
    Image.new("RGB", (64, 48), (200, 200, 200)).save(data / "img/fog.png")
    result = run("data", "stats", data / "img", "--out", tmp_path / "out")
    assert result.returncode == 0
    row = read_rows(tmp_path / "out")["easy"]
    assert row["size"] == row["contrast"] == row["difficulty"] == row["transmission_outside"] == ""
    assert float(row["sharpness"]) > 0
    assert (row["confusable"], read_rows(tmp_path / "out")["fog"]["confusable"]) == ("0", "1")
    summary = json.loads((tmp_path / "out/stats.json").read_text())
    assert (summary["with_mask"], summary["with_smoke"], summary["centre_bias"]) == (0, 0, None)
    assert summary["attributes"]["size"] == {**dict.fromkeys(summary["attributes"]["size"]), "count": 0}
    assert (tmp_path / "out/difficult.txt").read_text() == ""
    Page((tmp_path / "out/stats.html").read_text())


def test_an_empty_mask_is_a_picture_without_smoke(tmp_path: Path, data: Path, run: Run) -> None:
    Image.new("1", (128, 96)).save(data / "gt/hard.png")
    result = run("data", "stats", data, "--out", tmp_path / "out")
    assert "4 pictures, 3 with smoke\n" in result.stdout
    row = read_rows(tmp_path / "out")["hard"]
    assert (row["size"], row["parts"], row["contrast"], row["rank"]) == ("0", "0", "", "")


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("kind", ["header", "pixels", "unpaired"])
def test_bad_files_stop_it_unless_skipped(tmp_path: Path, data: Path, run: Run, kind: str) -> None:
    bad = data / "img/hard.png"
    if kind == "header":
        bad.write_text("text")
    elif kind == "pixels":
        damage(bad)
    else:
        (data / "gt/hard.png").unlink()
    result = run("data", "stats", data, "--out", tmp_path / "out")
    assert result.returncode == 2
    assert str(bad) in result.stderr
    assert "--skip-bad" in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.glob("out/*")) == []

    result = run("data", "stats", data, "--out", tmp_path / "out", "--skip-bad")
    assert result.returncode == 0
    assert "3 pictures, 3 with smoke; 1 left out\n" in result.stdout
    assert str(bad) in result.stderr
    assert list(read_rows(tmp_path / "out")) == sorted(["a/middle", "b,<i>", "easy"])


def test_folders_that_cannot_be_meant(tmp_path: Path, data: Path, run: Run) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "empty/img").mkdir(parents=True)
    (tmp_path / "empty/gt").mkdir()
    for folder, words in (
        (tmp_path / "missing", "is not a folder"),
        (tmp_path / "none", "holds no pictures"),
        (tmp_path / "empty", "holds no pictures"),
        (tmp_path, "looks like a mask"),
    ):
        result = run("data", "stats", folder, "--out", tmp_path / "out")
        assert (result.returncode, result.stdout) == (2, "")
        assert words in result.stderr
        assert list(tmp_path.glob("out/*")) == []
