"""Data sets on disk: pairs in each layout, and every problem by name in one report before any work."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.ExifTags import Base as ExifTag

from smokescope.data.layouts import (
    Listing,
    Pair,
    for_each_pair,
    list_negatives,
    list_pairs,
    list_pictures,
    list_unmasked,
    read_pair,
    refuse_problems,
    try_pairs,
    usable_pairs,
)
from smokescope.errors import SmokescopeError


def picture(path: Path, size: tuple[int, int] = (8, 6)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (10, 20, 30)).save(path)
    return path


def mask(path: Path, size: tuple[int, int] = (8, 6)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, 255).save(path)
    return path


def sentences(problems: list[SmokescopeError]) -> str:
    return "\n".join(map(str, problems))


@pytest.mark.parametrize(
    ("picture_name", "mask_name"),
    [
        ("img/a.jpg", "gt/a.png"),
        ("img/a.jpg", "gt_/a.png"),
        ("blendall/a.png", "gt_blendall/a.png"),
        ("img/a.png", "mask/aAlpha.png"),
        ("images/a.jpg", "masks/a.png"),
        ("images/a.jpg", "labels/a.png"),
        ("Images/a.jpg", "Masks/a.png"),
        ("IMG/a.jpg", "gt/a.png"),
        ("images/a.JPG", "masks/a_mask.PNG"),
        ("images/a.jpg", "masks/a_gt.tif"),
        ("img/fire.1/2019.09.25_a.jpg", "gt/fire.1/2019.09.25_a.png"),
    ],
)
def test_layouts(tmp_path: Path, picture_name: str, mask_name: str) -> None:
    files = picture(tmp_path / picture_name), mask(tmp_path / mask_name)
    listing = list_pairs(tmp_path)
    name = picture_name.partition("/")[2].rpartition(".")[0]
    assert listing == Listing([Pair(name, *files)], [])
    pixels, smoke = read_pair(listing.pairs[0])
    assert pixels.shape == (6, 8, 3)
    assert smoke.shape == (6, 8)
    assert smoke.min() == 1


def test_pairs_are_sorted_and_hidden_files_passed_over(tmp_path: Path) -> None:
    for name in ("b", "a", "c/a", ".hidden", ".trash/x"):
        picture(tmp_path / f"img/{name}.png")
        mask(tmp_path / f"gt/{name}.png")
    (tmp_path / "img/notes.txt").write_text("not a picture")
    assert [pair.name for pair in list_pairs(tmp_path).pairs] == ["a", "b", "c/a"]


def test_a_mask_by_ending_gives_way_to_a_picture_of_that_name(tmp_path: Path) -> None:
    for name in ("a", "a_mask"):
        picture(tmp_path / f"img/{name}.png")
        mask(tmp_path / f"gt/{name}.png")
    listing = list_pairs(tmp_path)
    assert not listing.problems
    assert [(pair.name, pair.mask) for pair in listing.pairs] == [
        (name, tmp_path / f"gt/{name}.png") for name in ("a", "a_mask")
    ]


def test_negatives_have_no_masks_and_no_smoke(tmp_path: Path) -> None:
    names = ("clouds.jpg", "fog/1.jpg", "fog/deep/2.png", "fog/mask.jpg")
    files = [picture(tmp_path / name) for name in names]
    listing = list_negatives(tmp_path)
    assert [(pair.name, pair.picture, pair.mask) for pair in listing.pairs] == [
        ("clouds", files[0], None),
        ("fog/1", files[1], None),
        ("fog/deep/2", files[2], None),
        ("fog/mask", files[3], None),  # a picture may be called so; a folder that is holds masks
    ]
    pixels, smoke = read_pair(listing.pairs[0])
    assert smoke.shape == pixels.shape[:2]
    assert smoke.max() == 0


def test_negatives_of_several_cameras_may_share_names(tmp_path: Path) -> None:
    for camera in ("north", "south", "labelled"):
        for frame in ("0001", "0002"):
            picture(tmp_path / camera / f"{frame}.jpg")
    assert len(list_negatives(tmp_path).pairs) == 6


@pytest.mark.parametrize(
    "masks",
    [
        *("gt/a.png", "Masks/a.png", "x/label/a.png", "VOC/SegmentationClass/a.png", "Labels/deep/a.png"),
        *("photos/a_mask.png", "photos/aAlpha.png"),
    ],
)
def test_masks_are_not_taken_for_negatives(tmp_path: Path, masks: str) -> None:
    picture(tmp_path / "photos/a.jpg")
    file = mask(tmp_path / masks)
    with pytest.raises(SmokescopeError, match="looks like a mask: name a data set with both") as caught:
        list_pictures(tmp_path)
    assert str(file) in str(caught.value)


def test_labels_that_are_no_pictures_are_no_masks(tmp_path: Path) -> None:
    picture(tmp_path / "images/a.jpg")
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels/a.txt").write_text("0 0.5 0.5 0.2 0.2")  # a box
    with pytest.raises(SmokescopeError, match="labels holds no masks"):
        list_pictures(tmp_path)
    assert len(list_negatives(tmp_path / "images").pairs) == 1


def test_of_folders_that_differ_in_case_the_small_one_counts(tmp_path: Path) -> None:
    picture(tmp_path / "img/a.jpg")
    mask(tmp_path / "gt/a.png")
    try:
        (tmp_path / "IMG").mkdir()
    except FileExistsError:
        pytest.skip("this disk does not tell them apart")
    assert [pair.name for pair in list_pairs(tmp_path).pairs] == ["a"]


def test_a_data_set_is_not_taken_for_negatives(tmp_path: Path) -> None:
    picture(tmp_path / "img/a.jpg")
    mask(tmp_path / "GT/a.png")
    with pytest.raises(SmokescopeError, match="has masks in"):
        list_negatives(tmp_path)
    assert try_pairs(tmp_path) == list_pairs(tmp_path)
    assert try_pairs(tmp_path / "img") is None


def test_folders_that_are_no_data_set(tmp_path: Path) -> None:
    for listing in (list_pairs, list_negatives):
        with pytest.raises(SmokescopeError, match="nowhere is not a folder"):
            listing(tmp_path / "nowhere")
    with pytest.raises(SmokescopeError, match="holds no pictures"):
        list_negatives(tmp_path)
    (tmp_path / "img").mkdir()
    with pytest.raises(SmokescopeError, match=r"none of the folder pairs img/ \+ gt/"):
        list_pairs(tmp_path)
    (tmp_path / "gt").mkdir()
    with pytest.raises(SmokescopeError, match="img holds no pictures"):
        list_pairs(tmp_path)
    picture(tmp_path / "img/a.jpg")
    with pytest.raises(SmokescopeError, match="gt holds no masks"):
        list_pairs(tmp_path)


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path, locked: str) -> None:
    picture(tmp_path / "a.jpg")
    picture(tmp_path / locked / "b.jpg")
    with pytest.raises(SmokescopeError, match="locked cannot be read: permission denied"):
        list_negatives(tmp_path)


def test_ambiguous_names_are_problems(tmp_path: Path) -> None:
    for name in ("img/two.jpg", "img/two.png", "img/masked.jpg", "img/fine.jpg"):
        picture(tmp_path / name)
    for name in ("gt/two.png", "gt/masked.png", "gt/masked_mask.png", "gt/fine.png"):
        mask(tmp_path / name)
    listing = list_pairs(tmp_path)
    assert [pair.name for pair in listing.pairs] == ["fine"]
    text = sentences(listing.problems)
    assert len(listing.problems) == 2
    for file in ("img/two.jpg", "img/two.png", "gt/masked.png", "gt/masked_mask.png"):
        assert str(tmp_path / file) in text

    negatives = list_negatives(tmp_path / "img")
    assert [pair.name for pair in negatives.pairs] == ["fine", "masked"]
    assert "two is ambiguous" in sentences(negatives.problems)


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


def test_pictures_are_listed_whether_they_have_masks_or_not(tmp_path: Path) -> None:
    picture(tmp_path / "set/IMG/a.jpg")
    picture(tmp_path / "set/strokes/a.png")
    picture(tmp_path / "plain/day/b.jpg")
    assert list_unmasked(tmp_path / "set") == Listing([Pair("a", tmp_path / "set/IMG/a.jpg", None)], [])
    assert [pair.name for pair in list_unmasked(tmp_path / "plain").pairs] == ["day/b"]
    with pytest.raises(SmokescopeError, match="none is not a folder"):
        list_unmasked(tmp_path / "none")
