"""The command as a whole: quick, quiet, and never a traceback."""

import io
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import get_args

import pytest
from PIL import Image

from smokescope import __version__
from smokescope.cli.console import Outcome, complain, work_through
from smokescope.errors import SmokescopeError
from smokescope.settings.choices import EngineName, Format, Stride, Tiles

Run = Callable[..., CompletedProcess[str]]


def shell(*arguments: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "smokescope", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=60, **options)  # type: ignore[call-overload]  # cwd, env


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == f"smokescope {__version__}\n"
    shown = run("--help")
    assert shown.returncode == 0
    for verb in ("evaluate", "transmission", "convert", "info"):
        assert verb in shown.stdout
        assert run(verb, "--help").returncode == 0


@pytest.mark.parametrize(
    "arguments", [(), ("fly",), ("transmission",), ("transmission", "a.jpg"), ("info", "--x")]
)
def test_bad_usage_is_exit_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("option", "kind"),
    [
        (("predict", "a.jpg", "--out", "o", "--engine"), EngineName),
        (("predict", "a.jpg", "--out", "o", "--tiles"), Tiles),
        (("export", "--out", "m.onnx", "--format"), Format),
        (("convert", "a.pth", "--out", "e.safetensors", "--stride"), Stride),
    ],
    ids=lambda option: option[-1] if isinstance(option, tuple) else None,
)
def test_choices_are_listed_and_others_refused(run: Run, option: tuple[str, ...], kind: object) -> None:
    assert "|".join(get_args(kind)) in run(option[0], "--help").stdout
    result = run(*option, "other")
    assert (result.returncode, result.stdout) == (2, "")
    assert all(f"'{choice}'" in result.stderr for choice in get_args(kind))


def test_answers_without_loading_what_is_heavy() -> None:
    script = (
        "import sys; sys.argv = ['smokescope', '--help']\n"
        "from smokescope.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(sorted({'torch', 'numpy', 'PIL', 'cv2', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_real_process_with_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("text")
    done = shell("transmission", "a.jpg", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"smokescope: a.jpg is not a JPEG")  # the path as it was given
    assert done.stderr.count(b"\n") == 1


def test_names_that_are_not_text_are_shown(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\n\x1b[31m.jpg"
    Path(os.fsdecode(name)).write_text("text")
    done = shell("transmission", os.fsdecode(name), "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"\x1b" not in done.stderr
    assert rb"\n\x1b[31m.jpg" in done.stderr


def test_names_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    plain = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = shell("transmission", "a.png", "--out", "煙", cwd=tmp_path, env=plain)
    assert done.returncode == 0
    assert done.stdout.endswith(b"are in \\u7159\n")


def test_pillow_does_not_speak_for_us(tmp_path: Path) -> None:
    # It logs an error of its own over a TIFF that claims 2048 values a pixel, which would reach stderr.
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, "TIFF")
    samples = struct.pack("<HHI", 277, 3, 1)  # tag, type, count; the value follows
    assert samples in buffer.getvalue()
    spoilt = buffer.getvalue().replace(samples + b"\x03\x00", samples + b"\x00\x08")
    (tmp_path / "a.tiff").write_bytes(spoilt)
    done = shell("transmission", tmp_path / "a.tiff", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.startswith(b"smokescope: ")
    assert done.stderr.count(b"\n") == 1


def test_a_reader_that_goes_away_is_met_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "smokescope", "--help"], stdout=closed, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
def test_a_full_disk_under_stdout_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "smokescope", "--version"], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == 2
    assert done.stderr.endswith(b"cannot be written: no space left on device\n")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("verb", ["--version", "nonsense"])
def test_a_signal_is_not_an_exception_any_more_when_python_ends(run: Run, verb: str) -> None:
    run(verb)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_ctrl_c_leaves_without_a_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("smokescope.cli.info._versions", interrupted)
    result = run("info")
    assert result.returncode == 130
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(("done", "failed", "code"), [(3, 0, 0), (0, 0, 0), (2, 1, 1), (0, 3, 2)])
def test_exit_codes(done: int, failed: int, code: int) -> None:
    assert Outcome(done, ["no"] * failed).exit_code == code


def test_working_through_counts_and_reports(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[int] = []

    def work(item: int) -> None:
        seen.append(item)
        if item == 2:
            raise SmokescopeError("two is bad")

    outcome = work_through([1, 2, 3], work, label="x", problems=[SmokescopeError("zero is missing")])
    assert seen == [1, 2, 3]
    assert (outcome.done, outcome.failed) == (2, 2)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "smokescope: zero is missing\nsmokescope: two is bad\n"


def test_our_own_mistakes_are_not_hidden() -> None:
    def work(_: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work_through([1], work, label="x")


def test_complaints_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain(SmokescopeError("a\nb\tc é"))
    assert capsys.readouterr().err == "smokescope: a\\nb\\tc é\n"
