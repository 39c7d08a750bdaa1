"""The model that comes with smokescope: it is there, it is what the model card says, and it sees smoke."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import smokescope
from smokescope.checkpoints.embedded import embedded_weights
from smokescope.checkpoints.files import summarise
from smokescope.inference import Segmenter
from smokescope.models import ModelSettings
from smokescope.settings.plain import from_plain
from smokescope.training.settings import Source, read_settings

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def file() -> Path:
    found = embedded_weights()
    assert isinstance(found, Path)
    return found


@pytest.fixture(scope="module")
def shipped() -> Segmenter:
    return smokescope.load(device="cpu", tiles="never")


def masked(name: str) -> NDArray[np.bool_]:
    return np.asarray(Image.open(EXAMPLES / "gt" / f"{name}.png").convert("L")) > 127


def test_it_is_small_enough_for_a_package(file: Path) -> None:
    assert file.stat().st_size <= 32 * 2**20


def test_the_default_configuration_is_what_it_was_trained_by(file: Path) -> None:
    notes, default = summarise(file).metadata, read_settings("default")
    assert from_plain(ModelSettings, json.loads(notes["settings"])) == default.model
    assert json.loads(notes["input"]) == asdict(default.input)
    assert [from_plain(Source, line) for line in json.loads(notes["data"])] == list(default.data)


def test_the_model_card_is_of_this_model(file: Path) -> None:
    notes = summarise(file).metadata
    card = (ROOT / "docs" / "model-card.md").read_text()
    assert notes["sha256"] in card
    assert f"temperature={notes['temperature']}" in card
    for name, value in json.loads(notes["verdicts"]).items():
        assert re.search(rf"`{name}` \| {re.escape(str(value))} ", card), name


@pytest.mark.parametrize("name", ["plant_puff", "plant_stack"])
def test_it_finds_the_smoke_in_the_examples(shipped: Segmenter, name: str) -> None:
    prediction, mask = shipped(EXAMPLES / "img" / f"{name}.jpg"), masked(name)
    assert prediction.verdict == "smoke"
    assert prediction.mask[mask].any(), "it saw smoke, but elsewhere"
    if name == "plant_puff":
        mask[290:460, :240] = True  # steam, which it takes for smoke: the model card says so
    assert prediction.mask[~mask].mean() < 0.015


def test_pictures_without_smoke_stay_quiet(shipped: Segmenter) -> None:
    rng = np.random.default_rng(0)
    grey = np.full((480, 640, 3), 128, np.uint8)
    noise = rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)
    assert [shipped(picture).verdict for picture in (grey, noise)] == ["nothing", "nothing"]
