"""`smokescope info`: what is here, for people and for programs."""

import json
import platform
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import torch

from smokescope import __version__
from smokescope.checkpoints.files import write_tensors
from smokescope.checkpoints.quantise import quantise

Run = Callable[..., CompletedProcess[str]]


def test_versions_devices_and_what_is_embedded(run: Run) -> None:
    result = run("info")
    assert result.returncode == 0
    for words in (__version__, torch.__version__, platform.python_version(), "cpu", "default.safetensors"):
        assert words in result.stdout


def test_json_says_the_same(run: Run) -> None:
    told = json.loads(run("info", "--json").stdout)
    assert told["versions"]["smokescope"] == __version__
    assert told["versions"]["torch"] == torch.__version__
    assert "cpu" in told["devices"]
    assert told["embedded"]["metadata"]["architecture"] == "smoke-bvm"


def test_a_weights_file_describes_itself(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "w.safetensors"
    write_tensors(path, {"a": torch.zeros(1000, 2), "b": torch.zeros(3).half()}, {"arch": "resnet50"})
    shown = run("info", path).stdout
    for words in (str(path), "2,003", "resnet50", "F16, F32"):
        assert words in shown
    told = json.loads(run("info", path, "--json").stdout)["file"]
    assert told == {
        "path": str(path),
        "bytes": path.stat().st_size,
        "tensors": 2,
        "parameters": 2003,
        "dtypes": ["F16", "F32"],
        "metadata": {"arch": "resnet50"},
    }


def test_weights_in_8_bits_have_as_many_parameters_as_before(tmp_path: Path, run: Run) -> None:
    tensors = {"a": torch.rand(5, 3), "a.bias": torch.rand(5), "norm.scale": torch.rand(7)}
    write_tensors(tmp_path / "w", quantise(tensors), {})
    assert json.loads(run("info", tmp_path / "w", "--json").stdout)["file"]["parameters"] == 27


def test_metadata_cannot_play_with_the_terminal(tmp_path: Path, run: Run) -> None:
    write_tensors(tmp_path / "w", {"a": torch.zeros(1)}, {"note": "\x1b[2Jgone\n"})
    assert r"note: \x1b[2Jgone\n" in run("info", tmp_path / "w").stdout


def test_a_pickle_is_not_opened(tmp_path: Path, run: Run) -> None:
    torch.save({"a": torch.zeros(1)}, tmp_path / "w.pth")
    result = run("info", tmp_path / "w.pth")
    assert (result.returncode, result.stdout) == (2, "")
    assert f"smokescope: {tmp_path / 'w.pth'} is a PyTorch pickle" in result.stderr
