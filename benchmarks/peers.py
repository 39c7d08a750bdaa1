"""The default model beside its peer, a plain U-Net on the same encoder, on scenes that neither has seen.

    python -m benchmarks.peers DATA OUT --folds folds.json --encoder resnet50.safetensors [--seeds 2]

Each configuration is trained as it is, on the same pictures, once a seed. Figures are of the fold's scenes,
each model at the temperature that was fitted on them, which makes the calibration of all a little too good.
Runs that are in OUT already are not repeated, so that the work can be split over calls (`--only NAME`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.experiment import Found, arguments, compare, load, save
from benchmarks.timing import table
from smokescope.metrics.suite import Report
from smokescope.training.settings import TrainingSettings, read_settings
from smokescope.training.sources import Data

CONFIGS = ("unet", "default")
FIGURES: dict[str, Callable[[Report], float | None]] = {
    "f_beta mean": lambda r: r["f_beta"]["mean"],
    "f_beta max": lambda r: r["f_beta"]["max"],
    "mse": lambda r: r["mse"],
    "ece image": lambda r: r["ece"]["image"],
    "detection rate": lambda r: r["alarm"]["detection_rate"],
    "false alarms": lambda r: r["alarm"]["false_alarm_rate"],
    "fpr95": lambda r: r["alarm"]["fpr95"],
}


def main() -> None:
    args = arguments(__doc__, None, seeds=2)
    settings = {name: read_settings(name, args.set) for name in CONFIGS}
    union = replace(settings["default"], data=sum((s.data for s in settings.values()), ()))
    everything = load(union, args)
    variants: dict[str, tuple[TrainingSettings, Data]] = {}
    first = 0
    for name, own in settings.items():
        last = first + len(own.data)
        data = Data(everything.training[first:last], everything.validation)
        variants |= {f"{name} seed {seed}": (replace(own, seed=seed), data) for seed in range(args.seeds)}
        first = last
    found = compare(variants, args, fitted=True)
    save(args.out, found)
    table(
        f"Unseen scenes of fold {args.fold}, mean of the seeds (and each)",
        ("", *FIGURES),
        [(name, *_row([each for each in found if each.name.startswith(name)])) for name in CONFIGS],
    )


def _row(found: Sequence[Found]) -> list[str]:
    cells = []
    for figure in FIGURES.values():
        values = [value for each in found if (value := figure(each.unseen.report)) is not None]
        each = ", ".join(f"{value:.4f}" for value in values)
        cells.append(f"{np.mean(values):.4f} ({each})" if values else "-")
    return cells


if __name__ == "__main__":
    main()
