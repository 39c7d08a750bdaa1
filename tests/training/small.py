"""What tests of training share: some pictures, a network of some thousand weights, runs of seconds."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from smokescope.checkpoints.files import read_tensors
from smokescope.metrics.suite import Report
from smokescope.models.settings import ModelSettings
from smokescope.training.devices import launch
from smokescope.training.observers import Observer, Observers, Progress, Sample
from smokescope.training.run_folder import Inputs, RunFolder
from smokescope.training.settings import TrainingSettings, read_settings
from smokescope.training.sources import load_data
from smokescope.training.train import train

MODEL = ModelSettings(
    encoder_layers=(1, 1, 1, 1),
    encoder_width=4,
    latent=2,
    inference_width=4,
    injection="light",
    decoder_width=4,
    aspp_bottleneck=4,
    aspp_growth=4,
    uncertainty_width=4,
)

CONFIG = """
data:
  - {kind: pairs, folder: pairs}
  - {kind: negatives, folder: negatives}
model: {encoder_layers: [1, 1, 1, 1], encoder_width: 4, latent: 2, inference_width: 4, injection: light,
  decoder_width: 4, aspp_bottleneck: 4, aspp_growth: 4, uncertainty_width: 4}
input: {height: 32, width: 48, fit: aspect}
objective: {kl: 0.1}
optimiser: {learning_rate: 0.003, uncertainty_learning_rate: 0.01, schedule: cosine, warmup: 0.1, clip: 1.0}
epochs: 2
batch: 4
size: [32, 48]
samples: 2
uncertainty_steps: 2
ema: 0.9
validation_samples: 2
"""


def make_data(root: Path, pairs: int = 8, negatives: int = 4) -> Path:
    rng = np.random.default_rng(0)
    for folder in ("pairs/img", "pairs/gt", "negatives"):
        (root / folder).mkdir(parents=True)
    for number in range(pairs + negatives):
        picture = np.linspace(200, 60, 36)[:, None, None] + rng.normal(0, 8, (36, 54, 3))
        if number >= pairs:
            Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(root / f"negatives/{number}.png")
            continue
        mask = np.zeros((36, 54), bool)
        y, x = rng.integers(0, 24), rng.integers(0, 40)
        mask[y : y + 12, x : x + 12] = True
        picture[mask] = 230
        Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(root / f"pairs/img/{number}.png")
        Image.fromarray(mask).save(root / f"pairs/gt/{number}.png")
    return root


def small_settings(tmp_path: Path, *overrides: str) -> TrainingSettings:
    file = tmp_path / "small.yaml"
    file.write_text(CONFIG)
    return read_settings(str(file), overrides)


class Watcher:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.steps: list[Progress] = []
        self.reports: list[Report] = []
        self.samples: Sequence[Sample] = ()

    def progressed(self, progress: Progress) -> None:
        self.steps.append(progress)

    def validated(self, step: int, report: Report, samples: Sequence[Sample]) -> None:
        self.reports.append(report)
        self.samples = samples


def run_training(
    settings: TrainingSettings,
    data: Path,
    out: Path,
    *,
    resume: bool = False,
    observer: Observer | None = None,
    validate: bool = False,
    encoder: Path | None = None,
    models: Sequence[Path] = (),
) -> RunFolder:
    """Train in this process; with `validate`, on the very pictures that were trained on."""
    run = RunFolder(out)
    loaded = load_data(settings, data)
    if validate:
        loaded = replace(loaded, validation=loaded.training)
    fabric = launch(torch.device("cpu"), settings.precision)
    inputs = Inputs(
        data=str(data), encoder=str(encoder) if encoder else None, models=tuple(str(path) for path in models)
    )
    if resume:  # as the command does
        inputs = run.inputs()
    train(settings, loaded, run, fabric, observer or Observers(), inputs, resume=resume)
    return run


def weights(run: RunFolder) -> dict[str, Tensor]:
    return read_tensors(run.model_file)[0]


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "smokescope", "train", *map(str, arguments)]


def environment() -> dict[str, str]:
    """One thread each, and processes that find each other without a network."""
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if Path("/sys/class/net/lo").exists() else {}
    return {**os.environ, "OMP_NUM_THREADS": "1", **loopback}


def succeed(arguments: Sequence[str]) -> str:
    """Run a command; what it says on stderr."""
    done = subprocess.run(arguments, env=environment(), capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return done.stderr
