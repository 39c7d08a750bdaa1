"""What the paper's experiments share: the same short training for each variant, tried on unseen scenes.

Pictures are decoded once for all variants. Figures are of the scenes of one fold, which no variant has seen,
and apart of their most difficult quarter (`smokescope data stats` says how it is chosen).
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from lightning.fabric import Fabric

from benchmarks.timing import table
from smokescope.checkpoints.model import load_model
from smokescope.data.folds import read_folds
from smokescope.data.statistics import Statistics
from smokescope.metrics.suite import Report
from smokescope.models.pipeline import Pipeline
from smokescope.training.devices import launch
from smokescope.training.observers import Observers, Sample
from smokescope.training.run_folder import Inputs, RunFolder
from smokescope.training.settings import TrainingSettings
from smokescope.training.sources import Data, Pictures, Split, load_data
from smokescope.training.train import train
from smokescope.training.validation import Validation, validate

QUARTER = 0.25


@dataclass(frozen=True)
class Found:
    """What a variant came to."""

    name: str
    run: RunFolder
    unseen: Validation
    difficult: Validation
    shown: list[Sample]
    """Simple, normal and difficult pictures, two each."""


def arguments(description: str | None, config: str | None, *, file: bool = False) -> argparse.Namespace:
    """The options that experiments take."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", type=Path, help="the folder that the configuration's sources are below")
    parser.add_argument("out", type=Path, help="a folder for the runs")
    parser.add_argument("--folds", type=Path, required=not file, help="scenes to keep from training")
    parser.add_argument("--fold", type=int, default=1)
    parser.add_argument("--encoder", type=Path)
    if file:
        parser.add_argument("--file", type=Path, required=True, help="of the variants")
        parser.add_argument("--elsewhere", type=Path, help="pictures without smoke to try them on")
    if config is not None:
        parser.add_argument("--config", default=config)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="for all variants")
    parser.add_argument("--only", action="append", help="of the variants; all if it is not given")
    return parser.parse_args()


def load(settings: TrainingSettings, args: argparse.Namespace) -> Data:
    """All pictures that the variants of an experiment take from."""
    return load_data(settings, args.data, Split(read_folds(args.folds), args.fold) if args.folds else None)


def compare(variants: Mapping[str, tuple[TrainingSettings, Data]], args: argparse.Namespace) -> list[Found]:
    """Train each variant, unless its folder holds it already, and try it at temperature 1.

    A temperature that was fitted on these very pictures would hide what losses do to calibration.

    Args:
        variants: Settings and pictures by name; all are tried on the same pictures.
        args: What `arguments` gave.
    """
    found = []
    _, data = next(iter(variants.values()))
    ranked = by_difficulty(data.validation)
    count = len(ranked.numbers)
    hard = replace(ranked, numbers=ranked.numbers[: max(1, round(QUARTER * count))])
    shown = replace(ranked, numbers=[ranked.numbers[i] for i in (-1, -2, count // 2, count // 3, 1, 0)])
    for name, (settings, data) in variants.items():
        if args.only and name not in args.only:
            continue
        run, pipeline, fabric = trained(settings, data, name, args)
        pipeline = Pipeline(pipeline.network, settings.input).eval()
        found.append(
            Found(
                name,
                run,
                validate(pipeline, data.validation, fabric),
                validate(pipeline, [hard], fabric),
                [validate(pipeline, [replace(shown, numbers=[n])], fabric).samples[0] for n in shown.numbers],
            )
        )
        print(f"{name}: {figures(found[-1].unseen.report)}", flush=True)
    return found


def trained(
    settings: TrainingSettings,
    data: Data,
    name: str,
    args: argparse.Namespace,
    begin_with: Sequence[str] = (),
) -> tuple[RunFolder, Pipeline, Fabric]:
    """A variant's run, trained unless its folder holds it already; its model, and where that is.

    Args:
        settings: Settings of the run.
        data: Its pictures.
        name: Name of the variant.
        args: What `arguments` gave.
        begin_with: Variants with the mean of whose weights to begin.
    """
    fabric = launch(torch.device("cuda" if torch.cuda.is_available() else "cpu"), settings.precision)
    run = _run_of(name, args)
    resume = run.settings_file.exists()
    if resume and run.settings() != settings:
        raise SystemExit(f"{run.path} holds a run with other settings: name another folder")
    if not run.model_file.exists():
        inputs = Inputs(
            data=str(args.data.resolve()),
            folds=str(args.folds.resolve()) if args.folds else None,
            fold=args.fold,
            encoder=str(args.encoder.resolve()) if args.encoder else None,
            models=tuple(str(_run_of(each, args).model_file.resolve()) for each in begin_with),
        )
        train(settings, data, run, fabric, Observers(), inputs, resume=resume)
    return run, load_model(run.model_file).to(fabric.device), fabric


def _run_of(name: str, args: argparse.Namespace) -> RunFolder:
    return RunFolder(args.out / name.replace(" ", "-"))


def by_difficulty(validation: Sequence[Pictures]) -> Pictures:
    """The pictures with smoke, the most difficult first."""
    pictures = next(each for each in validation if each.kind == "pairs")
    statistics = Statistics()
    for number in pictures.numbers:
        picture, mask = pictures.cache[number]
        statistics.add(str(number), picture.contiguous().numpy(), (mask[0] / 255).numpy())
    ranking = statistics.ranking()
    return replace(pictures, numbers=[int(statistics.rows[ranked.number].name) for ranked in ranking])


def figures(report: Report) -> tuple[str, ...]:
    """The figures of a row."""
    f, ece, alarm = report["f_beta"], report["ece"], report["alarm"]
    values = (report["mse"], f["mean"], f["max"], ece["image"], ece["pooled"], alarm["false_alarm_rate"])
    return tuple(map(as_text, values))


def summary(report: Report) -> tuple[str, ...]:
    """F mean and max, ece, smoke found and false alarms: what is asked first of a model on some pictures."""
    f, alarm = report["f_beta"], report["alarm"]
    values = (f["mean"], f["max"], report["ece"]["image"], alarm["detection_rate"], alarm["false_alarm_rate"])
    return tuple(map(as_text, values))


def as_text(value: float | None) -> str:
    """A figure, as tables show it."""
    return "-" if value is None else f"{value:.4f}"


def report_table(title: str, found: Sequence[Found]) -> None:
    """Print the experiment's table."""
    header = ("", "mse", "F mean", "F max", "ece image", "ece pooled", "false alarms")
    rows = [(each.name, *figures(each.unseen.report)) for each in found]
    table(f"{title}, unseen scenes", header, rows)
    rows = [(each.name, *figures(each.difficult.report)[:-1]) for each in found]
    table(f"{title}, their difficult quarter", header[:-1], rows)


def save(out: Path, found: Sequence[Found]) -> None:
    """Keep every figure, for later."""
    path = out / "figures.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    kept |= {each.name: {"unseen": each.unseen.report, "difficult": each.difficult.report} for each in found}
    path.write_text(json.dumps(kept, indent=1))
