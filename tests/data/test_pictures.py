"""Reading: every kind of picture comes out as a viewer shows it, or is refused in one sentence."""

import io
import struct
import warnings
import zlib
from pathlib import Path
from threading import Event, Thread

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, PngImagePlugin

from smokescope.data.pictures import (
    MAX_PIXELS,
    encode_jpeg,
    encode_png,
    read_picture,
    shrink,
    without_warnings,
)
from smokescope.errors import SmokescopeError

RNG = np.random.default_rng(7)
COLOURS = RNG.integers(0, 256, (6, 9, 3), dtype=np.uint8)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bare_png(width: int, height: int, before: bytes = b"", pixels: bytes = b"") -> bytes:
    """A PNG of 1-bit grey by hand: whatever size its header claims."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + before + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def saved(path: Path, image: Image.Image, **options: object) -> Path:
    image.save(path, **options)  # type: ignore[arg-type]  # options differ by format
    return path


def refusal(path: Path) -> str:
    with pytest.raises(SmokescopeError) as caught:
        read_picture(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("suffix", ["png", "tiff", "bmp", "ppm", "webp"])
def test_lossless_formats_come_back_exactly(tmp_path: Path, suffix: str) -> None:
    options = {"lossless": True, "exact": True} if suffix == "webp" else {}
    pixels = read_picture(saved(tmp_path / f"a.{suffix}", Image.fromarray(COLOURS), **options))
    assert pixels.dtype == np.uint8
    assert pixels.flags.writeable  # torch.from_numpy warns otherwise
    np.testing.assert_array_equal(pixels, COLOURS)


def test_the_suffix_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(encode_png(COLOURS))
    np.testing.assert_array_equal(read_picture(path), COLOURS)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "tiff", "jpg"])
def test_exif_orientation_is_undone(tmp_path: Path, suffix: str, orientation: int) -> None:
    upright = np.zeros((48, 80, 3), np.uint8)  # blocks large enough to survive JPEG
    upright[:24, :40] = (250, 10, 10)
    upright[:24, 40:] = (10, 250, 10)
    # How a camera stores it: the inverse of what a viewer does for that orientation.
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, 1),
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path / f"a.{suffix}", Image.fromarray(np.ascontiguousarray(stored)), exif=exif)
    pixels = read_picture(path)
    assert pixels.shape == upright.shape
    assert np.abs(pixels.astype(int) - upright).mean() < 4


def test_broken_exif_does_not_spoil_a_picture(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = saved(tmp_path / "a.jpg", Image.fromarray(COLOURS), exif=exif)
    good = path.read_bytes()
    path.write_bytes(good.replace(b"\x00\x00\x00\x08\x00\x01\x01\x12", b"\xff\xff\xff\xff\x00\x01\x01\x12"))
    assert path.read_bytes() != good
    assert read_picture(path).shape == COLOURS.shape


@pytest.mark.parametrize("suffix", ["png", "tiff", "pgm"])
def test_16_bit_grey_is_scaled_and_not_clipped(tmp_path: Path, suffix: str) -> None:
    deep = np.array([[0, 128, 129, 257, 32768, 65406, 65407, 65535]], np.uint16)
    path = tmp_path / f"a.{suffix}"
    assert cv2.imwrite(str(path), deep)
    expected = np.rint(deep / 65535 * 255).astype(np.uint8)
    np.testing.assert_array_equal(read_picture(path), np.repeat(expected[..., None], 3, 2))


def test_16_bit_colour_is_scaled(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    assert cv2.imwrite(str(path), COLOURS[..., ::-1].astype(np.uint16) * 257)
    np.testing.assert_array_equal(read_picture(path), COLOURS)


def grey(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.repeat(values[..., None], 3, axis=2)


def test_grey_and_one_bit(tmp_path: Path) -> None:
    values = COLOURS[..., 0]
    np.testing.assert_array_equal(
        read_picture(saved(tmp_path / "l.png", Image.fromarray(values))), grey(values)
    )
    bits = values > 127
    np.testing.assert_array_equal(
        read_picture(saved(tmp_path / "b.png", Image.fromarray(bits))), grey((bits * 255).astype(np.uint8))
    )


def test_palette_with_and_without_transparency(tmp_path: Path) -> None:
    image = Image.fromarray(np.array([[0, 1, 2]], np.uint8))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255])
    plain = read_picture(saved(tmp_path / "plain.png", image))
    np.testing.assert_array_equal(plain, [[[255, 0, 0], [0, 255, 0], [0, 0, 255]]])
    clear = read_picture(saved(tmp_path / "clear.png", image, transparency=1))
    np.testing.assert_array_equal(clear, [[[255, 0, 0], [255, 255, 255], [0, 0, 255]]])
    partly = read_picture(saved(tmp_path / "partly.png", image, transparency=bytes([255, 0, 0])))
    np.testing.assert_array_equal(partly, [[[255, 0, 0], [255, 255, 255], [255, 255, 255]]])


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparency_is_over_white(tmp_path: Path, mode: str) -> None:
    black = Image.new(mode, (3, 1))
    for x, alpha in enumerate((0, 128, 255)):
        black.putpixel((x, 0), (0, 0, 0, alpha) if mode == "RGBA" else (0, alpha))
    np.testing.assert_array_equal(read_picture(saved(tmp_path / "a.png", black))[0, :, 0], [255, 127, 0])


def test_cmyk(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.jpg", Image.new("CMYK", (16, 16), (0, 255, 255, 0)), quality=95)
    assert np.abs(read_picture(path).astype(int) - (255, 0, 0)).max() < 8
    path = saved(tmp_path / "a.tiff", Image.new("CMYK", (2, 2), (255, 0, 0, 0)))
    assert read_picture(path)[0, 0].tolist() == [0, 255, 255]


@pytest.mark.parametrize("suffix", ["gif", "png", "webp", "tiff"])
def test_animations_give_their_first_frame(tmp_path: Path, suffix: str) -> None:
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    options = {"lossless": True} if suffix == "webp" else {}
    path = saved(tmp_path / f"a.{suffix}", frames[0], save_all=True, append_images=frames[1:], **options)
    assert (read_picture(path) == (255, 0, 0)).all()


def test_a_cameras_mpo(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("white", "black")]
    path = saved(tmp_path / "a.mpo", frames[0], format="MPO", save_all=True, append_images=frames[1:])
    assert read_picture(path).min() > 250


def test_one_pixel(tmp_path: Path) -> None:
    assert read_picture(saved(tmp_path / "a.png", Image.new("RGB", (1, 1), (1, 2, 3)))).tolist() == [
        [[1, 2, 3]]
    ]


def test_floats_and_32_bits_are_refused(tmp_path: Path) -> None:
    floats = Image.fromarray(np.array([[0.0, 0.5]], np.float32))
    assert "floating-point" in refusal(saved(tmp_path / "f.tiff", floats))
    for value in (70_000, -1):
        deep = Image.fromarray(np.array([[0, value]], np.int32))
        assert "beyond 16 bits" in refusal(saved(tmp_path / "i.tiff", deep))
    assert "Lab" in refusal(saved(tmp_path / "lab.tiff", Image.new("LAB", (2, 2))))


def test_rare_formats_stay_shut(tmp_path: Path) -> None:
    assert "is not a JPEG, PNG" in refusal(saved(tmp_path / "a.tga", Image.fromarray(COLOURS)))


def test_a_real_bomb_is_refused_before_decoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packer, row = zlib.compressobj(1), b"\0" * 5001
    pixels = b"".join(packer.compress(row * 1000) for _ in range(40)) + packer.flush()
    path = tmp_path / "bomb.png"
    path.write_bytes(bare_png(40_000, 40_000, pixels=pixels))
    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", lambda self: pytest.fail("it was decoded"))
    assert "more than 100 million pixels" in refusal(path)


def test_the_limit_is_ours_and_not_pillows(tmp_path: Path) -> None:
    # Pillow warns from 89 million pixels and refuses from 179 million: neither may be seen.
    assert Image.MAX_IMAGE_PIXELS is not None
    assert Image.MAX_IMAGE_PIXELS < MAX_PIXELS < 2 * Image.MAX_IMAGE_PIXELS
    path = tmp_path / "a.png"
    path.write_bytes(bare_png(10_001, 10_000))
    assert "million pixels" in refusal(path)
    path.write_bytes(bare_png(10_000, 10_000))  # allowed, but its pixels are not there
    assert "damaged" in refusal(path)


def test_a_bomb_in_a_text_chunk_is_refused(tmp_path: Path) -> None:
    text = chunk(b"zTXt", b"k\0\0" + zlib.compress(b"a" * 80_000_000, 1))
    path = tmp_path / "a.png"
    path.write_bytes(bare_png(1, 1, before=text, pixels=zlib.compress(b"\0\0")))
    assert "damaged" in refusal(path)


def test_files_that_are_no_pictures(tmp_path: Path) -> None:
    text = tmp_path / "text.jpg"
    text.write_text("Dear fire service,")
    assert "is not a JPEG, PNG" in refusal(text)
    empty = tmp_path / "empty.jpg"
    empty.touch()
    assert refusal(empty).endswith("is empty")
    assert refusal(tmp_path / "missing.jpg").endswith("does not exist")
    assert "is a folder" in refusal(tmp_path)
    assert "device" in refusal(Path("/dev/zero"))


def encoded(suffix: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(RNG.integers(0, 256, (24, 32, 3), dtype=np.uint8)).save(buffer, suffix)
    return buffer.getvalue()


WHOLE = {suffix: encoded(suffix) for suffix in ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM")}
ANYTHING = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@ANYTHING
@given(suffix=st.sampled_from(sorted(WHOLE)), share=st.floats(0.0, 0.98))
def test_cut_files_are_refused_wherever_they_are_cut(tmp_path: Path, suffix: str, share: float) -> None:
    path = tmp_path / "cut"
    path.write_bytes(WHOLE[suffix][: int(share * len(WHOLE[suffix]))])
    refusal(path)


@ANYTHING
@given(suffix=st.sampled_from(sorted(WHOLE)), data=st.data())
def test_spoilt_bytes_give_a_picture_or_a_sentence(tmp_path: Path, suffix: str, data: st.DataObject) -> None:
    whole = bytearray(WHOLE[suffix])
    for _ in range(data.draw(st.integers(1, 12))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "spoilt"
    path.write_bytes(whole)
    try:
        pixels = read_picture(path)  # a warning would be an error here
    except SmokescopeError:
        refusal(path)
    else:
        assert pixels.ndim == 3
        assert pixels.dtype == np.uint8


def test_png_of_16_bits_is_read_the_same_by_others(tmp_path: Path) -> None:
    deep = RNG.integers(0, 65536, (5, 7), dtype=np.uint16)
    (tmp_path / "a.png").write_bytes(encode_png(deep))
    np.testing.assert_array_equal(cv2.imread(str(tmp_path / "a.png"), cv2.IMREAD_UNCHANGED), deep)


def test_a_jpeg_loses_next_to_nothing(tmp_path: Path) -> None:
    """Also of colours side by side, as an overlay has them: they are not halved in resolution."""
    stripes = np.zeros((32, 32, 3), np.uint8)
    stripes[:, ::2] = (255, 0, 0)
    (tmp_path / "a.jpg").write_bytes(encode_jpeg(stripes))
    assert np.abs(read_picture(tmp_path / "a.jpg").astype(int) - stripes).max() <= 12


def test_shrinking_averages_all_that_a_pixel_covers() -> None:
    values = RNG.random((36, 48), dtype=np.float32)
    np.testing.assert_allclose(shrink(values, 12), values.reshape(9, 4, 12, 4).mean((1, 3)), rtol=1e-5)
    assert shrink(COLOURS, 3).dtype == np.uint8


@pytest.mark.parametrize(
    ("size", "shrunk"), [((71, 200), (23, 64)), ((2, 999), (1, 64)), ((999, 2), (64, 1))]
)
def test_shrunken_sides_are_the_nearest_and_never_nothing(
    size: tuple[int, int], shrunk: tuple[int, int]
) -> None:
    assert shrink(np.zeros(size, np.float32), 64).shape == shrunk


def test_threads_that_decode_leave_warnings_as_they_were() -> None:
    first, second, left = Event(), Event(), Event()
    before = list(warnings.filters)

    def outer() -> None:  # the first in, and the first out
        with without_warnings():
            first.set()
            assert second.wait(10)
        left.set()

    thread = Thread(target=outer)
    thread.start()
    assert first.wait(10)
    with without_warnings():
        second.set()
        assert left.wait(10)
        warnings.warn("nobody hears this", stacklevel=1)  # it would be an error in a test
    thread.join()
    assert list(warnings.filters) == before
