"""Writing: whole or not at all, and a sentence when not."""

import errno
import os
from pathlib import Path

import pytest

from smokescope.data.files import open_input, try_folder, write_atomically, write_together
from smokescope.errors import SmokescopeError


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def no_space(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_writes_and_replaces(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "a.bin"
    write_atomically(target, b"one")
    write_atomically(target, b"two")
    assert everything_in(tmp_path) == {"new/folder/a.bin": b"two"}


def test_others_may_read_it_as_any_other_file(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"")
    (tmp_path / "b").touch()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"before")
    monkeypatch.setattr(step, no_space)
    with pytest.raises(SmokescopeError, match=r"a.bin cannot be written: no space left on device"):
        write_atomically(target, b"after")
    assert everything_in(tmp_path) == {"a.bin": b"before"}


def test_a_disk_that_fills_up_midway_leaves_neither_of_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    fsync = os.fsync

    def second_fails(descriptor: int) -> None:
        calls.append(descriptor)
        no_space() if len(calls) == 2 else fsync(descriptor)

    monkeypatch.setattr(os, "fsync", second_fails)
    with pytest.raises(SmokescopeError, match="two cannot be written"):
        write_together({tmp_path / "new" / "a" / "one": b"1", tmp_path / "new" / "b" / "two": b"2"})
    assert len(calls) == 2
    assert list(tmp_path.iterdir()) == []  # no folder either


def test_a_rename_that_fails_takes_the_first_of_two_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def second_fails(self: Path, target: Path) -> Path:
        if target.name == "two":
            no_space()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", second_fails)
    with pytest.raises(SmokescopeError, match="two cannot be written"):
        write_together({tmp_path / "one": b"1", tmp_path / "two": b"2"})
    assert everything_in(tmp_path) == {}


def test_a_file_that_waits_is_moved_with_the_others_or_goes_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, large = tmp_path / ".waiting", tmp_path / "large"
    waiting.write_bytes(b"much")
    write_together({large: waiting, tmp_path / "small": b"1"})
    assert everything_in(tmp_path) == {"large": b"much", "small": b"1"}
    waiting.write_bytes(b"more")
    with pytest.raises(SmokescopeError, match="below cannot be written"):
        write_together({large: waiting, tmp_path / "small" / "below": b"2"})
    assert everything_in(tmp_path) == {"large": b"much", "small": b"1"}
    waiting.write_bytes(b"more")
    monkeypatch.setattr(os, "fsync", no_space)  # where a full disk may show itself first
    with pytest.raises(SmokescopeError, match="large cannot be written: no space left"):
        write_together({large: waiting})
    assert everything_in(tmp_path) == {"large": b"much", "small": b"1"}


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a", b"1")
    assert everything_in(tmp_path) == {}


def test_the_final_name_appears_only_when_all_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    fsync = os.fsync

    def look(descriptor: int) -> None:
        seen.append((tmp_path / "a").exists())
        assert os.fstat(descriptor).st_size == 1000
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(tmp_path / "a", b"x" * 1000)
    assert seen == [False]


@pytest.mark.parametrize("name", ["x" * 300, "file/below"])
def test_impossible_names_get_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SmokescopeError, match="cannot be written: "):
        write_atomically(tmp_path / name, b"1")
    assert everything_in(tmp_path) == {"file": b""}


def test_folders_and_devices_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(SmokescopeError, match="folder or device"):
        write_atomically(tmp_path / "folder", b"1")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SmokescopeError, match="folder or device"):
        write_atomically(tmp_path / "pipe", b"1")


def test_the_output_folder_is_tried_and_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_folder(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    (tmp_path / "a").mkdir()
    try_folder(tmp_path / "a" / "b" / "c")
    try_folder(tmp_path / "a")
    assert list((tmp_path / "a").iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(SmokescopeError, match="file is a file: name a folder"):
        try_folder(tmp_path / "file")
    with pytest.raises(SmokescopeError, match="cannot be written to: not a directory"):
        try_folder(tmp_path / "file" / "below")

    def forbidden(**_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("tempfile.TemporaryFile", forbidden)
    with pytest.raises(SmokescopeError, match="cannot be written to: permission denied"):
        try_folder(tmp_path / "a")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_bytes(b"1")

    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", forbidden)  # the tests may run as root, to whom nothing is forbidden
    with pytest.raises(SmokescopeError, match="secret cannot be read: permission denied"):
        open_input(tmp_path / "secret")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SmokescopeError, match="device or a pipe"):
        open_input(tmp_path / "pipe")
