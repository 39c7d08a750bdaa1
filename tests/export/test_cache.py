"""A model is exported for another engine once, and whatever happens to the cache, there is an answer."""

import logging
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.data.hills import hills
from tests.export.conftest import Exported, make_pipeline

import smokescope
from smokescope.checkpoints.model import load_model, save_model
from smokescope.errors import SmokescopeError
from smokescope.export import cache
from smokescope.export.cache import KEPT, cache_folder, load_exported
from smokescope.models import Pipeline
from smokescope.settings.choices import Format


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where models are kept, in this test."""
    monkeypatch.setenv("SMOKESCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def exports(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The formats that were exported to, by somebody quick who has done it before."""
    done: list[str] = []

    def export_model(model: Path, format: str, out: Path, *, int8: bool = False) -> None:
        load_model(model)
        done.append("int8" if int8 else format)
        source: Path = getattr(exported, format)
        shutil.copy(source, out)
        if format == "openvino":
            shutil.copy(source.with_suffix(".bin"), out.with_suffix(".bin"))

    monkeypatch.setattr("smokescope.export.files.export_model", export_model)
    return done


def test_a_model_is_exported_once(folder: Path, tmp_path: Path) -> None:
    """With the real exporter."""
    save_model(make_pipeline("squash"), tmp_path / "m.safetensors")
    picture = hills(0, smoke=True)
    expected = smokescope.load(tmp_path / "m.safetensors", "cpu")(picture)
    first = smokescope.load(tmp_path / "m.safetensors", engine="onnx")
    assert first.engine.name == "onnxruntime"
    np.testing.assert_allclose(first(picture).epistemic, expected.epistemic, atol=1e-4)
    (kept,) = folder.iterdir()
    assert [path.name for path in kept.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("format", ["onnx", "openvino"])
def test_the_second_start_finds_it(
    exported: Exported, folder: Path, exports: list[str], format: Format
) -> None:
    engines = [load_exported(exported.safetensors, format) for _ in range(3)]
    assert exports == [format]
    first, *others = (engine.predict([hills(1)], "never") for engine in engines)
    for other in others:
        np.testing.assert_array_equal(first.total, other.total)


def test_formats_thresholds_and_versions_are_told_apart(
    exported: Exported, folder: Path, exports: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(exported.safetensors)
    save_model(Pipeline(model.network, model.input, threshold=0.9), tmp_path / "other.safetensors")
    for path in (exported.safetensors, tmp_path / "other.safetensors"):
        load_exported(path, "onnx")
    load_exported(exported.safetensors, "openvino")
    assert exports == ["onnx", "onnx", "openvino"]
    assert len(list(folder.iterdir())) == 3
    monkeypatch.setattr(cache, "__version__", "another")
    load_exported(exported.safetensors, "onnx")
    assert len(exports) == len(list(folder.iterdir())) == 4


@pytest.mark.parametrize("format", ["onnx", "openvino"])
def test_a_damaged_one_is_replaced(
    exported: Exported, folder: Path, exports: list[str], format: Format
) -> None:
    load_exported(exported.safetensors, format)
    for path in folder.rglob("model.*"):
        path.write_bytes(path.read_bytes()[:-100])
    load_exported(exported.safetensors, format)
    load_exported(exported.safetensors, format)
    assert exports == [format, format]


def test_where_nothing_can_be_kept_it_works_all_the_same(
    exported: Exported, folder: Path, exports: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    folder.parent.write_text("a file is in the way")
    for _ in range(2):
        assert load_exported(exported.safetensors, "openvino").predict([hills(1)], "never")
    assert exports == ["openvino", "openvino"]
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == 2
    assert (
        "could not be kept and will be made again next time, unless SMOKESCOPE_CACHE names another folder"
        in told[0]
    )


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, SmokescopeError("no space left on device")])
def test_nothing_half_written_is_left(
    exported: Exported,
    folder: Path,
    exports: list[str],
    monkeypatch: pytest.MonkeyPatch,
    trouble: type[BaseException] | SmokescopeError,
) -> None:
    def write_half(files: dict[Path, bytes]) -> None:
        path, data = next(iter(files.items()))
        path.parent.mkdir(parents=True)
        path.write_bytes(data[:1000])
        raise trouble

    monkeypatch.setattr(cache, "write_together", write_half)
    try:
        load_exported(exported.safetensors, "openvino")
    except KeyboardInterrupt:
        assert trouble is KeyboardInterrupt
    assert list(folder.iterdir()) == []


def test_what_a_quicker_process_made_stays(
    exported: Exported, folder: Path, exports: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    export = cache._export
    quicker: list[int] = []

    def late(path: Path, format: Format, into: Path) -> None:
        monkeypatch.setattr(cache, "_export", export)
        load_exported(path, format)  # as another process does meanwhile
        (place,) = folder.iterdir()
        quicker.append(place.stat().st_ino)
        export(path, format, into)

    monkeypatch.setattr(cache, "_export", late)
    load_exported(exported.safetensors, "onnx")
    (place,) = folder.iterdir()
    assert quicker == [place.stat().st_ino]


def test_the_last_ones_used_are_kept(exported: Exported, folder: Path, exports: list[str]) -> None:
    load_exported(exported.safetensors, "onnx")
    (own,) = folder.iterdir()
    for number in range(KEPT + 1):
        (folder / f"old-{number}").mkdir()
        os.utime(folder / f"old-{number}", (number, number))
    os.utime(own, (0, 0))
    load_exported(exported.safetensors, "onnx")  # which is a use
    load_exported(exported.safetensors, "openvino")
    names = {path.name for path in folder.iterdir()}
    assert len(names) == KEPT
    assert own.name in names
    assert {"old-0", "old-1", "old-2"}.isdisjoint(names)


def test_a_bad_model_is_complained_of(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SmokescopeError, match="none does not exist"):
        load_exported(tmp_path / "none", "onnx")
    (tmp_path / "bad").write_text("hello")
    with pytest.raises(SmokescopeError, match="bad is not a safetensors file"):
        load_exported(tmp_path / "bad", "onnx")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "{home}/.cache/smokescope"),
        ("linux", {"XDG_CACHE_HOME": "/var/xdg"}, "/var/xdg/smokescope"),
        ("linux", {"XDG_CACHE_HOME": "not/absolute"}, "{home}/.cache/smokescope"),
        ("linux", {"XDG_CACHE_HOME": "/var/xdg", "SMOKESCOPE_CACHE": "/srv/own"}, "/srv/own"),
        ("darwin", {}, "{home}/Library/Caches/smokescope"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/smokescope"),
    ],
)
def test_every_platform_has_its_place(
    monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], expected: str
) -> None:
    for name in ("SMOKESCOPE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert str(cache_folder()) == expected.format(home=Path.home())


def test_who_has_no_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError

    monkeypatch.delenv("SMOKESCOPE_CACHE", raising=False)
    monkeypatch.setattr(Path, "home", home)
    with pytest.raises(SmokescopeError, match="set SMOKESCOPE_CACHE to a folder"):
        cache_folder()
