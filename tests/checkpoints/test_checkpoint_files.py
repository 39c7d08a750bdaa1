"""Safetensors files: what was written comes back; what is something else is refused unopened."""

import errno
import os
import pickle
from pathlib import Path

import pytest
import torch

from smokescope.checkpoints.files import read_tensors, summarise, write_tensors
from smokescope.errors import SmokescopeError

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b.half": torch.ones(4, dtype=torch.float16)}
METADATA = {"arch": "resnet50", "note": "Röntgen ≠ smoke"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_tensors(tmp_path / "w.safetensors", TENSORS, METADATA)
    return tmp_path / "w.safetensors"


def refusal(path: Path) -> str:
    with pytest.raises(SmokescopeError) as caught:
        read_tensors(path)
    assert str(path) in str(caught.value)
    with pytest.raises(SmokescopeError) as again:
        summarise(path)
    assert str(again.value) == str(caught.value)
    return str(caught.value)


def test_round_trip(file: Path) -> None:
    tensors, metadata = read_tensors(file)
    assert metadata == METADATA
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        torch.testing.assert_close(tensors[name], tensor, rtol=0, atol=0)


def test_views_and_parameters_are_written_as_they_look(tmp_path: Path) -> None:
    turned = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3).T)
    write_tensors(tmp_path / "w", {"turned": turned}, {})
    tensors, metadata = read_tensors(tmp_path / "w")
    assert tensors["turned"].tolist() == turned.tolist()
    assert metadata == {}


def test_summary(file: Path) -> None:
    summary = summarise(file)
    assert summary.tensors == 2
    assert summary.parameters == 10
    assert summary.dtypes == ["F16", "F32"]
    assert summary.metadata == METADATA
    assert summary.bytes == file.stat().st_size


def test_pickles_are_named_and_not_opened(tmp_path: Path) -> None:
    zipped, legacy, plain = tmp_path / "zip.pth", tmp_path / "old.pth", tmp_path / "plain.pkl"
    torch.save(TENSORS, zipped)
    torch.save(TENSORS, legacy, _use_new_zipfile_serialization=False)
    plain.write_bytes(pickle.dumps({"a": 1}))
    for path in (zipped, legacy, plain):
        assert "is a PyTorch pickle" in refusal(path)
        assert "smokescope convert" in refusal(path)


def test_a_good_file_that_begins_like_a_pickle(tmp_path: Path) -> None:
    # The first byte is the lowest of the header's length, and that may be 0x80.
    path = tmp_path / "w.safetensors"
    for padding in range(400):
        write_tensors(path, {"a": torch.zeros(1)}, {"pad": "x" * padding})
        if path.read_bytes()[:2] == b"\x80\x01" or path.read_bytes()[0] == 0x80:
            break
    assert path.read_bytes()[0] == 0x80
    assert read_tensors(path)[0]["a"].tolist() == [0.0]


@pytest.mark.parametrize("keep", [1, 7, 8, 20, -1])
def test_cut_files(file: Path, keep: int) -> None:
    file.write_bytes(file.read_bytes()[:keep])
    assert "not a safetensors file, or is damaged or cut short" in refusal(file)


def test_spoilt_headers(file: Path) -> None:
    whole = file.read_bytes()
    for spoilt in (whole.replace(b"F32", b"X99"), b"\xff" * 8 + whole[8:], whole[:9] + b"\xfe" + whole[10:]):
        file.write_bytes(spoilt)
        assert "damaged" in refusal(file)


def test_no_file_at_all(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "missing.safetensors")
    assert "is a folder" in refusal(tmp_path)
    (tmp_path / "empty").touch()
    assert "is empty" in refusal(tmp_path / "empty")
    (tmp_path / "text").write_text("weights")
    assert "not a safetensors file" in refusal(tmp_path / "text")


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(SmokescopeError, match=r"w.safetensors cannot be written: no space left"):
        write_tensors(tmp_path / "w.safetensors", TENSORS, METADATA)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"\x80", b"P", b"\x80\x02", b"{}"])
def test_files_of_a_byte_or_two_are_refused_like_any_other(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tiny").write_bytes(content)
    with pytest.raises(SmokescopeError, match="tiny"):
        read_tensors(tmp_path / "tiny")
