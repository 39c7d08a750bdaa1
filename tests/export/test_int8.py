"""Eight bits: quantised where it does no harm, and written only if the maps still follow PyTorch's."""

import os
import re
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import openvino
import pytest
import torch
from numpy.typing import NDArray
from tests.data.hills import hills
from tests.export.conftest import Exported, make_once, make_pipeline, write_openvino
from tests.training.small import make_data

import smokescope
from smokescope.checkpoints.model import load_model, save_model
from smokescope.data.pictures import encode_png
from smokescope.errors import SmokescopeError
from smokescope.export import files, trial
from smokescope.export.calibration import calibration_pictures
from smokescope.export.int8 import KEPT, need_nncf, quantise
from smokescope.export.int8_graph import FIRST, _find
from smokescope.export.openvino import to_openvino
from smokescope.models import SmokeBVM

Floats = NDArray[np.float64]


@pytest.fixture(scope="session")
def int8(exported: Exported, tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        pictures = calibration_pictures([], 6)
        onnx = exported.onnx.read_bytes()
        write_openvino(to_openvino(onnx, partial(quantise, calibration=pictures)), folder / "m.xml")

    return make_once(tmp_path_factory, "int8", make) / "m.xml"


def test_its_maps_follow_pytorchs(int8: Path, exported: Exported) -> None:
    theirs, ours = (smokescope.load(path, "cpu") for path in (int8, exported.safetensors))
    pictures = [hills(seed, smoke=True, size=(150, 110)) for seed in range(3)]
    for name in ("probability", "total", "aleatoric", "epistemic"):
        a, b = (np.stack([getattr(each(p), name) for p in pictures]).ravel() for each in (theirs, ours))
        assert np.corrcoef(a, b)[0, 1] > 0.95
        assert np.abs(a - b).max() > 10 * trial.TOLERANCE  # it is another computation


def test_it_is_smaller_and_says_what_it_is(int8: Path, exported: Exported) -> None:
    small, large = (path.with_suffix(".bin").stat().st_size for path in (int8, exported.openvino))
    assert small < 0.5 * large
    told = [smokescope.load(path).engine for path in (int8, exported.openvino, exported.onnx)]
    assert [each.card.metadata["precision"] for each in told] == ["int8", "float32", "float32"]  # type: ignore[attr-defined]


def test_what_rounding_hurts_stays_as_it_is(int8: Path) -> None:
    model = openvino.Core().read_model(int8)
    weights = {
        node.get_friendly_name(): _stored(node)
        for node in model.get_ops()
        if node.get_type_name() == "Convolution"
    }
    for pattern in KEPT:
        kept = {name: type for name, type in weights.items() if re.fullmatch(pattern, name)}
        assert kept, f"{pattern} names nothing: was a module renamed?"
        assert set(kept.values()) == {"f32"}
    rest = [type for name, type in weights.items() if not any(re.fullmatch(k, name) for k in KEPT)]
    assert rest.count("i8") > 0.8 * len(rest)  # the gates of channel attention are NNCF's own exception


def _stored(node: openvino.Node) -> str:
    """The type that a convolution's weights have in the file."""
    while node.get_type_name() != "Constant":
        node = node.input_value(1 if node.get_type_name() == "Convolution" else 0).get_node()
    return str(node.get_element_type().to_string())


def test_an_even_patch_gives_what_it_gave(int8: Path, exported: Exported) -> None:
    ours, theirs = (_kernels(path) for path in (int8, exported.openvino))
    assert len(ours) == 3
    for name, rounded in ours.items():
        exact = theirs[name]
        step = np.abs(exact).reshape(len(exact), -1).max(1)[:, None] / 127
        assert np.abs(rounded - exact).max() > 0.1 * step.min()  # it is in 8 bits
        assert (np.abs((rounded - exact).sum((2, 3))) <= 0.51 * step).all()


def test_a_picture_is_read_as_it_is(int8: Path) -> None:
    reading = _find(openvino.Core().read_model(int8), FIRST).input_value(0).get_node()
    low, high = (float(reading.input_value(number).get_node().data) for number in (1, 2))
    assert (reading.get_type_name(), reading.get_attributes()["levels"]) == ("FakeQuantize", 256)
    assert np.allclose(np.linspace(low, high, 256), (np.arange(256) - 128) / 255, atol=1e-6)


def _kernels(path: Path) -> dict[str, Floats]:
    """Weights of the encoder's 3x3 convolutions behind the first stage, by name."""
    return {
        node.get_friendly_name(): _weights(node)
        for node in openvino.Core().read_model(path).get_ops()
        if node.get_type_name() == "Convolution"
        and re.fullmatch(r"network\.encoder\.layer[2-4]\..*bn2/.*", node.get_friendly_name())
    }


def _weights(node: openvino.Node) -> Floats:
    """A convolution's weights as numbers, whatever the file has them in."""
    given = node.input_value(1).get_node()
    if given.get_type_name() == "Constant":
        return cast(Floats, given.data.astype(np.float64))
    values, scale = given.input_value(0).get_node(), given.input_value(1).get_node()
    assert (given.get_type_name(), values.get_type_name()) == ("Multiply", "Convert")
    return cast(Floats, values.input_value(0).get_node().data.astype(np.float64) * scale.data)


def test_calibration_pictures_are_the_same_every_time(tmp_path: Path) -> None:
    real = [hills(seed) for seed in range(6)]
    for seed, pixels in enumerate(real):
        (tmp_path / f"{seed}.png").write_bytes(encode_png(pixels))
    for folders in ([], [tmp_path]):
        first, again = (calibration_pictures(folders, 4) for _ in range(2))
        assert all(map(np.array_equal, first, again))
        other = calibration_pictures(folders, 4, seed=1)
        assert not any(map(np.array_equal, first, other))
    plain = [[np.array_equal(each, one) for one in real] for each in (first[0], first[3])]
    assert np.sum(plain, 1).tolist() == [1, 1]  # as they are
    assert plain[0] != plain[1]
    assert not any(np.array_equal(each, one) for each in first[1:3] for one in real)  # rendered upon


def test_calibration_pictures_are_as_large_as_tiles_and_a_bad_folder_is_told(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    (data / "pairs/gt/3.png").unlink()
    with pytest.raises(SmokescopeError, match="pairs cannot be used"):
        calibration_pictures([data / "pairs"], 1)
    (tmp_path / "large").mkdir()
    orange = np.full((700, 1400, 3), (250, 130, 20), np.uint8)
    (tmp_path / "large" / "0.png").write_bytes(encode_png(orange))
    (shrunk,) = calibration_pictures([tmp_path / "large"], 1)
    assert shrunk.shape == (640, 1280, 3)
    assert shrunk[320, 640].tolist() == [250, 130, 20]
    one, other = (calibration_pictures([tmp_path / "large"], 2, seed)[1] for seed in (0, 1))
    assert (one != other).any()  # of one picture, but other smoke


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(make_pipeline("squash"), tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def test_the_trial_sees_other_maps(int8: Path, exported: Exported) -> None:
    given = {path: path.read_bytes() for path in (int8, int8.with_suffix(".bin"))}
    pictures = [hills(seed, smoke=True) for seed in range(2)]
    pipeline = load_model(exported.safetensors)
    assert trial.check_correlation(given, int8, pipeline, pictures) > 0.95
    with torch.no_grad():
        cast(SmokeBVM, pipeline.network).decoder.head.weight.neg_()
    with pytest.raises(SmokescopeError, match=r"m\.xml was not written: in 8 bits its maps would follow"):
        trial.check_correlation(given, int8, pipeline, pictures)


def test_maps_that_do_not_follow_are_never_written(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "CORRELATION", 1.0)  # nobody passes
    monkeypatch.setattr(files, "calibration_pictures", lambda *_, **__: [hills(0, smoke=True)])
    with pytest.raises(SmokescopeError, match=r"m\.xml was not written: in 8 bits its maps would follow"):
        files.export_model(model, "openvino", model.with_name("m.xml"), int8=True)
    assert [path.name for path in model.parent.iterdir()] == ["m.safetensors"]


def test_nncf_does_not_report_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNCF_CI", "")
    monkeypatch.delenv("NNCF_CI")
    need_nncf()  # before it is imported
    assert os.environ["NNCF_CI"] == "1"


def test_what_cannot_be_is_said_first(model: Path) -> None:
    with pytest.raises(SmokescopeError, match="export with --format openvino"):
        files.export_model(model, "onnx", model.with_name("m.onnx"), int8=True)
    out, none = model.with_name("m.xml"), model.with_name("none")
    with pytest.raises(SmokescopeError, match="none"):
        files.export_model(model, "openvino", out, int8=True, calibrate=[none])
