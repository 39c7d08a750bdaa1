"""What is not a model that smokescope exported is refused in a sentence, and nothing wrong is written."""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from tests.export.conftest import Exported, make_pipeline
from torch import Tensor
from torch.nn import functional

import smokescope
from smokescope.checkpoints.model import save_model
from smokescope.errors import SmokescopeError
from smokescope.export import files, trial
from smokescope.export.openvino import to_openvino
from smokescope.inference.engines.onnx import CHECKSUM, seal
from smokescope.models import Pipeline
from smokescope.uncertainty import Decomposition


def foreign() -> onnx.ModelProto:
    value = onnx.helper.make_tensor_value_info
    ends = [value(name, onnx.TensorProto.FLOAT, [1]) for name in ("x", "y")]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", ends[:1], ends[1:])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10)


def marked(path: Path, **changes: str) -> bytes:
    model = onnx.load(path)
    told = {each.key: each.value for each in model.metadata_props if each.key != CHECKSUM} | changes
    onnx.helper.set_model_props(model, {key: value for key, value in told.items() if value})
    return seal(model.SerializeToString())


def with_a_flipped_bit(path: Path) -> bytes:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 64  # among the weights
    return bytes(data)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda _: b"hello", "is not an ONNX model, or is damaged or cut short"),
        (lambda path: path.read_bytes()[:-1000], "is not an ONNX model, or is damaged or cut short"),
        (lambda path: path.read_bytes()[:1000], "is not an ONNX model, or is damaged or cut short"),
        (lambda _: b"", "is empty"),
        (lambda _: foreign().SerializeToString(), "is not a model exported by smokescope"),
        (with_a_flipped_bit, "was damaged or changed after its export"),
        (lambda path: marked(path, **{"class": "cats"}), "is not a model exported by smokescope"),
        (
            lambda path: marked(path, layout="2", smokescope="9.1"),
            "was exported by smokescope 9.1 in a layout that .* does not know: export the model again",
        ),
        (lambda path: marked(path, verdicts='{"sure": 1}'), "does not fit smokescope"),
        (lambda path: marked(path, threshold=""), "does not fit smokescope"),
    ],
)
def test_a_bad_onnx_file(
    exported: Exported, tmp_path: Path, spoil: Callable[[Path], bytes], words: str
) -> None:
    (tmp_path / "bad.onnx").write_bytes(spoil(exported.onnx))
    with pytest.raises(SmokescopeError, match=rf"bad\.onnx {words}"):
        smokescope.load(tmp_path / "bad.onnx")


def test_a_bad_openvino_model(exported: Exported, tmp_path: Path) -> None:
    graph, weights = exported.openvino.read_bytes(), exported.openvino.with_suffix(".bin").read_bytes()

    def refusal(xml: bytes, data: bytes | None) -> str:
        (tmp_path / "m.xml").write_bytes(xml)
        (tmp_path / "m.bin").unlink(missing_ok=True)
        if data is not None:
            (tmp_path / "m.bin").write_bytes(data)
        with pytest.raises(SmokescopeError) as caught:
            smokescope.load(tmp_path / "m.xml")
        return str(caught.value)

    assert "m.bin does not exist" in refusal(graph, None)
    assert "is not an OpenVINO model, or is damaged" in refusal(b"<html></html>", weights)
    assert "is not an OpenVINO model, or is damaged" in refusal(graph[:-2000], weights)
    assert "m.xml" in refusal(graph, weights[:-500])
    assert "do not belong together" in refusal(graph, bytes([weights[0] ^ 1]) + weights[1:])
    assert "is not a model exported by smokescope" in refusal(
        graph.replace(b"<smokescope", b"<other"), weights
    )
    for odd in (b"[]", b"7", b"null"):  # JSON, but no metadata
        assert "m.xml is not " in refusal(
            re.sub(rb'(<smokescope value=")[^"]*', rb"\g<1>" + odd, graph), weights
        )


@pytest.mark.parametrize(("kind", "package"), [("onnx", "onnxruntime"), ("openvino", "openvino")])
def test_what_is_missing_is_said(
    exported: Exported, monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SmokescopeError, match=r"install it with pip install 'smokescope\[export\]'"):
        smokescope.load(getattr(exported, kind))


def test_only_the_cpu(exported: Exported) -> None:
    for path in (exported.onnx, exported.openvino):
        with pytest.raises(SmokescopeError, match="runs on the CPU only, not on 'cuda'"):
            smokescope.load(path, device="cuda")


def test_a_model_itself_is_not_to_be_had(exported: Exported) -> None:
    with pytest.raises(SmokescopeError, match="use its safetensors file"):
        _ = smokescope.load(exported.onnx).pipeline


class Careless(Pipeline):
    """Dropout is left on."""

    def forward(self, pictures: Tensor) -> Decomposition:
        maps = super().forward(pictures)
        return maps._replace(total=functional.dropout(maps.total, 0.01, training=True))


def test_what_differs_from_pytorch_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = make_pipeline("squash")
    save_model(good, tmp_path / "m.safetensors")
    careless = Careless(good.network, good.input, good.temperature).eval()
    monkeypatch.setattr(files, "load_model", lambda _: careless)
    with pytest.raises(SmokescopeError, match=r"m\.onnx was not written: its maps would differ"):
        files.export_model(tmp_path / "m.safetensors", "onnx", tmp_path / "m.onnx")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.safetensors"]


def test_what_cannot_be_compared_with_pytorch_is_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "find_difference", lambda *_: float("nan"))
    with pytest.raises(SmokescopeError, match=r"m\.onnx was not written: its maps would differ .* by nan"):
        trial.check_difference({}, tmp_path / "m.onnx", make_pipeline())


def test_an_input_too_large_for_openvino_is_refused(exported: Exported) -> None:
    large = marked(exported.onnx, input='{"height": 1601, "width": 1600, "fit": "aspect"}')
    with pytest.raises(SmokescopeError, match="up to 1600 x 1600 pixels: export as ONNX"):
        to_openvino(large)


def test_the_trial_sees_another_resizing(
    exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph that resizes as many do, without antialiasing, is not ours."""
    given = {tmp_path / "m.onnx": exported.onnx.read_bytes()}
    pipeline = make_pipeline()
    assert trial.find_difference(given, tmp_path / "m.onnx", pipeline) < 1e-5

    def plain(maps: Tensor, size: tuple[int, int]) -> Tensor:
        return functional.interpolate(maps, tuple(size), mode="bilinear", align_corners=False)

    monkeypatch.setattr("smokescope.models.pipeline.resize", plain)
    assert trial.find_difference(given, tmp_path / "m.onnx", pipeline) > 100 * trial.TOLERANCE


def test_a_name_that_would_not_load_or_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    for format, name in (("onnx", "m.xml"), ("openvino", "m.onnx"), ("onnx", "m")):
        with pytest.raises(SmokescopeError, match=r"must end in \."):
            files.export_model(tmp_path / "none", format, tmp_path / name)  # type: ignore[arg-type]
    (tmp_path / "file").touch()
    for format, name in (("onnx", "m.onnx"), ("openvino", "m.xml")):
        with pytest.raises(SmokescopeError, match="is a file: name a folder"):
            files.export_model(tmp_path / "none", format, tmp_path / "file" / name)  # type: ignore[arg-type]
