"""Whole models travel in one file."""

import json
from pathlib import Path

import pytest
import torch
from tests.models.small import TINY, shrunk

from smokescope.checkpoints.files import read_tensors, write_tensors
from smokescope.checkpoints.model import checksum, load_model, save_model
from smokescope.errors import SmokescopeError
from smokescope.models import (
    DEFAULT,
    InputSettings,
    ModelSettings,
    Pipeline,
    VerdictSettings,
    build_model,
)
from smokescope.settings.plain import from_plain

INPUT = InputSettings(height=64, width=96, fit="aspect")
VERDICTS = VerdictSettings(unsure_above=0.11, smoke_above=1 / 3, epistemic_above=0.07, least_area=0.001)


@pytest.fixture(params=[shrunk(DEFAULT), TINY], ids=lambda settings: settings.architecture)
def pipeline(request: pytest.FixtureRequest) -> Pipeline:
    torch.manual_seed(0)
    network = build_model(request.param)
    network(torch.rand(4, 3, 64, 64))  # moves batch norm's statistics
    return Pipeline(network, INPUT, temperature=1.0 / 3, threshold=0.37, verdicts=VERDICTS).eval()


def test_a_loaded_model_is_the_saved_one(pipeline: Pipeline, tmp_path: Path) -> None:
    save_model(pipeline, tmp_path / "m.safetensors", {"data": "made up", "sha256": "of no use"})
    again = load_model(tmp_path / "m.safetensors")
    assert again.network.settings == pipeline.network.settings
    assert (again.input, again.temperature, again.threshold) == (INPUT, 1.0 / 3, 0.37)
    assert again.verdicts == VERDICTS
    assert not again.training
    x = torch.rand(1, 3, 33, 47)
    for ours, theirs in zip(again(x), pipeline(x), strict=True):
        assert torch.equal(ours, theirs)
    _, metadata = read_tensors(tmp_path / "m.safetensors")
    assert metadata["data"] == "made up"
    assert metadata["architecture"] == pipeline.network.settings.architecture
    assert from_plain(ModelSettings, json.loads(metadata["settings"])) == pipeline.network.settings


def test_eight_bits_are_smaller_and_nearly_the_same(pipeline: Pipeline, tmp_path: Path) -> None:
    whole, small = tmp_path / "m.safetensors", tmp_path / "m8.safetensors"
    save_model(pipeline, whole)
    save_model(pipeline, small, int8=True)
    tensors, metadata = read_tensors(small)
    assert metadata["weights"] == "int8 by output channel"
    weights = {name for name, tensor in pipeline.network.state_dict().items() if tensor.ndim >= 2}
    assert {name for name, tensor in tensors.items() if tensor.dtype == torch.int8} == weights
    assert sum(tensors[name].nbytes for name in weights) * 4 == sum(
        pipeline.network.state_dict()[name].nbytes for name in weights
    )
    again = load_model(small)
    assert all(p.dtype == torch.float32 for p in again.network.parameters())
    x = torch.rand(1, 3, 64, 96)
    assert (again(x).probability - pipeline(x).probability).abs().max() < 0.05


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"architecture": "yolo"}, "not a smokescope model"),
        ({"sha256": "0" * 64}, "its weights do not match its checksum"),
        ({"settings": "{"}, "does not fit"),
        ({"settings": '{"depth": 3}'}, "does not fit"),
        ({"settings": '{"encoder_width": 16}'}, "does not fit"),
        ({"settings": '{"encoder_width": "many"}'}, "does not fit"),
        ({"settings": '{"latent": 2.5}'}, "does not fit"),
        ({"settings": '{"reduction": true}'}, "does not fit"),
        ({"settings": "3"}, "does not fit"),
        ({"settings": "[]"}, "does not fit"),
        ({"input": "null"}, "does not fit"),
        ({"input": '{"fit": "crop"}'}, "does not fit"),
        ({"temperature": "warm"}, "does not fit"),
        ({"temperature": "0"}, "does not fit"),
        ({"threshold": "nan"}, "does not fit"),
        ({"verdicts": "[]"}, "does not fit"),
        ({"verdicts": '{"smoke_above": 0.1}'}, "does not fit"),
        ({"verdicts": '{"least_area": NaN}'}, "does not fit"),
        ({"verdicts": '{"epistemic_above": "much"}'}, "does not fit"),
    ],
)
def test_what_is_not_ours_is_refused_by_name(
    pipeline: Pipeline, tmp_path: Path, change: dict[str, str], words: str
) -> None:
    path = tmp_path / "m.safetensors"
    save_model(pipeline, path)
    tensors, metadata = read_tensors(path)
    write_tensors(path, tensors, {**metadata, **change})
    with pytest.raises(SmokescopeError, match=words) as caught:
        load_model(path)
    assert "m.safetensors" in str(caught.value)


def test_a_file_from_before_verdicts_gets_the_defaults(pipeline: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    save_model(pipeline, path)
    tensors, metadata = read_tensors(path)
    del metadata["verdicts"]
    write_tensors(path, tensors, metadata)
    assert load_model(path).verdicts == VerdictSettings()


@pytest.mark.parametrize("int8", [False, True])
def test_one_bit_of_damage_is_found(pipeline: Pipeline, tmp_path: Path, int8: bool) -> None:
    path = tmp_path / "m.safetensors"
    save_model(pipeline, path, int8=int8)
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(SmokescopeError, match="is damaged"):
        load_model(path)


def test_a_checksum_is_of_names_shapes_and_values() -> None:
    tensors = {"a": torch.zeros(2, 3), "b": torch.tensor(4)}
    assert checksum(tensors) == checksum(dict(reversed(tensors.items())))
    others = (
        {"a": torch.zeros(3, 2), "b": torch.tensor(4)},
        {"a": torch.zeros(2, 3), "c": torch.tensor(4)},
        {"a": torch.zeros(2, 3), "b": torch.tensor(5)},
        {"a": torch.zeros(2, 3).int(), "b": torch.tensor(4)},
    )
    assert len({checksum(tensors), *map(checksum, others)}) == 5


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    torch.save({"weights": torch.zeros(2)}, path)
    with pytest.raises(SmokescopeError, match="pickle"):
        load_model(path)
