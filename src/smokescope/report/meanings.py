"""What each figure of a model is, and which way it is better, for who did not define them."""

from html import escape
from typing import NamedTuple


class Meaning(NamedTuple):
    """What a figure means, in short; docs/evaluate.md says more."""

    words: str
    direction: str
    """Which way is better, if either is."""

    def __str__(self) -> str:
        """All of it, beside the figure's name."""
        return "; ".join(filter(None, self))


_HIGHER, _LOWER = "higher is better", "lower is better"


MEANINGS = {
    "images": Meaning("pictures with smoke", ""),
    "negatives": Meaning("pictures without", ""),
    "mse": Meaning("mean squared error, of pictures", _LOWER),
    "f_beta/mean": Meaning("F-measure, β² = 0.3, mean over thresholds", _HIGHER),
    "f_beta/max": Meaning("at the best threshold", _HIGHER),
    "f_beta/adaptive": Meaning("at twice the picture's mean", _HIGHER),
    "f_beta/fixed": Meaning("at 0.5", _HIGHER),
    "iou/image": Meaning("intersection over union at 0.5, of pictures", _HIGHER),
    "iou/pooled": Meaning("of all pixels", _HIGHER),
    "ece/image": Meaning("calibration error, of pictures", _LOWER),
    "ece/pooled": Meaning("of all pixels", _LOWER),
    "ece/smoke": Meaning("of smoke's probability, of pictures", _LOWER),
    "uncertainty/error_auroc": Meaning("total uncertainty tells wrong pixels from right ones", _HIGHER),
    "uncertainty/aurc": Meaning("area under the risk-coverage curve", _LOWER),
    "uncertainty/false_positive_auroc": Meaning("epistemic uncertainty tells false smoke from true", _HIGHER),
    "uncertainty/ood_auroc": Meaning(
        "pictures without smoke have more epistemic uncertainty than those with; not how foreign they are",
        "near 0 for a good detector, whose doubt lies at the rims of smoke",
    ),
    "uncertainty/total_r": Meaning("correlation with Monte Carlo samples, total", _HIGHER),
    "uncertainty/aleatoric_r": Meaning("aleatoric", _HIGHER),
    "uncertainty/epistemic_r": Meaning("epistemic", _HIGHER),
    "uncertainty/mse": Meaning("squared difference to Monte Carlo samples", _LOWER),
    "entropy/error_auroc": Meaning(
        "the probability's own entropy, in place of the total, tells wrong pixels from right ones", _HIGHER
    ),
    "entropy/aurc": Meaning("area under the risk-coverage curve, by that entropy", _LOWER),
    "entropy/false_positive_auroc": Meaning(
        "that entropy, in place of the epistemic, tells false smoke from true", _HIGHER
    ),
    "alarm/detection_rate": Meaning("smoke pictures flagged at 0.5, where the smoke is", _HIGHER),
    "alarm/false_alarm_rate": Meaning("other pictures flagged at 0.5", _LOWER),
    "alarm/auroc": Meaning("the score tells pictures with smoke from those without", _HIGHER),
    "alarm/fpr95": Meaning("false alarms when 95 % of smoke pictures are flagged", _LOWER),
    "alarm/shipped/detection_rate": Meaning("smoke pictures flagged at the model's own threshold", _HIGHER),
    "alarm/shipped/false_alarm_rate": Meaning("other pictures flagged at it", _LOWER),
}


def name_figure(name: str, words: str) -> str:
    """A figure's name and what it is, as HTML; a long name may break where its parts meet."""
    return f"{name.replace('/', '/<wbr>')} <small>{escape(words)}</small>"


def show_figure(value: float | int | None) -> str:
    """A figure for people: a count as it is, a measure in four digits, a dash where it has no meaning."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{value:.4f}"  # aurc is often 1e-5
