"""A small model, exported once for all tests: it takes most of a minute."""

import fcntl
import os
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from tests.models.test_bvm import shrunk

from smokescope.checkpoints.files import summarise
from smokescope.checkpoints.model import save_model
from smokescope.export.onnx import to_onnx
from smokescope.export.openvino import to_openvino
from smokescope.models import DEFAULT, InputSettings, Pipeline, SmokeBVM, VerdictSettings


class Exported(NamedTuple):
    """One model in three kinds of files."""

    safetensors: Path
    onnx: Path
    openvino: Path


def make_pipeline(fit: str = "aspect") -> Pipeline:
    """A model with opinions: weights at random, heads that make them count."""
    torch.manual_seed(0)
    network = SmokeBVM(shrunk(DEFAULT))
    with torch.no_grad():
        for _ in range(3):
            network(torch.rand(4, 3, 64, 64))  # batch norm's statistics
        for head in (
            network.decoder.head,
            network.uncertainty.total.head,
            network.uncertainty.aleatoric.head,
        ):
            torch.nn.init.normal_(head.weight, std=0.3)
    settings = InputSettings.from_dict({"height": 64, "width": 96, "fit": fit})
    return Pipeline(network, settings, 0.7, 0.45, VerdictSettings(unsure_above=0.2)).eval()


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "exported"
    folder.mkdir(exist_ok=True)
    files = Exported(folder / "m.safetensors", folder / "m.onnx", folder / "m.xml")
    with (folder / "lock").open("w") as lock:  # tests run in several processes: the first one does the work
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not files.openvino.exists():
            pipeline = make_pipeline()
            save_model(pipeline, files.safetensors)
            notes = summarise(files.safetensors).metadata
            files.onnx.write_bytes(to_onnx(pipeline.train(), notes))  # the mode must not matter
            assert pipeline.training
            both = to_openvino(files.onnx.read_bytes())
            files.openvino.with_suffix(".bin").write_bytes(both.bin)
            files.openvino.write_bytes(both.xml)
    return files
