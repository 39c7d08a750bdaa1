"""How fast training is, input included, and where the time goes.

    python -m benchmarks.training [--config paper --config default] [--batch 32] [--steps 40] [--compile]

The objective is the paper's whole one, with samples for the uncertainty net in every step, also where a
configuration leaves them out. Pictures are made up, 640 x 480, read through the cache like any others;
everything from there on is what `smokescope train` does. Parts are timed by themselves; together they take
less, as the next batch is made while the device learns from this one.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from benchmarks.timing import table
from smokescope.losses.objective import ObjectiveSettings
from smokescope.models.build import build_model
from smokescope.training.devices import launch
from smokescope.training.feed import prepare
from smokescope.training.observers import Observers
from smokescope.training.run_folder import RunFolder
from smokescope.training.settings import Source, TrainingSettings, read_settings
from smokescope.training.sources import load_data
from smokescope.training.trainer import Trainer

PAIRS, NEGATIVES = 192, 64


def make_pictures(root: Path, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    height, width = size
    for folder in ("pairs/img", "pairs/gt", "negatives"):
        (root / folder).mkdir(parents=True)
    for number in range(PAIRS + NEGATIVES):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        picture = coarse.resize((width, height), Image.Resampling.BICUBIC)
        if number >= PAIRS:
            picture.save(root / f"negatives/{number}.jpg")
            continue
        mask = np.zeros((height, width), bool)
        y, x = rng.integers(0, height - 60), rng.integers(0, width - 60)
        mask[y : y + 60, x : x + 60] = True
        picture.save(root / f"pairs/img/{number}.jpg")
        Image.fromarray(mask).save(root / f"pairs/gt/{number}.png")


class Bench:
    """A trainer on made-up pictures, taken apart."""

    def __init__(self, settings: TrainingSettings, root: Path) -> None:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        fabric = launch(device, settings.precision)
        self.trainer = Trainer(
            settings,
            build_model(settings.model),
            load_data(settings, root),
            RunFolder(root / "run"),
            fabric,
            Observers(),
        )
        self.settings, self.device = settings, fabric.device
        self.stage = self.trainer._enter(0)
        self.batches = self.trainer.feed.batches(0)
        self.step = 0

    def all(self) -> None:
        """A step as training makes it."""
        self.trainer._step(self.stage, self.step, next(self.batches))
        self.step += 1

    def parts(self) -> dict[str, Callable[[], object]]:
        """What a step is made of."""
        raw, examples = self.trainer.feed.collate(0), next(self.batches)
        module = self.stage.module
        learn = lambda: self.trainer.fabric.backward(module(examples)["loss"])  # noqa: E731
        parts: dict[str, Callable[[], object]] = {
            "collating, beside it": lambda: self.trainer.feed.collate(0),
            "augmenting, rendering, beside it": lambda: prepare(raw, self.settings, self.device),
            "losses, forwards and backwards": learn,
        }
        step = getattr(module, "_forward_module", module)
        if getattr(step, "samples", 0):
            samples = step.samples

            def without() -> None:
                step.samples = 0
                learn()
                step.samples = samples

            parts["of which without samples and uncertainty net"] = without
        parts["optimisers"] = lambda: [o.step() for o in self.stage.optimisers]
        return parts


def seconds(work: Callable[[], object], steps: int) -> float:
    def sync() -> None:
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    for _ in range(3):
        work()
    sync()
    start = time.perf_counter()
    for _ in range(steps):
        work()
    sync()
    return (time.perf_counter() - start) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", action="append")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, nargs=2, default=(480, 480))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    rows = []
    for config in args.config or ["default"]:
        given = read_settings(config, args.set)
        settings = replace(
            given,
            objective=replace(given.objective, calibrated_entropy=ObjectiveSettings.calibrated_entropy),
            batch=args.batch,
            size=tuple(args.size),
            precision="bf16-mixed",
            compile=args.compile,
            data=(
                Source(kind="pairs", folder="pairs"),
                Source(kind="negatives", folder="negatives"),
                Source(kind="rendered", folder="negatives"),
            ),
        )
        with tempfile.TemporaryDirectory() as root:
            make_pictures(Path(root), (480, 640))
            bench = Bench(settings, Path(root))
            start = time.perf_counter()
            bench.all()
            first = time.perf_counter() - start
            whole = seconds(bench.all, args.steps)
            rows.append((config, "a whole step", f"{1000 * whole:.1f} ms", f"{args.batch / whole:.0f}/s"))
            for name, part in bench.parts().items():
                taken = seconds(part, args.steps)
                rows.append((config, name, f"{1000 * taken:.1f} ms", f"{args.batch / taken:.0f}/s"))
            rows.append((config, "the first step", f"{first:.1f} s", ""))
            bench.batches.close()
    compiled = "compiled" if args.compile else "eager"
    table(
        f"Batches of {args.batch} at {args.size[0]} x {args.size[1]}, {compiled}",
        ("config", "part", "time", "pictures"),
        rows,
    )


if __name__ == "__main__":
    main()
