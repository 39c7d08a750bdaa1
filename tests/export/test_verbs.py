"""The verbs that write exported models and that take them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from tests.cli.conftest import run  # noqa: F401  # a fixture
from tests.data.hills import hills
from tests.export.conftest import Exported, make_pipeline

import smokescope
from smokescope.checkpoints.model import save_model
from smokescope.data.pictures import encode_png, read_picture

Run = Callable[..., CompletedProcess[str]]


@pytest.mark.parametrize(("format", "endings"), [("onnx", {".onnx"}), ("openvino", {".xml", ".bin"})])
def test_export_writes_what_load_takes(run: Run, tmp_path: Path, format: str, endings: set[str]) -> None:  # noqa: F811
    save_model(make_pipeline("squash"), tmp_path / "m.safetensors", {"data": "hills"})
    out = tmp_path / "new" / f"m{'.onnx' if format == 'onnx' else '.xml'}"
    done = run("export", "--format", format, "--out", out, "--model", tmp_path / "m.safetensors")
    assert (done.returncode, done.stderr) == (0, "")
    assert "was written; its maps differ from PyTorch's by" in done.stdout
    assert {path.suffix for path in out.parent.iterdir()} == endings
    ours, theirs = (smokescope.load(each)(hills(0)) for each in (tmp_path / "m.safetensors", out))
    np.testing.assert_allclose(theirs.epistemic, ours.epistemic, atol=1e-4)
    told = json.loads(run("info", out, "--json").stdout)["file"]["metadata"]
    source = json.loads(run("info", tmp_path / "m.safetensors", "--json").stdout)["file"]["metadata"]
    assert told["sha256"] == source["sha256"]
    assert (told["data"], told["class"], told["smokescope"]) == ("hills", "smoke", smokescope.__version__)


def test_export_in_8_bits(run: Run, tmp_path: Path) -> None:  # noqa: F811
    save_model(make_pipeline("squash"), tmp_path / "m.safetensors")
    (tmp_path / "hills").mkdir()
    (tmp_path / "hills" / "0.png").write_bytes(encode_png(hills(0, size=(96, 64))))
    given = (
        "export",
        "--format",
        "openvino",
        "--out",
        tmp_path / "m.xml",
        "--model",
        tmp_path / "m.safetensors",
    )
    done = run(*given, "--calibrate", tmp_path / "hills")
    assert done.returncode == 2
    assert "--calibrate needs --int8" in done.stderr
    done = run(*given, "--int8", "--calibrate", tmp_path / "hills")
    assert (done.returncode, done.stderr) == (0, "")
    assert "m.xml was written; in 8 bits, its maps follow PyTorch's with a correlation of" in done.stdout
    told = json.loads(run("info", tmp_path / "m.xml", "--json").stdout)
    assert told["file"]["metadata"]["precision"] == "int8"
    assert told["file"]["bytes"] == sum((tmp_path / f"m{end}").stat().st_size for end in (".xml", ".bin"))


def test_export_says_what_is_wrong(run: Run, tmp_path: Path) -> None:  # noqa: F811
    done = run("export", "--format", "onnx", "--out", tmp_path / "m.onnx", "--model", tmp_path / "none")
    assert done.returncode == 2
    assert "none does not exist" in done.stderr
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "taken").touch()
    out = tmp_path / "taken" / "m.onnx"  # no place for it, which is told before a model is even read
    done = run("export", "--format", "onnx", "--out", out, "--model", tmp_path / "none")
    assert done.returncode == 2
    assert "taken is a file: name a folder for the results" in done.stderr


def test_predict_needs_no_torch(exported: Exported, tmp_path: Path) -> None:
    picture = tmp_path / "hill.png"
    picture.write_bytes(encode_png(hills(3, smoke=True)))
    script = (
        "import sys\nfrom smokescope.cli import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    print(done.code, 'torch' in sys.modules)"
    )
    arguments = ["predict", picture, "--out", tmp_path / "out", "--model", exported.onnx]
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"
    told = json.loads((tmp_path / "out" / "hill.json").read_text())
    assert told["model"]["name"] == "m.onnx"
    assert len(told["model"]["sha256"]) == 64


def test_evaluate_gives_pytorchs_figures(run: Run, exported: Exported, tmp_path: Path) -> None:  # noqa: F811
    data = tmp_path / "data"
    for seed in range(3):
        mask = np.zeros((180, 240), np.uint8)
        mask[40:90, 60:150] = 255
        for folder, pixels in (("img", hills(seed, smoke=True)), ("gt", mask)):
            (data / folder).mkdir(parents=True, exist_ok=True)
            (data / folder / f"{seed}.png").write_bytes(encode_png(pixels))
    assert read_picture(data / "img" / "0.png").shape == (180, 240, 3)
    figures = []
    for path in exported:
        done = run("evaluate", "--data", data, "--model", path, "--json", tmp_path / "f.json")
        assert done.returncode == 0
        figures.append(json.loads((tmp_path / "f.json").read_text()))
    for other in figures[1:]:
        assert other["mse"] == pytest.approx(figures[0]["mse"], abs=1e-5)
        assert other["ece"]["image"] == pytest.approx(figures[0]["ece"]["image"], abs=1e-3)
    done = run("evaluate", "--data", data, "--model", exported.onnx, "--samples", 2)
    assert done.returncode == 2
    assert "cannot draw samples" in done.stderr
