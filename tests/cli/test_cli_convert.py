"""`smokescope convert`: ResNet-50 and models go through, everything else gets a sentence."""

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import torch
from tests.models.small import small_bvm

from smokescope.checkpoints.files import read_tensors
from smokescope.checkpoints.model import load_model, save_model
from smokescope.models import Pipeline
from smokescope.models.resnet import ResNet

Run = Callable[..., CompletedProcess[str]]


@pytest.mark.parametrize("stride", ["v1", "v1.5"])
def test_converts(tmp_path: Path, run: Run, stride: str) -> None:
    torch.save(ResNet().state_dict(), tmp_path / "r.pth")
    options = [] if stride == "v1.5" else ["--stride", stride]  # torchvision's is the default
    result = run("convert", tmp_path / "r.pth", "--out", tmp_path / "r.safetensors", *options)
    assert (result.returncode, result.stderr) == (0, "")
    assert read_tensors(tmp_path / "r.safetensors")[1]["stride"] == stride


@pytest.mark.parametrize("content", [b"text", b"", b"PK\x03\x04", b"\x80\x04}."])
def test_refuses_anything_else(tmp_path: Path, run: Run, content: bytes) -> None:
    (tmp_path / "r.pth").write_bytes(content)
    result = run("convert", tmp_path / "r.pth", "--out", tmp_path / "r.safetensors")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"smokescope: {tmp_path / 'r.pth'} ")
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "r.safetensors").exists()


def test_out_that_cannot_be_written(tmp_path: Path, run: Run) -> None:
    torch.save(ResNet().state_dict(), tmp_path / "r.pth")
    out = tmp_path / "a.safetensors"
    out.mkdir()
    result = run("convert", tmp_path / "r.pth", "--out", out)
    assert result.returncode == 2
    assert f"{out} cannot be written" in result.stderr
    result = run("convert", tmp_path / "r.pth", "--out", tmp_path / "r.onnx")
    assert (result.returncode, "r.onnx must end in .safetensors" in result.stderr) == (2, True)
    assert not (tmp_path / "r.onnx").exists()


def test_unknown_stride_is_bad_usage(tmp_path: Path, run: Run) -> None:
    result = run("convert", "r.pth", "--out", tmp_path / "out", "--stride", "v7")
    assert result.returncode == 2
    assert "'v1', 'v1.5'" in result.stderr


def test_a_model_is_made_smaller_and_retuned(tmp_path: Path, run: Run) -> None:
    path, out = tmp_path / "m.safetensors", tmp_path / "out.safetensors"
    save_model(Pipeline(small_bvm()), path)
    result = run("convert", path, "--out", out, "--int8", "--set", "verdicts.smoke_above=0.75")
    assert (result.returncode, result.stderr) == (0, "")
    assert out.stat().st_size < path.stat().st_size
    assert load_model(out).verdicts.smoke_above == 0.75
    for options, complaint in (
        ([path, "--set", "threshold=high"], "threshold=high is not NAME=NUMBER"),
        ([path, "--stride", "v1.5"], "leave --stride out"),
        (["r.pth", "--int8"], "which --int8, --set and --figures need"),
        ([path, "--figures", path], "holds no figures: make such a file with `smokescope evaluate --json`"),
        ([path, "--figures", tmp_path / "none.json"], "does not exist"),
    ):
        result = run("convert", *options, "--out", tmp_path / "none.safetensors")
        assert result.returncode == 2
        assert complaint in result.stderr
