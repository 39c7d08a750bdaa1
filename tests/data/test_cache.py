"""The cache: the right pixels, made once, made again when anything changed, never half there or not ours."""

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from PIL import Image
from tests.data.caches import SIDE, assert_same, content, decoded

from smokescope.data import cache as module
from smokescope.data.cache import PictureCache
from smokescope.data.cache_file import MAGIC, Index, write_cache
from smokescope.data.layouts import list_negatives, list_pairs
from smokescope.data.pairs import read_pair
from smokescope.errors import SmokescopeError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Five pairs, of other sizes each, the last within the side."""
    folder = tmp_path / "data"
    rng = np.random.default_rng(5)
    for kind in ("img", "gt"):
        (folder / kind).mkdir(parents=True)
    for i, (height, width) in enumerate([(48, 96), (96, 48), (128, 128), (70, 200), (40, 30)]):
        Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8)).save(
            folder / f"img/{i}.png"
        )
        Image.fromarray(rng.integers(0, 2, (height, width)).astype(bool)).save(folder / f"gt/{i}.png")
    return folder


def parts(folder: Path) -> list[Path]:
    return list(folder.glob(".*.part"))


def test_small_pictures_come_back_exactly(data: Path) -> None:
    cache, _ = decoded(data)
    picture, mask = cache[4]
    pixels, smoke = read_pair(cache.pairs[4])
    np.testing.assert_array_equal(picture.numpy(), pixels)
    np.testing.assert_array_equal(mask[0].numpy(), smoke * 255)


def test_large_pictures_are_averaged_and_keep_their_aspect(data: Path) -> None:
    cache, _ = decoded(data)
    shapes = [tuple(mask.shape[1:]) for _, mask in content(cache)]
    assert shapes == [(32, 64), (64, 32), (64, 64), (22, 64), (40, 30)]
    pixels, smoke = read_pair(cache.pairs[2])  # exactly half: means of 2 x 2
    halves = pixels.reshape(64, 2, 64, 2, 3).mean((1, 3))
    picture, mask = cache[2]
    assert np.abs(picture.numpy() - halves).max() <= 0.5
    assert np.abs(mask[0].numpy() - 255 * smoke.reshape(64, 2, 64, 2).mean((1, 3))).max() <= 0.5


def test_file_and_memory_hold_the_same_and_the_file_is_made_once(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "deep/train.cache"
    made, count = decoded(data, file)
    assert count == 5
    before = file.stat()
    opened, count = decoded(data, file)
    assert count == 0
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert_same(made, opened)
    assert_same(opened, decoded(data)[0])
    assert not parts(file.parent)


def test_a_file_takes_its_name_when_it_is_whole_and_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, written, synced = tmp_path / "a.cache", list[int](), list[int]()

    def fill(stream: BinaryIO) -> Index:
        written.append(os.fstat(stream.fileno()).st_ino)
        return Index(key="k", places=[], problems=[])

    def fsync(number: int) -> None:
        assert not file.exists()
        assert os.fstat(number).st_size > 2 * len(MAGIC)
        synced.append(os.fstat(number).st_ino)

    monkeypatch.setattr(os, "fsync", fsync)
    write_cache(file, fill)
    assert written == synced == [file.stat().st_ino]  # renamed: of a copy, others could find a half


def test_the_layout_of_the_file_is_the_documented_one(data: Path, tmp_path: Path) -> None:
    """Read by hand: what is written down must suffice."""
    file = tmp_path / "a.cache"
    cache, _ = decoded(data, file)
    raw = file.read_bytes()
    assert raw.startswith(b"smokescope cache")
    assert raw.endswith(b"smokescope cache")
    length = int.from_bytes(raw[-24:-16], "little")
    index = json.loads(raw[-24 - length : -24])
    for number, offset, height, width, checksum in index["places"]:
        pixels = height * width
        assert zlib.crc32(raw[offset : offset + 4 * pixels]) == checksum == cache.checksum(number)
        planes = np.frombuffer(raw, np.uint8, 3 * pixels, offset).reshape(3, height, width)
        mask = np.frombuffer(raw, np.uint8, pixels, offset + 3 * pixels).reshape(height, width)
        np.testing.assert_array_equal(planes.transpose(1, 2, 0), cache[number][0].numpy())
        np.testing.assert_array_equal(mask, cache[number][1][0].numpy())


def test_negatives_have_empty_masks(data: Path) -> None:
    cache = PictureCache(list_negatives(data / "img"), SIDE)
    assert len(cache) == 5
    assert all(mask.max() == 0 for _, mask in content(cache))


def test_scribbles_are_strokes_of_smoke_and_then_of_background(tmp_path: Path) -> None:
    scribble = np.zeros((6, 8), np.uint8)
    scribble[1, :3], scribble[4:, 5:] = 1, 2
    for kind, pixels in (("img", np.zeros((6, 8, 3), np.uint8)), ("gt", scribble)):
        (tmp_path / kind).mkdir()
        Image.fromarray(pixels).save(tmp_path / kind / "a.png")
    file = tmp_path / "a.cache"
    cache = PictureCache(list_pairs(tmp_path), SIDE, file, scribbles=True)
    np.testing.assert_array_equal(cache[0][1].numpy(), 255 * np.stack((scribble == 1, scribble == 2)))
    with pytest.raises(SmokescopeError, match="largest value is 2"):
        decoded(tmp_path, file)  # as masks: the same files, but another cache, and strokes are no masks
    negatives = PictureCache(list_negatives(tmp_path / "img"), SIDE, scribbles=True)
    assert [plane.unique().tolist() for plane in negatives[0][1]] == [[0], [255]]


def test_another_time_size_name_or_setting_makes_it_anew(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.cache"
    decoded(data, file)

    os.utime(data / "img/1.png", ns=(1, 1))
    assert decoded(data, file)[1] == 5
    os.utime(data / "gt/1.png", ns=(1, 1))
    assert decoded(data, file)[1] == 5

    for kind in ("img", "gt"):
        (data / f"{kind}/0.png").rename(data / f"{kind}/00.png")
    assert decoded(data, file)[1] == 5

    other = PictureCache(list_pairs(data), SIDE // 2, file)
    assert max(other[0][1].shape) == SIDE // 2
    assert decoded(data, file)[1] == 5

    monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
    assert decoded(data, file)[1] == 5
    assert decoded(data, file)[1] == 0


def test_a_changed_picture_shows(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.cache"
    decoded(data, file)
    Image.new("RGB", (30, 40), (1, 2, 3)).save(data / "img/4.png")
    cache, _ = decoded(data, file)
    assert cache[4][0].unique().tolist() == [1, 2, 3]


def test_another_folder_is_not_taken_for_this_one(data: Path, tmp_path: Path) -> None:
    """Of other pictures with the same names, sizes and times."""
    file, other = tmp_path / "a.cache", tmp_path / "other"
    shutil.copytree(data, other)
    for folder in (data, other):
        for path in folder.glob("*/*.png"):
            os.utime(path, ns=(1, 1))
    decoded(data, file)
    assert decoded(other, file)[1] == 5


def damage_pixels(raw: bytes) -> bytes:
    return raw[:100] + bytes(50) + raw[150:]


def damage_index(raw: bytes, **changes: object) -> bytes:
    length = int.from_bytes(raw[-24:-16], "little")
    text = json.dumps(json.loads(raw[-24 - length : -24]) | changes).encode()
    return raw[: -24 - length] + text + len(text).to_bytes(8, "little") + MAGIC


@pytest.mark.parametrize(
    "damage",
    [
        damage_pixels,
        lambda raw: damage_index(raw, places=[]),
        lambda raw: damage_index(raw, places=[[n, 10**7, 8, 8, 1] for n in range(5)]),
        lambda raw: damage_index(raw, places=[[99, 16, 0, 0, 0]] * 5),
        lambda raw: damage_index(raw, places=[[0, 16, "x", 8, 1]] * 5),
    ],
)
def test_a_damaged_file_is_made_anew(data: Path, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "a.cache"
    decoded(data, file)
    raw = file.read_bytes()
    file.unlink()
    file.write_bytes(damage(raw))
    again, count = decoded(data, file)
    assert count == 5
    assert_same(again, decoded(data)[0])
    assert decoded(data, file)[1] == 0


def test_what_killed_processes_left_is_removed_when_it_is_old(data: Path, tmp_path: Path) -> None:
    old, new = tmp_path / ".a.cache.1.part", tmp_path / ".a.cache.2.part"
    other = tmp_path / ".b.cache.1.part"
    for path in (old, new, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (1, 1))
    decoded(data, tmp_path / "a.cache")
    assert parts(tmp_path) == [new, other] or parts(tmp_path) == [other, new]


@pytest.mark.parametrize("keep", [16, 17, 40, 0.5, 0.999])
def test_a_file_that_was_cut_is_made_anew(data: Path, tmp_path: Path, keep: float) -> None:
    file = tmp_path / "a.cache"
    whole, _ = decoded(data, file)
    raw = file.read_bytes()
    file.unlink()  # the cache above still maps it
    file.write_bytes(raw[: int(keep if keep >= 1 else keep * len(raw))])
    again, count = decoded(data, file)
    assert count == 5
    assert_same(whole, again)


@pytest.mark.parametrize("index", [b"{}", b"[]", b"not JSON", b'{"key": "", "problems": [], "places": [1]}'])
def test_a_damaged_index_is_made_anew(data: Path, tmp_path: Path, index: bytes) -> None:
    file = tmp_path / "a.cache"
    file.write_bytes(MAGIC + index + len(index).to_bytes(8, "little") + MAGIC)
    assert decoded(data, file)[1] == 5


def test_somebody_elses_file_stays_as_it_is(data: Path, tmp_path: Path) -> None:
    for name, text in (("thesis.tex", b"ten years of work"), ("short", b"smoke"), ("empty", b"")):
        file = tmp_path / name
        file.write_bytes(text)
        with pytest.raises(SmokescopeError, match=f"{name} is not a smokescope cache"):
            decoded(data, file)
        assert file.read_bytes() == text
    with pytest.raises(SmokescopeError, match=r"data cannot be read: is a directory"):
        decoded(data, data)
    assert not parts(tmp_path)


def test_a_place_that_cannot_be_written_is_named(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SmokescopeError, match=r"a\.cache cannot be"):
        decoded(data, tmp_path / "file/a.cache")


def test_every_problem_is_named_and_nothing_is_left(data: Path, tmp_path: Path) -> None:
    for bad in ("img/1.png", "gt/3.png"):
        whole = (data / bad).read_bytes()
        (data / bad).write_bytes(whole[: len(whole) // 2])
    (data / "gt/0.png").unlink()
    file = tmp_path / "a.cache"
    for _ in range(2):
        with pytest.raises(SmokescopeError, match="3 things are wrong") as caught:
            decoded(data, file)
        assert all(str(data / bad) in str(caught.value) for bad in ("img/0.png", "img/1.png", "gt/3.png"))
        assert not file.exists()
        assert not parts(tmp_path)

    skipping = PictureCache(list_pairs(data), SIDE, file, skip_bad=True)
    assert [pair.name for pair in skipping.pairs] == ["2", "4"]
    assert len(skipping.problems) == 3
    np.testing.assert_array_equal(skipping[1][0].numpy(), read_pair(skipping.pairs[1])[0])
    again = PictureCache(
        list_pairs(data), SIDE, file, skip_bad=True, progress=lambda *_: pytest.fail("decoded")
    )
    assert_same(skipping, again)
    assert list(map(str, again.problems)) == list(map(str, skipping.problems))
    with pytest.raises(SmokescopeError, match="3 things are wrong"):  # the file does not hide them
        decoded(data, file)


def test_interrupted_while_made_anew(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.cache"
    decoded(data, file)
    before = file.read_bytes()

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PictureCache(list_pairs(data), SIDE // 2, file, progress=interrupt)
    assert file.read_bytes() == before
    assert not parts(tmp_path)


def test_a_mended_file_is_not_held_against_anybody(data: Path, tmp_path: Path) -> None:
    """Even with the size and time it had: who does not skip gets a fresh look."""
    file, bad = tmp_path / "a.cache", data / "img/2.png"
    whole, stamp = bad.read_bytes(), bad.stat().st_mtime_ns
    bad.write_bytes(whole[:1000] + bytes(len(whole) - 1000))
    os.utime(bad, ns=(stamp, stamp))
    assert len(PictureCache(list_pairs(data), SIDE, file, skip_bad=True)) == 4
    bad.write_bytes(whole)
    os.utime(bad, ns=(stamp, stamp))
    assert len(PictureCache(list_pairs(data), SIDE, file)) == 5
