"""The page of `smokescope evaluate`: a model's figures, how honest its probabilities and its doubt are."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape

from smokescope.inference.evaluation import Evaluation
from smokescope.metrics import Report, RiskCoverage, difference
from smokescope.metrics.suite import Figures, flatten
from smokescope.report.axes import Axis, Scale, covering
from smokescope.report.calibration_chart import SMOKE, TOP_LABEL, reliability_chart
from smokescope.report.charts import Series, histogram, line_chart
from smokescope.report.colours import TOTAL
from smokescope.report.page import charts, page, table
from smokescope.report.score_chart import score_chart

# what each figure is, for who did not define them; the rest of it is in docs/evaluate.md
MEANINGS = {
    "images": "pictures with smoke",
    "negatives": "pictures without",
    "mse": "mean squared error, of pictures",
    "f_beta/mean": "F-measure, β² = 0.3, mean over thresholds",
    "f_beta/max": "at the best threshold",
    "f_beta/adaptive": "at twice the picture's mean",
    "f_beta/fixed": "at 0.5",
    "iou/image": "intersection over union at 0.5, of pictures",
    "iou/pooled": "of all pixels",
    "ece/image": "calibration error, of pictures",
    "ece/pooled": "of all pixels",
    "ece/smoke": "of smoke's probability, of pictures",
    "uncertainty/error_auroc": "total uncertainty tells wrong pixels from right ones",
    "uncertainty/aurc": "area under the risk-coverage curve",
    "uncertainty/false_positive_auroc": "epistemic uncertainty tells false smoke from true",
    "uncertainty/ood_auroc": "epistemic uncertainty tells pictures without smoke from those with",
    "uncertainty/total_r": "correlation with Monte Carlo samples, total",
    "uncertainty/aleatoric_r": "aleatoric",
    "uncertainty/epistemic_r": "epistemic",
    "uncertainty/mse": "squared difference to Monte Carlo samples",
    "entropy/error_auroc": "the probability's own entropy, in place of the total, does so",
    "entropy/aurc": "area under the risk-coverage curve, by that entropy",
    "entropy/false_positive_auroc": "that entropy, in place of the epistemic, tells false smoke from true",
    "alarm/detection_rate": "smoke pictures flagged at 0.5, where the smoke is",
    "alarm/false_alarm_rate": "other pictures flagged at 0.5",
    "alarm/auroc": "the score tells pictures with smoke from those without",
    "alarm/fpr95": "false alarms when 95 % of smoke pictures are flagged",
    "alarm/shipped/detection_rate": "smoke pictures flagged at the model's own threshold",
    "alarm/shipped/false_alarm_rate": "other pictures flagged at it",
}


def show_figure(value: float | int | None) -> str:
    """A figure for people: a count as it is, a measure in four digits, a dash where it has no meaning."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{value:.4f}"  # aurc is often 1e-5


def columns(evaluation: Evaluation, against: Evaluation | None = None) -> dict[str, Figures]:
    """The figures by a heading: all, another model's, the interval of either or both, and scenes apart."""
    reports: dict[str, Report] = {}
    if against is not None:
        reports |= {"against": against.report, "more": difference(evaluation.report, against.report)}
    if (ends := evaluation.interval(against)) is not None:
        reports |= {"from": ends.low, "to": ends.high}
    counts: Figures = {"images": None, "negatives": None}  # the same in all of these
    beside = {heading: flatten(report) | counts for heading, report in reports.items()}
    own = {heading: flatten(report) for heading, report in evaluation.scenes.items()}
    return {"all": flatten(evaluation.report), **beside, **own}


def evaluation_page(title: str, words: str, evaluation: Evaluation, against: Evaluation | None = None) -> str:
    """Write the page: one file that asks for nothing from outside.

    Args:
        title: The model's name.
        words: What it was measured on, and where.
        evaluation: What came out.
        against: What came out of another model on the same pictures.
    """
    by_column = columns(evaluation, against)
    rows = [
        (f"{name} <small>{escape(MEANINGS[name])}</small>", *shown)
        for name, shown in defined_rows(by_column, MEANINGS)
    ]
    spread = "The bars behind the first two show how pixels are spread over the probabilities."
    defined = "Each is defined in smokescope's docs/evaluate.md; those without meaning here are left out."
    return page(
        title,
        "evaluate",
        words,
        [
            charts("Charts", _drawings(evaluation), spread if evaluation.report["images"] else ""),
            table("Figures", ("", *by_column), rows, defined),
        ],
    )


def defined_rows(
    by_column: Mapping[str, Figures], names: Iterable[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names, and their figures in all columns, less those that have a meaning in none."""
    for name in names:
        values = [figures[name] for figures in by_column.values()]
        if any(value is not None for value in values):
            yield name, tuple(map(show_figure, values))


def _drawings(evaluation: Evaluation) -> list[str]:
    drawings = []
    if evaluation.report["images"]:
        scores = [row.f_beta for row in evaluation.rows if row.f_beta is not None]
        top, smoke = evaluation.reliability
        drawings += [
            reliability_chart(SMOKE, smoke.pixels.tolist(), *smoke.means()),
            reliability_chart(TOP_LABEL, top.pixels.tolist(), *top.means()),
            _risk_coverage(evaluation.risk_coverage),
            histogram("F-measure of single pictures", scores, "F-measure at 0.5, pictures with smoke"),
        ]
    if evaluation.report["negatives"]:
        scores = [row.score for row in evaluation.rows if row.smoke]
        drawings.append(score_chart([row.score for row in evaluation.rows if not row.smoke], scores))
    return drawings


def _risk_coverage(curve: RiskCoverage) -> str:
    points = [(100 * c, 100 * r) for c, r in zip(curve.coverage.tolist(), curve.risk.tolist(), strict=True)]
    x = Axis("most certain pixels kept, %", Scale(0, 100))
    y = Axis("wrong among them, %", covering([risk for _, risk in points] or [0.0], zero=True))
    return line_chart("Risk and coverage", [Series("", points, TOTAL)], x, y)
