"""What is written of a prediction says what it was, and tells whether it is still true."""

import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.bright import bright, hill

from smokescope.data.inputs import PictureFile
from smokescope.data.pictures import encode_png
from smokescope.errors import SmokescopeError
from smokescope.report.coco import encode_coco
from smokescope.report.results import (
    Result,
    about_file,
    encode_results,
    is_done,
    is_result,
    read_map,
    read_result,
)
from smokescope.uncertainty import LN2

ABOUT = {"tiles": "auto"}


@pytest.fixture
def file(tmp_path: Path) -> PictureFile:
    picture = hill(230)
    picture[30:, :, 1] = 128
    picture[:, 70:, 2] = 200
    (tmp_path / "a.png").write_bytes(encode_png(picture))
    about = {**ABOUT, **about_file(tmp_path / "a.png")}
    for ending, data in encode_results(picture, bright()(picture), about).items():
        (tmp_path / f"a{ending}").write_bytes(data)
    return PictureFile(tmp_path / "a.png", Path("a"))


def test_maps_are_on_their_scales(file: PictureFile, tmp_path: Path) -> None:
    picture = np.asarray(Image.open(tmp_path / "a.png"))
    np.testing.assert_array_equal(read_map(file, tmp_path, "probability"), picture[..., 0])
    aleatoric = read_map(file, tmp_path, "aleatoric").astype(float) / 255 * LN2
    np.testing.assert_allclose(aleatoric, picture[..., 1] / 255 * LN2 / 2, atol=LN2 / 255)
    doubt = picture[..., 2] / 255 * LN2 / 2  # of the model
    expected = np.rint((doubt / 0.1).clip(max=1) * 255)
    assert expected.max() == 255
    np.testing.assert_allclose(read_map(file, tmp_path, "epistemic"), expected, atol=1)
    total = read_map(file, tmp_path, "total").astype(float) / 255 * LN2
    np.testing.assert_allclose(total, doubt + picture[..., 1] / 255 * LN2 / 2, atol=LN2 / 255)
    with Image.open(tmp_path / "a.mask.png") as mask:
        assert mask.mode == "L"
        np.testing.assert_array_equal(np.asarray(mask), np.where(picture[..., 0] > 127, 255, 0))
    with Image.open(tmp_path / "a.overlay.jpg") as overlay:
        assert overlay.size == (80, 60)


def test_the_json_says_it_all(file: PictureFile, tmp_path: Path) -> None:
    told = json.loads((tmp_path / "a.json").read_text())
    assert told["format"] == "smokescope prediction"
    assert (told["file"], told["tiles"], told["verdict"]) == (str(file.path), "auto", "smoke")
    assert [region["box"] for region in told["regions"]] == [[20, 10, 40, 20]]


def test_what_is_done_is_known(file: PictureFile, tmp_path: Path) -> None:
    assert is_done(file, tmp_path, ABOUT)
    assert not is_done(file, tmp_path, {**ABOUT, "tiles": "never"})
    assert not is_done(file, tmp_path, {**ABOUT, "model": "another"})
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "a.png"
    shutil.copy2(file.path, other)
    assert not is_done(file._replace(path=other), tmp_path, ABOUT)
    assert is_done(file._replace(path=other.parent / ".." / "a.png"), tmp_path, ABOUT)


@pytest.mark.parametrize("later", [-3600, 5])  # a mirror keeps times, and lags behind
def test_a_picture_that_was_replaced_is_not_done(file: PictureFile, tmp_path: Path, later: int) -> None:
    then = file.path.stat().st_mtime + later
    os.utime(file.path, (then, then))
    assert not is_done(file, tmp_path, ABOUT)


def test_results_are_known_as_such(file: PictureFile, tmp_path: Path) -> None:
    assert is_result(tmp_path / "a.overlay.jpg")
    assert is_result(tmp_path / "a.mask.png")
    assert not is_result(file.path)
    assert not is_result(tmp_path / "a.mp4")  # a video that has a photograph's name, as phones name them
    shutil.copy(tmp_path / "a.mask.png", tmp_path / "b.mask.png")  # somebody's own, of this name
    assert not is_result(tmp_path / "b.mask.png")


@pytest.mark.parametrize("ending", [".json", ".mask.png", ".total.png", ".overlay.jpg"])
def test_what_lacks_a_file_is_not_done(file: PictureFile, tmp_path: Path, ending: str) -> None:
    (tmp_path / f"a{ending}").unlink()
    assert not is_done(file, tmp_path, ABOUT)


def test_a_cut_json_is_not_done(file: PictureFile, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes((tmp_path / "a.json").read_bytes()[:-40])
    assert not is_done(file, tmp_path, ABOUT)
    with pytest.raises(SmokescopeError, match="not a JSON file"):
        read_result(file, tmp_path)


def test_coco_has_boxes_areas_and_polygons(file: PictureFile, tmp_path: Path) -> None:
    unsure = hill(120, 50, 90)
    unsure[15:20, 20:40, 0] = 100
    for ending, data in encode_results(unsure, bright()(unsure), ABOUT).items():
        (tmp_path / f"b{ending}").write_bytes(data)
    other = PictureFile(Path("b.png"), Path("b"))
    results: list[Result] = [read_result(each, tmp_path) for each in (file, other)]
    coco = json.load(io.BytesIO(encode_coco(results, tmp_path)))
    assert [(image["id"], image["width"], image["height"]) for image in coco["images"]] == [
        (1, 80, 60),
        (2, 90, 50),
    ]
    names = {category["id"]: category["name"] for category in coco["categories"]}
    first, second = coco["annotations"]
    assert (first["id"], second["id"]) == (1, 2)
    assert (first["image_id"], names[first["category_id"]]) == (1, "smoke")
    assert (second["image_id"], names[second["category_id"]]) == (2, "unsure")
    assert (first["bbox"], first["area"]) == ([20, 10, 20, 10], 200)
    (polygon,) = first["segmentation"]
    assert sorted(zip(polygon[::2], polygon[1::2], strict=True)) == [(20, 10), (20, 19), (39, 10), (39, 19)]
    assert first["score"] == pytest.approx(230 / 255, abs=1e-5)
    assert second["score"] == pytest.approx(120 / 255, abs=1e-5)  # the peak, not the mean
