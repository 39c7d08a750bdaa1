"""`smokescope benchmark`: every engine that is here, on one's own model."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.conftest import run  # noqa: F401  # a fixture
from tests.export.conftest import Exported
from tests.export.test_cache import exports, folder  # noqa: F401  # fixtures

from smokescope.errors import SmokescopeError

Run = Callable[..., CompletedProcess[str]]


@pytest.mark.usefixtures("folder")
def test_every_engine_has_its_line(
    run: Run,  # noqa: F811
    exported: Exported,
    exports: list[str],  # noqa: F811
    tmp_path: Path,
) -> None:
    model, file = exported.safetensors, tmp_path / "deep" / "b.json"
    arguments = ("--rounds", 1, "--size", "96x64", "--threads", 1, "--also", exported.onnx, "--json", file)
    done = run("benchmark", "--model", model, *arguments, "--int8")
    assert done.returncode == 0
    assert sorted(exports) == ["int8", "onnx", "openvino"]
    assert "m.safetensors, pictures of 96 x 64 one at a time" in done.stdout
    told = json.loads(file.read_text())
    commands = {each["name"]: each["command"] for each in told["engines"]}
    assert commands == {
        "PyTorch": f"smokescope serve --model {model}",
        "OpenVINO": f"smokescope serve --engine openvino --model {model}",
        "onnxruntime": f"smokescope serve --engine onnx --model {model}",
        "OpenVINO, int8": f"smokescope export --format openvino --int8 --out int8.xml --model {model} "
        "&& smokescope serve --model int8.xml",
        f"onnxruntime, {exported.onnx}": f"smokescope serve --model {exported.onnx}",
    }
    for each in told["engines"]:
        assert each["milliseconds"] * each["pictures_per_second"] == pytest.approx(1000)
        assert each["startup_seconds"] > 0
        assert any(line.startswith(each["name"]) for line in done.stdout.splitlines())
    assert "OMP_NUM_THREADS=1 smokescope serve" in told["advice"]
    assert told["advice"] in done.stdout


def test_an_exported_model_has_one_engine(run: Run, exported: Exported) -> None:  # noqa: F811
    done = run("benchmark", "--model", exported.openvino, "--rounds", 1, "--size", "96x64")
    assert (done.returncode, done.stderr) == (0, "")
    wanted = f"OpenVINO is the one engine here that runs it: smokescope serve --model {exported.openvino}"
    assert wanted in done.stdout.splitlines()


@pytest.mark.parametrize("option", ["--compiled", "--int8"])
def test_an_exported_model_has_no_other_forms(run: Run, exported: Exported, option: str) -> None:  # noqa: F811
    done = run("benchmark", "--model", exported.onnx, "--rounds", 1, "--size", "96x64", option)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{exported.onnx} is an exported model" in done.stderr


def test_figures_do_not_replace_a_model(run: Run, exported: Exported) -> None:  # noqa: F811
    model, also, before = exported.safetensors, exported.openvino, exported.openvino.read_bytes()
    for target in (model, also, also.with_suffix(".bin")):
        done = run("benchmark", "--model", model, "--also", also, "--json", target)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{target} is also an input or another result" in done.stderr
    assert also.read_bytes() == before


@pytest.mark.usefixtures("folder")
def test_an_engine_that_cannot_is_left_out(
    run: Run,  # noqa: F811
    exported: Exported,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def export_model(*_: object) -> float:
        raise SmokescopeError("the input is too large")

    monkeypatch.setattr("smokescope.export.files.export_model", export_model)
    done = run("benchmark", "--model", exported.safetensors, "--rounds", 1, "--size", "96x64")
    assert done.returncode == 0
    assert "smokescope: OpenVINO is left out: the input is too large\n" in done.stderr
    assert "PyTorch is the one engine here that runs it" in done.stdout


@pytest.mark.usefixtures("folder")
def test_bad_input_is_one_sentence(run: Run, exported: Exported, tmp_path: Path) -> None:  # noqa: F811
    for size in ("640", "0x480", "640x480x3", "-1x5", "99999x1", "axb"):
        done = run("benchmark", "--model", exported.onnx, "--size", size)
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            done.stderr
            == f"smokescope: {size} is not a size: give width and height in pixels, such as 640x480\n"
        )
    done = run("benchmark", "--model", tmp_path / "none.safetensors")
    assert done.returncode == 2
    assert done.stderr == f"smokescope: {tmp_path / 'none.safetensors'} does not exist\n"
    done = run("benchmark", "--model", exported.onnx, "--also", exported.safetensors)
    assert f"{exported.safetensors} is not an exported model" in done.stderr
