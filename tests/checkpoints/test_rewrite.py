"""Rewriting a model: other thresholds, fewer bits, the same network and history."""

from pathlib import Path

import pytest
import torch
from tests.models.small import small_bvm

from smokescope.checkpoints.files import summarise
from smokescope.checkpoints.model import load_model, save_model
from smokescope.checkpoints.rewrite import rewrite_model
from smokescope.errors import SmokescopeError
from smokescope.models import InputSettings, Pipeline, VerdictSettings


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.safetensors"
    verdicts = VerdictSettings(unsure_above=0.2)
    pipeline = Pipeline(small_bvm(), InputSettings(height=64, width=96), 1.5, 0.4, verdicts)
    save_model(pipeline, path, {"data": "some"})
    return path


def test_thresholds_change_and_nothing_else(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    rewrite_model(model, out, {"verdicts.smoke_above": 0.7, "threshold": 0.3})
    before, after = summarise(model).metadata, summarise(out).metadata
    assert {name for name in before if before[name] != after[name]} == {"verdicts", "threshold"}
    assert load_model(out).verdicts == VerdictSettings(unsure_above=0.2, smoke_above=0.7)
    assert load_model(out).threshold == 0.3


def test_a_larger_input_sees_the_same_picture_larger(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.safetensors"
    rewrite_model(model, out, {"input.height": 128.0, "input.width": 192.0})
    before, after = summarise(model).metadata, summarise(out).metadata
    assert {name for name in before if before[name] != after[name]} == {"input"}
    old, new = load_model(model), load_model(out)
    picture = torch.randint(256, (1, 3, 64, 96), dtype=torch.uint8)
    assert (old.prepare(picture).shape, new.prepare(picture).shape) == ((1, 3, 64, 96), (1, 3, 128, 192))
    assert new(picture).probability.shape == (1, 1, 64, 96)


def test_figures_are_said_from_then_on(model: Path, tmp_path: Path) -> None:
    out, again, file = tmp_path / "out.safetensors", tmp_path / "again.safetensors", tmp_path / "f.json"
    text = '{"images": 3, "negatives": 0, "alarm": {"auroc": null}}'
    file.write_text(text)
    rewrite_model(model, out, {}, figures=file)
    rewrite_model(out, again, {"threshold": 0.3})
    assert summarise(again).metadata["figures"] == text
    for nothing in ("[1]", "{", '{"mse": 0.25}', text.replace("null", "NaN"), '{"a":' * 100_000):
        file.write_text(nothing)
        with pytest.raises(SmokescopeError, match=r"f\.json holds no figures"):
            rewrite_model(model, out, {}, figures=file)


def test_8_bits_stay_what_they_are(model: Path, tmp_path: Path) -> None:
    small, again = tmp_path / "small.safetensors", tmp_path / "again.safetensors"
    rewrite_model(model, small, {}, int8=True)
    assert small.stat().st_size < 0.5 * model.stat().st_size
    rewrite_model(small, again, {"temperature": 2.0})
    assert summarise(again).metadata["weights"] == "int8 by output channel"
    assert summarise(again).metadata["data"] == "some"
    torch.testing.assert_close(
        load_model(again).network.state_dict(), load_model(small).network.state_dict(), rtol=1e-6, atol=0
    )


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"verdict": 1.0}, "verdict cannot be set: choose from input.height, input.width, temperature"),
        ({"input.fit": 1.0}, "input.fit cannot be set"),
        ({"input.height": 480.5}, r"input\.height must be a whole number, not 480\.5"),
        ({"input.width": float("inf")}, r"input\.width must be a whole number"),
        ({"input.width": 31.0}, "width must be a whole number of 32 or more, not 31"),
        ({"temperature": -1.0}, "temperature must be above 0"),
        ({"verdicts.unsure_above": 0.9}, "the first not above the second"),
    ],
)
def test_what_cannot_be_set(model: Path, tmp_path: Path, changes: dict[str, float], complaint: str) -> None:
    with pytest.raises(SmokescopeError, match=complaint):
        rewrite_model(model, tmp_path / "out.safetensors", changes)
    assert not (tmp_path / "out.safetensors").exists()
