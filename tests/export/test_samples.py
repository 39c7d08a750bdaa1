"""A graph that samples gives PyTorch's samples, by the same keys."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
import torch
from tests.cli.conftest import run  # noqa: F401  # a fixture
from tests.data.hills import hills
from tests.export.conftest import Exported, make_once, make_pipeline, write_openvino
from tests.export.test_refusals import marked
from tests.models.small import shrunk
from torch import Tensor

import smokescope
from smokescope.chance import make_keys
from smokescope.checkpoints.model import load_model, save_model
from smokescope.data.pictures import encode_png
from smokescope.errors import SmokescopeError
from smokescope.export.files import export_model
from smokescope.export.openvino import to_openvino
from smokescope.export.samples import Samples, samples_to_onnx
from smokescope.export.trial import find_difference
from smokescope.inference.engines.draws import draw
from smokescope.models import DEFAULT, InputSettings, ModelSettings, Pipeline, SmokeBVM, UNet
from smokescope.settings.plain import from_plain
from smokescope.uncertainty import Decomposition

Run = Callable[..., CompletedProcess[str]]

TOLERANCE = 1e-4


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """m.safetensors, and with what samples beside it m.onnx and m.xml."""

    def make(folder: Path) -> None:
        save_model(make_pipeline("squash"), folder / "m.safetensors")
        export_model(folder / "m.safetensors", "onnx", folder / "m.onnx", monte_carlo=True)
        for name in ("m", "m.samples"):
            both = to_openvino((folder / f"{name}.onnx").read_bytes())
            write_openvino(both, folder / f"{name}.xml")

    return make_once(tmp_path_factory, "samples", make)


@pytest.mark.parametrize("name", ["m.onnx", "m.xml"])
@pytest.mark.parametrize(
    ("pictures", "count", "size"), [(1, 1, (64, 96)), (2, 5, (131, 77)), (1, 9, (40, 200))]
)
def test_its_maps_are_pytorchs(
    folder: Path, name: str, pictures: int, count: int, size: tuple[int, int]
) -> None:
    given = [hills(seed, smoke=True, size=size[::-1]) for seed in range(pictures)]
    keys = make_keys(3, torch.arange(pictures))
    theirs, ours, others = (
        smokescope.load(folder / file, "cpu").sample(given, count, by)
        for file, by in ((name, keys), ("m.safetensors", keys), ("m.safetensors", keys + 1))
    )
    for their, our, other in zip(theirs, ours, others, strict=True):
        assert their.shape == our.shape
        np.testing.assert_allclose(their, our, atol=TOLERANCE, rtol=0)
        assert count == 1 or (other - our).abs().max() > 10 * TOLERANCE  # there are samples to agree about


@pytest.mark.parametrize("unit", ["element", "channel"])
@pytest.mark.parametrize("fit", ["squash", "aspect"])
def test_draws_fit_every_network(unit: str, fit: str) -> None:
    settings = from_plain(ModelSettings, {**asdict(shrunk(DEFAULT)), "dropout_unit": unit})
    input = from_plain(InputSettings, {"height": 70, "width": 45, "fit": fit})
    pipeline = Pipeline(SmokeBVM(settings).eval(), input, 0.8)
    pictures, keys = torch.randint(256, (2, 3, 90, 200), dtype=torch.uint8), make_keys(1, torch.arange(2))
    module = Samples(pipeline)
    draws = draw(module.settings, input, keys, 3, 90, 200)
    with torch.no_grad():
        found = module(pictures, *map(torch.from_numpy, draws.values()))
    for ours, theirs in zip(pipeline.sample(pictures, 3, keys), found, strict=True):
        torch.testing.assert_close(theirs, ours)


def test_files_that_do_not_belong_together(folder: Path, exported: Exported, tmp_path: Path) -> None:
    pictures = [hills(0)]
    with pytest.raises(SmokescopeError, match=r"m\.samples\.onnx only draws samples for the model it"):
        smokescope.load(folder / "m.samples.onnx")
    (tmp_path / "m.onnx").write_bytes(exported.onnx.read_bytes())
    alone = smokescope.load(tmp_path / "m.onnx")
    assert not alone.engine.can_sample
    with pytest.raises(ValueError, match="cannot draw samples: use its safetensors file, or export it with"):
        alone.sample(pictures, 2)
    for other in (folder / "m.samples.onnx", exported.onnx):  # of another input; no samples at all
        (tmp_path / "m.samples.onnx").write_bytes(other.read_bytes())
        segmenter = smokescope.load(tmp_path / "m.onnx")
        with pytest.raises(SmokescopeError, match=r"m\.samples\.onnx does not belong to .*m\.onnx"):
            segmenter.sample(pictures, 2)
    (tmp_path / "m.onnx").write_bytes((folder / "m.onnx").read_bytes())
    for name, value in (("sha256", 64 * "0"), ("temperature", "0.9")):  # of another model; retuned since
        (tmp_path / "m.samples.onnx").write_bytes(marked(folder / "m.samples.onnx", **{name: value}))
        with pytest.raises(SmokescopeError, match=r"m\.samples\.onnx does not belong to .*m\.onnx"):
            smokescope.load(tmp_path / "m.onnx").sample(pictures, 2)


def test_without_keys_each_picture_has_its_own(folder: Path) -> None:
    given = 2 * [hills(0, smoke=True, size=(96, 64))]
    ours, theirs = (
        smokescope.load(folder / name, "cpu").sample(given, 2) for name in ("m.safetensors", "m.onnx")
    )
    np.testing.assert_allclose(theirs.total, ours.total, atol=TOLERANCE, rtol=0)
    assert (theirs.total[0] - theirs.total[1]).abs().max() > 10 * TOLERANCE


def test_the_trial_sees_other_samples(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {folder / name: (folder / name).read_bytes() for name in ("m.onnx", "m.samples.onnx")}
    pipeline, sample = load_model(folder / "m.safetensors"), Pipeline.sample
    assert find_difference(given, folder / "m.onnx", pipeline) < TOLERANCE

    def off(self: Pipeline, pictures: Tensor, count: int, keys: Tensor | None) -> Decomposition:
        return Decomposition(*(each + 0.01 for each in sample(self, pictures, count, keys)))

    monkeypatch.setattr(Pipeline, "sample", off)
    assert find_difference(given, folder / "m.onnx", pipeline) == pytest.approx(0.01, abs=TOLERANCE)


def test_evaluate_compares_with_samples(folder: Path, run: Run, tmp_path: Path) -> None:  # noqa: F811
    for name, pixels in (("img", hills(0, smoke=True)), ("gt", np.full((180, 240), 255, np.uint8))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.png").write_bytes(encode_png(pixels))
    told = []
    for file in ("m.safetensors", "m.onnx"):
        given = ("--data", tmp_path, "--model", folder / file, "--samples", 3, "--json", tmp_path / "f.json")
        done = run("evaluate", *given)
        assert (done.returncode, done.stderr) == (0, "")
        told.append(json.loads((tmp_path / "f.json").read_text())["uncertainty"])
    for name in ("total_r", "aleatoric_r", "epistemic_r", "mse"):
        assert told[1][name] == pytest.approx(told[0][name], abs=1e-3)


def test_a_unet_has_nothing_to_sample() -> None:
    with pytest.raises(SmokescopeError, match="a unet model cannot draw samples: leave --monte-carlo out"):
        samples_to_onnx(Pipeline(UNet()), {})


def test_the_example_in_the_docs_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(folder)
    said: dict[str, np.ndarray] = {}
    exec(compile(code, "docs/export.md", "exec"), said)
    expected = smokescope.load("m.safetensors", "cpu").sample([said["picture"]], 8)
    np.testing.assert_allclose(said["epistemic"], expected.epistemic, atol=TOLERANCE)
