"""What came of a run, from its figures.json: a table, calibration, and whether the model uses its chance.

The file holds {"temperature": t, "validation": a Report, "latent": {"kl", "latent_share", "dropout_share"},
"reliability": {"top": bins, "smoke": bins}}, bins being {"count": [...], "mean": [...], "accuracy": [...]};
any part may be missing.
"""

import math
from collections.abc import Mapping, Sequence

from smokescope.report.calibration_chart import SMOKE, TOP_LABEL, reliability_chart
from smokescope.report.meanings import MEANINGS, name_figure, show_figure
from smokescope.report.page import table

LEAST_KL = 0.01  # nats; a posterior nearer to the prior than this holds nothing about a picture
LEAST_SHARE = 0.02  # of the logits' variance
MISSING = "not measured"

_CHANCE = {
    "latent/kl": "nats that z holds about a picture",
    "latent/latent_share": "of the logits' variance: z drawn anew, dropout off",
    "latent/dropout_share": "of the logits' variance: dropout drawn anew, z fixed",
}
_ALL = {
    **{f"validation/{path}": str(meaning) for path, meaning in MEANINGS.items()},
    "temperature": "that logits are divided by; above 1, the network was too sure of itself",
    **_CHANCE,
}
_FIRST = (
    *("images", "negatives", "f_beta/mean", "f_beta/max", "mse", "iou/image", "ece/image"),
    *("alarm/detection_rate", "alarm/false_alarm_rate", "uncertainty/error_auroc"),
    *("uncertainty/total_r", "uncertainty/aleatoric_r", "uncertainty/epistemic_r"),
)


def figure(values: object, path: str) -> float | None:
    """The number at a path of nested names, as `ece/image`; None where there is none that is finite."""
    for name in path.split("/"):
        values = values.get(name) if isinstance(values, Mapping) else None
    if isinstance(values, bool) or not isinstance(values, int | float):
        return None
    return float(values) if math.isfinite(values) else None


def figures_table(figures: Mapping[str, object], words: str) -> str:
    """The figures that are looked at first, and all the others to fold out; `words` say of what they are."""
    first = [*(f"validation/{path}" for path in _FIRST), "temperature"]
    others = [path for path in _ALL if path not in first and path not in _CHANCE]
    top = table("Result", ("", ""), _rows(figures, first), words)
    rest = table("All others", ("", ""), _rows(figures, others))
    return f"{top}<details><summary>More figures</summary>{rest}</details>"


def chance_table(title: str, figures: Mapping[str, object], words: str) -> str:
    """What z and dropout do; `words` say of what that is."""
    return table(title, ("", ""), _rows(figures, list(_CHANCE)), words)


def empty_epistemic(figures: Mapping[str, object]) -> list[str]:
    """Why the epistemic uncertainty tells nothing, in sentences; none where it does, or was not measured."""
    kl, latent, dropout = (figure(figures, path) for path in _CHANCE)
    found = []
    if kl is not None and kl < LEAST_KL:
        found.append(f"z holds {kl:.2g} nats about a picture, less than {LEAST_KL:g}: it has collapsed.")
    if latent is not None and dropout is not None and max(latent, dropout) < LEAST_SHARE:
        found.append(
            f"z alone makes {latent:.1%} of the logits' variance and dropout alone {dropout:.1%}, "
            f"both less than {LEAST_SHARE:.0%}."
        )
    return found


def idle_chance(figures: Mapping[str, object]) -> list[str]:
    """Which source of chance, z or dropout, hardly moves the predictions by itself, in sentences."""
    shares = {"z": figure(figures, "latent/latent_share"), "dropout": figure(figures, "latent/dropout_share")}
    return [
        f"But {name} alone makes {share:.1%} of the logits' variance: it hardly takes part."
        for name, share in shares.items()
        if share is not None and share < LEAST_SHARE
    ]


def reliability_charts(figures: Mapping[str, object], model: str) -> list[str]:
    """A model's reliability diagrams, of smoke and of the top label, as far as they were measured."""
    drawn = []
    for name, words in (("smoke", SMOKE), ("top", TOP_LABEL)):
        count, mean, accuracy = (_numbers(figures, name, part) for part in ("count", "mean", "accuracy"))
        if count and len(count) == len(mean) == len(accuracy):
            whole = [int(number or 0) for number in count]
            drawn.append(reliability_chart(words, whole, mean, accuracy, model))
    return drawn


def _numbers(figures: Mapping[str, object], name: str, part: str) -> list[float | None]:
    values: object = figures
    for key in ("reliability", name, part):
        values = values.get(key) if isinstance(values, Mapping) else None
    return [figure({"": value}, "") for value in values] if isinstance(values, list) else []


def _rows(figures: Mapping[str, object], paths: Sequence[str]) -> list[tuple[str, str]]:
    return [
        (name_figure(path.removeprefix("validation/"), _ALL[path]), _shown(figures, path)) for path in paths
    ]


def _shown(figures: Mapping[str, object], path: str) -> str:
    value = figure(figures, path)
    if value is None:
        return MISSING
    return show_figure(int(value) if path in ("validation/images", "validation/negatives") else value)
