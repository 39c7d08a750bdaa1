"""What `smokescope evaluate` says in words: what models are called, how fast it was, and a short table."""

from collections.abc import Sequence
from pathlib import Path

from smokescope.inference.evaluation import Evaluation
from smokescope.metrics import Interval
from smokescope.report.comparison import columns, rows
from smokescope.report.meanings import MEANINGS

TOLD = (
    *("images", "negatives", "alarm/shipped/detection_rate", "alarm/shipped/false_alarm_rate", "alarm/auroc"),
    *("f_beta/mean", "f_beta/max", "iou/image", "mse", "ece/image"),
    *("uncertainty/error_auroc", "uncertainty/ood_auroc"),
    *("uncertainty/total_r", "uncertainty/aleatoric_r", "uncertainty/epistemic_r"),
)


def told_pictures(evaluation: Evaluation) -> str:
    """How many pictures there were, of both kinds."""
    report = evaluation.report
    return f"{report['images']:,} pictures with smoke, {report['negatives']:,} without"


def names_of(*models: Path | None) -> list[str]:
    """What models are called in tables and charts: as short as they are still told apart."""

    def called(model: Path | None, whole: bool = False) -> str:
        if model is None:
            return "embedded model"
        folder = model.resolve().parent.name
        if whole:
            return f"{folder}/{model.name}"
        return f"{folder}/model" if model.stem == "model" else model.stem  # as every run calls its own

    names = [called(model) for model in models]
    if len(set(names)) < len(names):
        names = [called(model, whole=True) for model in models]
    return names


def told_speed(speed: float, engine: str, *, peer: bool, samples: int, intervals: bool) -> str:
    """Pictures a second, and what took the time besides the model itself.

    Args:
        speed: Pictures a second, all that was done included.
        engine: That ran the model.
        peer: Whether another model looked at them too.
        samples: That each was compared with.
        intervals: Whether intervals were asked for.
    """
    included = ["reading"]
    included += ["the other model"] if peer else []
    included += [f"{samples} samples"] if samples else []
    included += ["intervals"] if intervals else []
    return f"{speed:.1f} pictures a second by {engine}; that includes {', '.join(included)} and measuring"


def told_intervals(ends: Interval | None, what: str) -> str:
    """What intervals are, or why there are none; `what` they are of."""
    if ends is None:
        return "no intervals: all pictures are of one scene"
    drawn = f"takes when the {ends.scenes} scenes are redrawn at random"
    return f"95 % from, to: they enclose 95 % of the values that a {what} {drawn}"


def figure_lines(evaluation: Evaluation, names: Sequence[str], other: Evaluation | None) -> str:
    """The figures that are looked at first, a line each, beside another model's if there is one."""
    by_column = columns(evaluation, names, other)
    widths = [max(10, 2 + len(column.heading)) for column in by_column]
    head = "".join(f"{column.heading:>{width}}" for column, width in zip(by_column, widths, strict=True))
    lines = [f"{'':32}{head}"] if len(by_column) > 1 else []
    sure = False
    for row in rows(TOLD, by_column):
        figures = "".join(f"{cell:>{width}}" for cell, width in zip(row.cells, widths, strict=True))
        mark = "*" if row.sure else " "
        lines.append(f"{row.name:32}{figures} {mark} {MEANINGS[row.name].direction}".rstrip())
        sure = sure or row.sure
    return "\n".join([*lines, *(["* the interval of the difference excludes 0"] if sure else [])])
