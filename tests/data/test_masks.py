"""Masks: whatever people save for smoke becomes the same map, and what could mean anything is refused."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from PIL.ExifTags import Base as ExifTag

from smokescope.data.masks import read_mask
from smokescope.errors import SmokescopeError

SMOKE = np.zeros((6, 9), bool)
SMOKE[2:5, 1:4] = True
SOFT = np.linspace(0, 255, 54).reshape(6, 9).astype(np.uint8)


def saved(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)  # type: ignore[arg-type]  # options differ by format
    return path


def grey(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    return np.repeat(values.astype(np.uint8)[..., None], 3, 2)


def palette(colours: list[int]) -> Image.Image:
    image = Image.fromarray(SMOKE.astype(np.uint8))
    image.putpalette(colours)
    return image


SAME = {
    "1-bit": Image.fromarray(SMOKE),
    "8-bit, 0 and 1": Image.fromarray(SMOKE.astype(np.uint8)),
    "8-bit, 0 and 255": Image.fromarray(SMOKE.astype(np.uint8) * 255),
    "16-bit, 0 and 1": Image.fromarray(SMOKE.astype(np.uint16)),
    "16-bit, 0 and 255": Image.fromarray(SMOKE.astype(np.uint16) * 255),
    "16-bit, 0 and 65535": Image.fromarray(SMOKE.astype(np.uint16) * 65535),
    "indexed black and white": palette([0, 0, 0, 255, 255, 255]),
    "indexed 0 and 1": palette([0, 0, 0, 1, 1, 1]),
    "grey saved as RGB": Image.fromarray(grey(SMOKE) * 255),
    "RGB, 0 and 1": Image.fromarray(grey(SMOKE)),
    "grey with full alpha": Image.fromarray(np.dstack((grey(SMOKE) * 255, np.full((6, 9), 255, np.uint8)))),
}


@pytest.mark.parametrize("kind", SAME)
def test_the_same_smoke_however_it_was_saved(tmp_path: Path, kind: str) -> None:
    mask = read_mask(saved(tmp_path / "a.png", SAME[kind]))
    assert mask.dtype == np.float32
    np.testing.assert_array_equal(mask, SMOKE)


def test_a_palette_counts_by_what_it_shows(tmp_path: Path) -> None:
    mask = read_mask(saved(tmp_path / "a.png", palette([255, 255, 255, 0, 0, 0])))
    np.testing.assert_array_equal(mask, ~SMOKE)


def test_soft_masks_stay_soft(tmp_path: Path) -> None:
    eight = read_mask(saved(tmp_path / "8.png", Image.fromarray(SOFT)))
    np.testing.assert_allclose(eight, SOFT / 255, atol=1e-7)
    deep = (SOFT.astype(np.uint16) << 8) + 77
    sixteen = read_mask(saved(tmp_path / "16.png", Image.fromarray(deep)))
    np.testing.assert_allclose(sixteen, deep / 65535, atol=1e-7)


def test_no_smoke_and_nothing_but_smoke(tmp_path: Path) -> None:
    for name, value in (("none", 0), ("all", 255)):
        mask = read_mask(saved(tmp_path / f"{name}.png", Image.new("L", (3, 2), value)))
        np.testing.assert_array_equal(mask, np.full((2, 3), value // 255))


def test_jpeg_masks(tmp_path: Path) -> None:
    smoke = np.zeros((64, 64), np.uint8)
    smoke[16:48, 16:48] = 255
    for mode in ("L", "RGB"):
        mask = read_mask(saved(tmp_path / "a.jpg", Image.fromarray(smoke).convert(mode), quality=90))
        assert np.abs(mask - smoke / 255).mean() < 0.01
        assert mask.max() <= 1


@pytest.mark.parametrize("quality", [5, 16, 22, 70, 90])
def test_an_empty_mask_stays_empty_at_any_jpeg_quality(tmp_path: Path, quality: int) -> None:
    """Black becomes an even 8, 3, 2, 1 and 0."""
    mask = read_mask(saved(tmp_path / "a.jpg", Image.new("L", (20, 13)), quality=quality))
    np.testing.assert_array_equal(mask, np.zeros((13, 20)))


def test_greys_may_be_a_little_coloured(tmp_path: Path) -> None:
    """As JPEG leaves them; red counts, and more than that is a coloured picture."""
    mask = read_mask(saved(tmp_path / "a.png", Image.new("RGB", (4, 4), (204, 208, 200))))
    np.testing.assert_allclose(mask, 0.8)


def test_a_mask_turned_by_exif_stands_upright(tmp_path: Path) -> None:
    stored = Image.fromarray(SMOKE.astype(np.uint8) * 255).transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[ExifTag.Orientation] = 6
    np.testing.assert_array_equal(read_mask(saved(tmp_path / "a.png", stored, exif=exif)), SMOKE)


def white_with_alpha() -> Image.Image:
    return Image.fromarray(np.dstack((np.full((6, 9, 3), 255, np.uint8), SMOKE.astype(np.uint8) * 255)))


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (Image.new("RGB", (4, 4), (128, 0, 0)), "coloured"),
        (Image.new("RGB", (4, 4), (204, 213, 204)), "coloured"),
        (palette([0, 0, 0, 128, 0, 0]), "coloured"),
        (white_with_alpha(), "transparent"),
        (Image.new("LA", (4, 4), (255, 0)), "transparent"),
        (Image.new("LA", (4, 4), (255, 128)), "transparent"),
        (Image.fromarray(np.array([[0, 70_000]], np.int32)), "beyond 16 bits"),
        (Image.fromarray(np.array([[0, -1]], np.int32)), "beyond 16 bits"),
        (Image.fromarray(np.array([[0.0, 0.5]], np.float32)), "colour mode F"),
        (Image.new("CMYK", (4, 4)), "colour mode CMYK"),
        (Image.fromarray(np.array([[0, 1, 255]], np.uint8)), "holds 1 and 255"),
        (Image.fromarray(np.array([[1, 255]], np.uint16)), "holds 1 and 255"),
    ],
)
def test_what_could_mean_anything_is_refused(tmp_path: Path, image: Image.Image, reason: str) -> None:
    path = saved(tmp_path / "a.tiff", image)
    with pytest.raises(SmokescopeError, match=reason) as caught:
        read_mask(path)
    assert str(path) in str(caught.value)


DARK: dict[str, tuple[NDArray[np.generic], int]] = {
    "class 2": (SMOKE.astype(np.uint8) * 2, 2),
    "class 127": (SMOKE.astype(np.uint8) * 127, 127),
    "nothing but class 2": (np.full((6, 9), 2, np.uint8), 2),
    "many classes": (SOFT // 16, 15),
    "strokes": (np.arange(54, dtype=np.uint8).reshape(6, 9) % 3, 2),
    "grey saved as RGB": (grey(SMOKE) * 3, 3),
    "12 bits of 16": (SMOKE.astype(np.uint16) * 4095, 4095),
    "half of 16 bits": (SMOKE.astype(np.uint16) * 32767, 32767),
}


@pytest.mark.parametrize("kind", DARK)
def test_masks_too_dark_for_smoke_are_refused(tmp_path: Path, kind: str) -> None:
    values, largest = DARK[kind]
    path = saved(tmp_path / "a.png", Image.fromarray(values))
    sentence = f"is not a mask of smoke: its largest value is {largest}, and smoke must be 1, 255 or 65535"
    with pytest.raises(SmokescopeError, match=f"^{path} {sentence}$"):
        read_mask(path)


def test_class_numbers_in_a_jpeg_are_refused(tmp_path: Path) -> None:
    smoke = np.zeros((64, 64), np.uint8)
    smoke[16:48, 16:48] = 2
    with pytest.raises(SmokescopeError, match="largest value is 2,"):
        read_mask(saved(tmp_path / "a.jpg", Image.fromarray(smoke), quality=95))


def test_just_above_half_is_smoke(tmp_path: Path) -> None:
    for number, value in enumerate((np.uint8(128), np.uint16(32768))):
        mask = read_mask(saved(tmp_path / f"{number}.png", Image.fromarray(SMOKE * value)))
        np.testing.assert_array_equal(mask > 0.5, SMOKE)


def test_a_soft_mask_may_hold_1_and_255(tmp_path: Path) -> None:
    values = np.array([[0, 1, 2, 255]], np.uint8)
    assert read_mask(saved(tmp_path / "a.png", Image.fromarray(values))).max() == 1


def test_files_that_are_no_masks(tmp_path: Path) -> None:
    text = tmp_path / "a.png"
    text.write_text("smoke at the top left")
    with pytest.raises(SmokescopeError, match=r"a\.png is not a JPEG"):
        read_mask(text)
