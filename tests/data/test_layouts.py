"""Data sets on disk: pairs in each layout, and what is wrong with a folder, by name."""

from pathlib import Path

import pytest
from tests.data.written import mask, picture

from smokescope.data.layouts import (
    Listing,
    Pair,
    list_negatives,
    list_pairs,
    list_pictures,
    list_unmasked,
    try_pairs,
)
from smokescope.data.pairs import read_pair
from smokescope.errors import SmokescopeError


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


def test_pictures_are_listed_whether_they_have_masks_or_not(tmp_path: Path) -> None:
    picture(tmp_path / "set/IMG/a.jpg")
    picture(tmp_path / "set/strokes/a.png")
    picture(tmp_path / "plain/day/b.jpg")
    assert list_unmasked(tmp_path / "set") == Listing([Pair("a", tmp_path / "set/IMG/a.jpg", None)], [])
    assert [pair.name for pair in list_unmasked(tmp_path / "plain").pairs] == ["day/b"]
    with pytest.raises(SmokescopeError, match="none is not a folder"):
        list_unmasked(tmp_path / "none")
