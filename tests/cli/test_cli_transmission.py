"""`smokescope transmission`: right maps for good pictures, one sentence and an exit code for bad ones."""

import errno
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import cv2
import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

from smokescope.physics.transmission import transmission

Run = Callable[..., CompletedProcess[str]]

RNG = np.random.default_rng(3)


def scene(height: int = 40, width: int = 60) -> NDArray[np.uint8]:
    """A dark ground below a bright sky, with some grain."""
    pixels = np.full((height, width, 3), (190, 195, 200), np.int64)
    pixels[height // 2 :] = (40, 60, 30)
    return (pixels + RNG.integers(-9, 10, pixels.shape)).astype(np.uint8)


def write_text(path: Path) -> None:
    path.write_text("not a picture\n")


def write_truncated_jpeg(path: Path) -> None:
    Image.fromarray(scene()).save(path, "JPEG")
    path.write_bytes(path.read_bytes()[:600])


def write_bomb(path: Path) -> None:
    header = b"IHDR" + struct.pack(">IIBBBBB", 40_000, 40_000, 1, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    )


def write_pickle(path: Path) -> None:
    torch.save({"a": torch.zeros(1)}, path)


def write_empty(path: Path) -> None:
    path.touch()


def write_floats(path: Path) -> None:
    Image.fromarray(np.zeros((2, 2), np.float32)).save(path, "TIFF")


def make_empty_folder(path: Path) -> None:
    path.mkdir()


def leave_missing(path: Path) -> None:
    pass


BAD: list[Callable[[Path], None]] = [
    write_text,
    write_truncated_jpeg,
    write_bomb,
    write_pickle,
    write_empty,
    write_floats,
    make_empty_folder,
    leave_missing,
]
every_bad_input = pytest.mark.parametrize("write", BAD, ids=lambda w: w.__name__)


@every_bad_input
def test_bad_input_gets_one_sentence_and_exit_code_2(
    tmp_path: Path, run: Run, write: Callable[[Path], None]
) -> None:
    write(tmp_path / "bad.jpg")
    result = run("transmission", tmp_path / "bad.jpg", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("smokescope: ")
    assert result.stderr.count("\n") == 1
    assert str(tmp_path / "bad.jpg") in result.stderr
    assert list(tmp_path.glob("out/*")) == []


@every_bad_input
def test_the_rest_goes_on_with_exit_code_1(tmp_path: Path, run: Run, write: Callable[[Path], None]) -> None:
    write(tmp_path / "bad.jpg")
    Image.fromarray(scene()).save(tmp_path / "good.png")
    result = run("transmission", tmp_path / "bad.jpg", tmp_path / "good.png", "--out", tmp_path / "out")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "1 of 2 transmission maps" in result.stdout
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "good.transmission.colour.png",
        "good.transmission.png",
    ]


def turned(path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(np.rot90(scene(), 1).copy()).save(path, "JPEG", exif=exif)


GOOD: dict[str, Callable[[Path], object]] = {
    "cmyk": lambda path: Image.fromarray(scene()).convert("CMYK").save(path, "JPEG"),
    "16-bit": lambda path: Image.fromarray(scene()[..., 0].astype(np.uint16) * 257).save(path, "PNG"),
    "palette": lambda path: Image.fromarray(scene()).quantize(64).save(path, "PNG"),
    "transparent": lambda path: Image.fromarray(scene()).convert("RGBA").save(path, "PNG"),
    "one bit": lambda path: Image.fromarray(scene()).convert("1", dither=Image.Dither.NONE).save(path, "PNG"),
    "exif-rotated": turned,
}


@pytest.mark.parametrize("kind", GOOD)
def test_unusual_pictures_get_the_right_result(tmp_path: Path, run: Run, kind: str) -> None:
    GOOD[kind](tmp_path / "a.bin")
    result = run("transmission", tmp_path / "a.bin", "--out", tmp_path / "out")
    assert (result.returncode, result.stderr) == (0, "")
    values = cv2.imread(str(tmp_path / "out/a.transmission.png"), cv2.IMREAD_UNCHANGED)
    assert values is not None
    assert values.dtype == np.uint16
    assert values.shape == (40, 60)  # the rotated one is upright again
    assert values[:8].mean() < values[-8:].mean()  # less comes through above, where it is bright


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (10, 200, 30)])
def test_a_single_pixel(tmp_path: Path, run: Run, colour: tuple[int, int, int]) -> None:
    Image.new("RGB", (1, 1), colour).save(tmp_path / "a.png")
    assert run("transmission", tmp_path / "a.png", "--out", tmp_path / "out").returncode == 0
    values = cv2.imread(str(tmp_path / "out/a.transmission.png"), cv2.IMREAD_UNCHANGED)
    assert values is not None
    assert values.shape == (1, 1)


def test_the_map_is_the_functions_own_in_16_bits(tmp_path: Path, run: Run) -> None:
    pixels = scene()
    Image.fromarray(pixels).save(tmp_path / "a.png")
    run("transmission", tmp_path / "a.png", "--out", tmp_path / "out", "--device", "cpu")
    expected = transmission(torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255)[0, 0].numpy()
    values = cv2.imread(str(tmp_path / "out/a.transmission.png"), cv2.IMREAD_UNCHANGED)
    assert values is not None
    np.testing.assert_allclose(values / 65535, expected, atol=1 / 65535)


def test_folders_keep_their_shape(tmp_path: Path, run: Run) -> None:
    for name in ("a.png", "hill/a.png"):
        (tmp_path / "pics" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(scene()).save(tmp_path / "pics" / name)
    result = run("transmission", tmp_path / "pics", "--out", tmp_path / "out")
    assert result.stdout == f"2 of 2 transmission maps are in {tmp_path / 'out'}\n"
    assert sorted(str(p.relative_to(tmp_path)) for p in (tmp_path / "out").rglob("*.png")) == [
        "out/a.transmission.colour.png",
        "out/a.transmission.png",
        "out/hill/a.transmission.colour.png",
        "out/hill/a.transmission.png",
    ]


def test_colliding_results_are_refused_before_any_work(tmp_path: Path, run: Run) -> None:
    for name in ("a.png", "a.bmp"):
        Image.fromarray(scene()).save(tmp_path / name)
    result = run("transmission", tmp_path / "a.png", tmp_path / "a.bmp", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert str(tmp_path / "a.png") in result.stderr
    assert str(tmp_path / "a.bmp") in result.stderr
    assert not (tmp_path / "out").exists()


def test_out_must_be_a_folder_that_can_be_written_to(tmp_path: Path, run: Run) -> None:
    Image.fromarray(scene()).save(tmp_path / "a.png")
    (tmp_path / "file").write_text("mine")
    result = run("transmission", tmp_path / "a.png", "--out", tmp_path / "file")
    assert (result.returncode, result.stderr) == (
        2,
        f"smokescope: {tmp_path / 'file'} is a file: name a folder for the results\n",
    )
    assert (tmp_path / "file").read_text() == "mine"
    result = run("transmission", tmp_path / "a.png", "--out", tmp_path / "file" / "below")
    assert result.returncode == 2
    assert "cannot be written to" in result.stderr


def test_a_disk_that_fills_up_leaves_no_half_results(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.png", "b.png"):
        Image.fromarray(scene()).save(tmp_path / name)
    fsync, calls = os.fsync, []

    def fills_up(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 3:  # midway through the second picture's two files
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fills_up)
    result = run("transmission", tmp_path / "a.png", tmp_path / "b.png", "--out", tmp_path / "out")
    assert result.returncode == 1
    assert "b.transmission.colour.png cannot be written: no space left on device" in result.stderr
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "a.transmission.colour.png",
        "a.transmission.png",
    ]


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_a_picture_too_large_for_the_memory(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def too_large(_: torch.Tensor) -> torch.Tensor:
        raise error

    monkeypatch.setattr("smokescope.physics.transmission.transmission", too_large)
    Image.fromarray(scene()).save(tmp_path / "a.png")
    result = run("transmission", tmp_path / "a.png", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert "a.png does not fit into memory" in result.stderr


@pytest.mark.parametrize("device", ["cuda:99", "tpu", "meta", ""])
def test_a_device_that_is_not_there(tmp_path: Path, run: Run, device: str) -> None:
    Image.fromarray(scene()).save(tmp_path / "a.png")
    result = run("transmission", tmp_path / "a.png", "--out", tmp_path / "out", "--device", device)
    assert result.returncode == 2
    assert result.stderr.startswith(f"smokescope: there is no device {device!r} here: choose auto or one of ")
    assert not (tmp_path / "out").exists()
