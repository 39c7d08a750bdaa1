"""Whole models travel in one file."""

import json
from pathlib import Path

import pytest
import torch
from tests.models.test_bvm import shrunk

from smokescope.checkpoints.files import read_tensors, write_tensors
from smokescope.checkpoints.model import load_model, save_model
from smokescope.errors import SmokescopeError
from smokescope.models import DEFAULT, ModelSettings, SmokeBVM


@pytest.fixture
def model() -> SmokeBVM:
    torch.manual_seed(0)
    return SmokeBVM(shrunk(DEFAULT)).eval()


def test_a_loaded_model_is_the_saved_one(model: SmokeBVM, tmp_path: Path) -> None:
    save_model(model, tmp_path / "m.safetensors", {"data": "made up"})
    again = load_model(tmp_path / "m.safetensors")
    assert again.settings == model.settings
    assert not again.training
    x = torch.rand(1, 3, 33, 47)
    for ours, theirs in zip(again(x), model(x), strict=True):
        assert torch.equal(ours, theirs)
    _, metadata = read_tensors(tmp_path / "m.safetensors")
    assert metadata["data"] == "made up"
    assert ModelSettings.from_dict(json.loads(metadata["settings"])) == model.settings


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"architecture": "yolo"}, "not a model of smokescope"),
        ({"settings": "{"}, "does not fit"),
        ({"settings": '{"depth": 3}'}, "does not fit"),
        ({"settings": '{"latent": 16}'}, "does not fit"),
        ({"settings": '{"latent": "many"}'}, "does not fit"),
        ({"settings": "3"}, "does not fit"),
        ({"settings": "[]"}, "does not fit"),
    ],
)
def test_what_is_not_ours_is_refused_by_name(
    model: SmokeBVM, tmp_path: Path, change: dict[str, str], words: str
) -> None:
    path = tmp_path / "m.safetensors"
    save_model(model, path)
    tensors, metadata = read_tensors(path)
    write_tensors(path, tensors, {**metadata, **change})
    with pytest.raises(SmokescopeError, match=words) as caught:
        load_model(path)
    assert "m.safetensors" in str(caught.value)


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    torch.save({"weights": torch.zeros(2)}, path)
    with pytest.raises(SmokescopeError, match="pickle"):
        load_model(path)
