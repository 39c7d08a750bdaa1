"""The table of docs/choosing.md: variants of a training, on views unseen and known, and on other smoke.

    python -m benchmarks.variants DATA OUT --file variants.yaml [--folds folds.json] [--encoder WEIGHTS]

Each entry of the file is a variant: `config` (default if not said), `set` (a list of NAME=VALUE), `mean`, the
names of variants whose weights it begins with the mean of, and `fold`, if it is not the command line's.
`variants.yaml` has the shipped model's.

`--elsewhere FOLDER` adds the false alarms on its pictures, which show no smoke: `benchmarks.outdoor_photos`
gives some of places where no run has been.

Kept from training besides the fold: every 16th real frame, which is of a known view, and every fifth
close-up. *Worse* are every fifth of the fold's pictures, once each without colour, in warm light, blurred,
noisy and strongly compressed, as `benchmarks.robustness` has them. A variant whose folder holds its model
already is not trained again. Without folds, or in fold 0, nothing is kept: that trains what is to be
shipped, and measures nothing but the examples.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from lightning.fabric import Fabric

from benchmarks.experiment import arguments, as_text, load, trained
from benchmarks.pictures import quarter
from benchmarks.robustness import changed
from benchmarks.timing import table
from smokescope.data.cache import PictureCache
from smokescope.data.layouts import list_negatives, list_pairs
from smokescope.metrics.f_beta import FBeta
from smokescope.metrics.suite import Report
from smokescope.models.pipeline import Pipeline
from smokescope.settings.plain import from_plain
from smokescope.training.settings import Source, TrainingSettings, read_settings
from smokescope.training.sources import Data, Pictures
from smokescope.training.validation import validate
from smokescope.training.yaml import naming, read_yaml

KNOWN_VIEWS, CLOSE_UPS, WORSE = 16, 5, 5
WORST = (
    *("no colour at all", "warm light (red 1.2, blue 0.8)", "blur of 1.5 pixels"),
    *("noise (read 0.03)", "JPEG of quality 20"),
)
EXAMPLES = Path(__file__).parent.parent / "examples"
HEADER = (
    *("", "F mean", "F max", "mse", "ece image", "found", "false alarms", "at 95 % found", "r of the maps"),
    *("enlarged: F mean", "worse: F mean", "known views: F mean", "F max", "ece", "close-ups: F"),
    *("examples: F", "elsewhere: false alarms", "temperature", "s"),
)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """An entry of the file."""

    config: str = "default"
    set: tuple[str, ...] = ()
    mean: tuple[str, ...] = ()
    fold: int | None = None


def main() -> None:
    args = arguments(__doc__, None, file=True)
    loaded: dict[tuple[int, tuple[Source, ...]], Data] = {}
    rows = []
    for name, entry in read_yaml(args.file).items():
        if args.only and name not in args.only:
            continue
        with naming(args.file):
            variant = from_plain(Variant, entry, name)
        settings = read_settings(variant.config, [*variant.set, *args.set])
        if variant.fold and not args.folds:
            raise SystemExit(f"{name} keeps fold {variant.fold} apart: name its file by --folds")
        fold = args.fold if variant.fold is None else variant.fold
        own = argparse.Namespace(**vars(args) | {"fold": fold, "folds": args.folds if fold else None})
        if (fold, settings.data) not in loaded:
            loaded[fold, settings.data] = load(settings, own)
        row = (name, *_try(name, settings, loaded[fold, settings.data], variant, own))
        print(" | ".join(row), flush=True)
        rows.append(row)
    table("Variants", HEADER, rows)


def _try(
    name: str, settings: TrainingSettings, data: Data, variant: Variant, args: argparse.Namespace
) -> tuple[str, ...]:
    """Train a variant, if nobody has, and measure it on all that was kept apart."""
    kept, rest = _keep_apart(settings, data) if data.validation else ({}, data)
    start = time.monotonic()
    run, pipeline, fabric = trained(settings, rest, name, args, variant.mean)
    seconds = time.monotonic() - start
    examples = PictureCache(list_pairs(EXAMPLES), settings.side)
    kept["examples"] = Pictures("pairs", examples, range(len(examples)))
    false_alarms = None
    if args.elsewhere:
        photographs = PictureCache(list_negatives(args.elsewhere), settings.side)
        elsewhere = Pictures("negatives", photographs, range(len(photographs)))
        false_alarms = validate(pipeline, [elsewhere], fabric).report["alarm"]["false_alarm_rate"]

    def others(kind: str) -> tuple[float | None, ...]:
        """F mean, F max and ece of pictures that were kept apart, if the mix has any of the kind."""
        if kind not in kept:
            return None, None, None
        report = validate(pipeline, [kept[kind]], fabric).report
        return report["f_beta"]["mean"], report["f_beta"]["max"], report["ece"]["image"]

    return (
        *_figures(json.loads(run.figures_file.read_text()).get("validation")),
        as_text(_enlarged(pipeline, data.validation, fabric)),
        as_text(_worse(pipeline, data.validation, fabric)),
        *map(as_text, (*others("known views"), others("close-ups")[0], others("examples")[0], false_alarms)),
        f"{pipeline.temperature:.2f}",
        f"{seconds:.0f}",
    )


def _figures(found: Report | None) -> tuple[str, ...]:
    """What validation found, if it was made; the last are how the maps follow sampling."""
    if found is None:
        return ("-",) * 8
    alarm, follows = found["alarm"], found["uncertainty"]
    values = (
        *(found["f_beta"]["mean"], found["f_beta"]["max"]),
        *(found["mse"], found["ece"]["image"]),
        *(alarm["detection_rate"], alarm["false_alarm_rate"], alarm["fpr95"]),
    )
    agreement = (follows["total_r"], follows["aleatoric_r"], follows["epistemic_r"])
    return (*map(as_text, values), " ".join(map(as_text, agreement)))


@torch.no_grad()
def _enlarged(pipeline: Pipeline, pictures: Sequence[Pictures], fabric: Fabric) -> float | None:
    """F mean of a quarter of each picture, about its smoke, at the size of the whole: as a zoom sees it."""
    figures = FBeta()
    for each in pictures:
        for picture, mask in map(each.cache.__getitem__, each.numbers):
            smoke = mask > 127
            if not smoke.any():
                continue
            rows, columns = quarter(smoke[0])
            x = picture[rows, columns].permute(2, 0, 1)[None].to(fabric.device)
            figures.update(pipeline(x).probability[:, 0].cpu(), smoke[:, rows, columns])
    return figures.compute()["mean"]


@torch.no_grad()
def _worse(pipeline: Pipeline, pictures: Sequence[Pictures], fabric: Fabric) -> float | None:
    """F mean of some pictures, each changed in several ways."""
    figures = FBeta()
    for each in pictures:
        if each.kind != "pairs":
            continue
        for picture, mask in map(each.cache.__getitem__, each.numbers[::WORSE]):
            for name in WORST:
                x = changed(name, picture).to(fabric.device)
                figures.update(pipeline(x).probability[:, 0].cpu(), mask > 127)
    return figures.compute()["mean"]


def _keep_apart(settings: TrainingSettings, data: Data) -> tuple[dict[str, Pictures], Data]:
    """Pictures of known views and close-ups that are kept from training, and what is left to train on."""
    kept: dict[str, Pictures] = {}
    for source, pictures in zip(settings.data, data.training, strict=True):
        if source.kind == "pairs" and source.whole:
            kept["close-ups"] = replace(pictures, numbers=pictures.numbers[::CLOSE_UPS])
        elif source.kind == "pairs" and source.validated:
            kept["known views"] = replace(pictures, numbers=pictures.numbers[::KNOWN_VIEWS])
    out = {(id(each.cache), number) for each in kept.values() for number in each.numbers}
    training = [
        replace(each, numbers=[number for number in each.numbers if (id(each.cache), number) not in out])
        for each in data.training
    ]
    return kept, replace(data, training=training)


if __name__ == "__main__":
    main()
