"""Which engine a model runs in: as asked for, or the fastest that is here; and the verbs that ask."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.conftest import run  # noqa: F401  # a fixture
from tests.data.hills import hills
from tests.export.conftest import Exported
from tests.export.test_cache import exports, folder  # noqa: F401  # fixtures

import smokescope
from smokescope.checkpoints import embedded
from smokescope.data.pictures import encode_png
from smokescope.errors import SmokescopeError
from smokescope.export import choice

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Say which packages are installed, and whether there is a GPU."""

    def say(*packages: str, gpu: bool = False) -> None:
        monkeypatch.setattr(choice, "find_spec", lambda name: name if name in packages else None)
        monkeypatch.setattr(choice, "has_gpu", lambda: gpu)

    return say


@pytest.mark.usefixtures("folder", "exports")
@pytest.mark.parametrize(
    ("packages", "gpu", "device", "expected"),
    [
        (("openvino", "onnxruntime"), False, "auto", "onnxruntime"),
        (("openvino", "onnxruntime"), True, "cpu", "onnxruntime"),
        (("openvino",), False, "auto", "OpenVINO"),
        ((), False, "auto", "PyTorch"),
        (("openvino", "onnxruntime"), True, "auto", "PyTorch"),
    ],
)
def test_auto_takes_the_fastest_that_is_here(
    exported: Exported,
    here: Callable[..., None],
    packages: tuple[str, ...],
    gpu: bool,
    device: str,
    expected: str,
) -> None:
    here(*packages, gpu=gpu)
    assert smokescope.load(exported.safetensors, device, engine="auto").engine.name == expected


@pytest.mark.usefixtures("folder", "exports")
def test_what_is_asked_for_is_taken(exported: Exported) -> None:
    names = {None: "PyTorch", "torch": "PyTorch", "onnx": "onnxruntime", "openvino": "OpenVINO"}
    for engine, name in names.items():
        found = smokescope.load(exported.safetensors, "cpu", engine=engine)  # type: ignore[arg-type]
        assert found.engine.name == name
    with pytest.raises(SmokescopeError, match="there is no engine tensorflow: choose auto, torch, onnx"):
        smokescope.load(exported.safetensors, "cpu", engine="tensorflow")  # type: ignore[arg-type]


def test_an_exported_file_decides_by_itself(exported: Exported, tmp_path: Path) -> None:
    for engine in (None, "auto", "onnx"):
        found = smokescope.load(exported.onnx, engine=engine)
        assert found.engine.name == "onnxruntime"
    with pytest.raises(SmokescopeError, match=r"m\.xml runs only in openvino"):
        smokescope.load(exported.openvino, engine="torch")
    loud = shutil.copy(exported.onnx, tmp_path / "M.ONNX")
    assert smokescope.load(loud, engine="auto").engine.name == "onnxruntime"
    with pytest.raises(SmokescopeError, match=r"M\.ONNX runs only in onnxruntime"):
        smokescope.load(loud, engine="torch")


def test_8_bits_are_told_of(exported: Exported, tmp_path: Path) -> None:
    graph = exported.openvino.read_bytes()
    assert graph.count(b"precision&quot;: &quot;float32") == 1
    (tmp_path / "m.xml").write_bytes(graph.replace(b"quot;: &quot;float32", b"quot;: &quot;int8"))
    (tmp_path / "m.bin").write_bytes(exported.openvino.with_suffix(".bin").read_bytes())
    assert smokescope.load(tmp_path / "m.xml").engine.name == "OpenVINO, int8"


def test_no_other_device_is_taken_than_that_asked_for(exported: Exported) -> None:
    for engine in (None, "torch", "auto"):
        with pytest.raises(SmokescopeError, match="there is no device 'cuda:77' here"):
            smokescope.load(exported.safetensors, "cuda:77", engine=engine)


def test_other_engines_have_no_gpu(exported: Exported) -> None:
    with pytest.raises(SmokescopeError, match="openvino runs on the CPU, not on 'cuda'"):
        smokescope.load(exported.safetensors, "cuda", engine="openvino")


@pytest.mark.usefixtures("folder")
def test_auto_passes_over_what_cannot_take_the_model(
    exported: Exported,
    here: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def export_model(*_: object) -> float:
        raise SmokescopeError("it would differ from PyTorch's")

    here("openvino", "onnxruntime")
    monkeypatch.setattr("smokescope.export.files.export_model", export_model)
    assert smokescope.load(exported.safetensors, engine="auto").engine.name == "PyTorch"
    assert [record.getMessage() for record in caplog.records] == 2 * ["it would differ from PyTorch's"]
    with pytest.raises(SmokescopeError, match="it would differ"):
        smokescope.load(exported.safetensors, engine="onnx")


@pytest.mark.usefixtures("folder")
def test_a_bad_model_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SmokescopeError, match=r"m\.safetensors does not exist"):
        smokescope.load(tmp_path / "m.safetensors", engine="auto")
    assert not caplog.records


@pytest.mark.usefixtures("folder", "exports")
def test_the_embedded_model_has_engines_too(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "embedded_weights", lambda: None)
    with pytest.raises(SmokescopeError, match="ships no weights"):
        smokescope.load(engine="onnx")
    monkeypatch.setattr(embedded, "embedded_weights", lambda: exported.safetensors)
    assert smokescope.load(engine="onnx").engine.name == "onnxruntime"


@pytest.mark.usefixtures("exports")
def test_verbs_say_which_engine_they_took(
    run: Run,  # noqa: F811
    exported: Exported,
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    (tmp_path / "hill.png").write_bytes(encode_png(hills(3, smoke=True)))
    arguments = ("predict", tmp_path / "hill.png", "--out", tmp_path / "out", "--model", exported.safetensors)
    done = run(*arguments, "--engine", "onnx")
    assert done.returncode == 0
    assert done.stdout.startswith("1 of 1 are done by onnxruntime on cpu: open ")
    assert done.stderr == "smokescope: exporting m.safetensors to onnx, this once: it takes a minute or two\n"
    assert len(list(folder.iterdir())) == 1
    again = run(*arguments, "--engine", "onnx")
    assert (again.returncode, again.stderr) == (0, "")
    done = run(*arguments, "--engine", "tensorflow")
    assert done.returncode == 2


@pytest.mark.usefixtures("exports")
def test_the_second_start_needs_no_torch(exported: Exported, folder: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "hill.png").write_bytes(encode_png(hills(3, smoke=True)))
    smokescope.load(exported.safetensors, engine="onnx")
    script = "import sys; sys.modules['torch'] = None; from smokescope.cli import main; main()"
    arguments = ["predict", tmp_path / "hill.png", "--out", tmp_path / "out", "--engine", "onnx"]
    command = [sys.executable, "-c", script, *map(str, arguments), "--model", str(exported.safetensors)]
    environment = {**os.environ, "SMOKESCOPE_CACHE": str(folder.parent)}
    subprocess.run(command, env=environment, timeout=100, check=True, capture_output=True)
    told = json.loads((tmp_path / "out" / "hill.json").read_text())["model"]
    assert (told["name"], len(told["sha256"])) == ("m.safetensors", 64)
