"""A small model, exported once for all tests: it takes most of a minute."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from tests.models.small import small_bvm

from smokescope.checkpoints.files import summarise
from smokescope.checkpoints.model import save_model
from smokescope.export.onnx import to_onnx
from smokescope.export.openvino import OpenVinoFiles, to_openvino
from smokescope.models import InputSettings, Pipeline, VerdictSettings
from smokescope.settings.plain import from_plain


class Exported(NamedTuple):
    """One model in three kinds of files."""

    safetensors: Path
    onnx: Path
    openvino: Path


def make_pipeline(fit: str = "aspect") -> Pipeline:
    """A model with opinions: weights at random, heads that make them count."""
    network = small_bvm()
    with torch.no_grad():
        for _ in range(2):
            network(torch.rand(4, 3, 64, 64))  # batch norm's statistics
        for head in (
            network.decoder.head,
            network.uncertainty.total.head,
            network.uncertainty.aleatoric.head,
        ):
            torch.nn.init.normal_(head.weight, std=0.3)
        # and not nearly all doubt is the picture's
        network.uncertainty.aleatoric.head.bias = torch.nn.Parameter(torch.full((1,), 1.5))
    settings = from_plain(InputSettings, {"height": 64, "width": 96, "fit": fit})
    return Pipeline(network, settings, 0.7, 0.45, VerdictSettings(unsure_above=0.2)).eval()


def make_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that `make` fills; tests run in several processes, and the first one does the work."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            make(folder)
            (folder / "made").touch()
    return folder


def write_openvino(files: OpenVinoFiles, path: Path) -> None:
    path.with_suffix(".bin").write_bytes(files.bin)
    path.write_bytes(files.xml)


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    def make(folder: Path) -> None:
        pipeline = make_pipeline()
        save_model(pipeline, folder / "m.safetensors")
        notes = summarise(folder / "m.safetensors").metadata
        data = to_onnx(pipeline.train(), notes)  # the mode must not matter
        assert pipeline.training
        (folder / "m.onnx").write_bytes(data)
        write_openvino(to_openvino(data), folder / "m.xml")

    folder = make_once(tmp_path_factory, "exported", make)
    return Exported(folder / "m.safetensors", folder / "m.onnx", folder / "m.xml")
