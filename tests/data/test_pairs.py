"""Pairs read and checked: every problem by name in one report before any work."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.ExifTags import Base as ExifTag
from tests.data.written import mask, picture

from smokescope.data.layouts import Listing, Pair, list_pairs
from smokescope.data.pairs import for_each_pair, read_pair, refuse_problems, usable_pairs
from smokescope.errors import SmokescopeError


def spoilt_set(folder: Path) -> dict[str, str]:
    """A data set with one good pair and every problem; what to expect of each, by file."""
    for name in ("good", "alone", "odd", "cut", "text", "coloured", "empty"):
        picture(folder / f"img/{name}.jpg", (80, 60))
        if name != "alone":
            mask(folder / f"gt/{name}.png", (80, 61 if name == "odd" else 60))
    mask(folder / "gt/orphan.png")
    cut = folder / "img/cut.jpg"
    noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    Image.fromarray(noise).save(cut)
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])  # its header is whole
    (folder / "img/text.jpg").write_text("Dear fire service,")
    (folder / "gt/empty.png").write_bytes(b"")
    Image.new("RGB", (80, 60), "red").save(folder / "gt/coloured.png")
    return {
        "img/alone.jpg": "has no mask",
        "gt/orphan.png": "has no picture",
        "gt/odd.png": "differ in size: 80 x 60 and 80 x 61",
        "img/cut.jpg": "damaged or cut short",
        "img/text.jpg": "is not a JPEG",
        "gt/coloured.png": "coloured",
        "gt/empty.png": "is empty",
    }


def test_every_problem_is_named_in_one_report(tmp_path: Path) -> None:
    expected = spoilt_set(tmp_path)
    with pytest.raises(SmokescopeError, match="7 things are wrong") as caught:
        usable_pairs(list_pairs(tmp_path), skip_bad=False)
    lines = str(caught.value).splitlines()
    for file, reason in expected.items():
        assert any(str(tmp_path / file) in line and reason in line for line in lines), file
    assert "--skip-bad" in lines[0]
    assert len(lines) == len(expected) + 1
    assert "good" not in str(caught.value)


def test_skip_bad_goes_on_without_them(tmp_path: Path) -> None:
    spoilt_set(tmp_path)
    assert [pair.name for pair in usable_pairs(list_pairs(tmp_path), skip_bad=True).pairs] == ["good"]


def test_nothing_left_is_an_error_even_then(tmp_path: Path) -> None:
    picture(tmp_path / "img/a.jpg")
    mask(tmp_path / "gt/b.png")
    with pytest.raises(SmokescopeError, match="no usable picture is left"):
        usable_pairs(list_pairs(tmp_path), skip_bad=True)


def test_one_problem_is_one_sentence() -> None:
    listing = Listing([Pair("a", Path("a.jpg"), None)], [SmokescopeError("b.jpg has no mask")])
    with pytest.raises(SmokescopeError, match=r"^b\.jpg has no mask \(--skip-bad leaves it out\)$"):
        refuse_problems(listing, skip_bad=False)
    refuse_problems(listing, skip_bad=True)


def test_a_turned_picture_fits_its_upright_mask(tmp_path: Path) -> None:
    upright = np.zeros((60, 80, 3), np.uint8)
    upright[:30, :40] = 250  # the top left quarter, as people see it
    exif = Image.Exif()
    exif[ExifTag.Orientation] = 6
    (tmp_path / "img").mkdir()
    Image.fromarray(upright).transpose(Image.Transpose.ROTATE_90).save(tmp_path / "img/a.jpg", exif=exif)
    (tmp_path / "gt").mkdir()
    Image.fromarray(upright[..., 0]).save(tmp_path / "gt/a.png")
    [pair] = usable_pairs(list_pairs(tmp_path), skip_bad=False).pairs
    pixels, smoke = read_pair(pair)
    np.testing.assert_array_equal(pixels[..., 0] > 125, smoke > 0.5)


def test_pairs_are_worked_on_side_by_side_in_order(tmp_path: Path) -> None:
    pairs = [Pair(str(i), picture(tmp_path / f"{i}.png"), None) for i in range(20)]
    seen: list[tuple[int, int]] = []

    def work(pair: Pair) -> int:
        if pair.name == "7":
            raise SmokescopeError("seven")
        return int(pair.name)

    results = for_each_pair(work, pairs, lambda done, total: seen.append((done, total)))
    assert isinstance(results.pop(7), SmokescopeError)
    assert results == [i for i in range(20) if i != 7]
    assert seen == [(i, 20) for i in range(1, 21)]
