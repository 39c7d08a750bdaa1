"""The page of `smokescope evaluate`: a model's figures, how honest its probabilities and its doubt are."""

from collections.abc import Mapping, Sequence
from html import escape

from smokescope.inference.evaluation import Evaluation
from smokescope.metrics import RiskCoverage
from smokescope.report.axes import Axis, Scale, covering
from smokescope.report.calibration_chart import SMOKE, TOP_LABEL, reliability_chart
from smokescope.report.charts import Series, histogram, line_chart
from smokescope.report.colours import TOTAL
from smokescope.report.comparison import Column, Row, columns, difference_ends, rows
from smokescope.report.evaluation_words import told_pictures
from smokescope.report.headlines import STYLE, headlines
from smokescope.report.meanings import MEANINGS, name_figure
from smokescope.report.page import charts, facts, page, table
from smokescope.report.score_chart import score_chart

_DEFINED = "Each is defined in smokescope's docs/evaluate.md; those without meaning here are left out."
_BOLD = "It is bold where its interval excludes 0: other scenes would hardly reverse the order."


def evaluation_page(
    title: str,
    names: Sequence[str],
    measured: Mapping[str, str],
    evaluation: Evaluation,
    against: Evaluation | None = None,
) -> str:
    """Write the page: one file that asks for nothing from outside.

    Args:
        title: The model's name, or both models'.
        names: The same for charts and headings of columns: short, and one for each model.
        measured: By what, on which data and how it was measured: facts by their names.
        evaluation: What came out.
        against: What came out of another model on the same pictures.
    """
    by_column = columns(evaluation, names, against)
    shown = [_cells(row, by_column) for row in rows(MEANINGS, by_column)]
    words = [_DEFINED]
    if against is not None:
        words.append(f"The difference is {names[0]} less {names[1]}.")
        words += [_BOLD] if difference_ends(by_column) else []
    whose = f"Of {names[0]} alone." if against is not None else ""
    head = ("", *(escape(column.heading) for column in by_column))
    return page(
        title,
        "evaluate",
        f"Measured on {told_pictures(evaluation)}.",
        [
            headlines(evaluation, names, against),
            charts("Charts", _drawings(evaluation, names[0]), whose),
            table("Figures", head, shown, " ".join(words)),
            facts("How it was measured", measured),
        ],
        STYLE,
    )


def _cells(row: Row, by_column: Sequence[Column]) -> tuple[str, ...]:
    pairs = zip(row.cells, by_column, strict=True)
    figures = [f"<b>{cell}</b>" if row.sure and column.differs else cell for cell, column in pairs]
    return name_figure(row.name, str(MEANINGS[row.name])), *figures


def _drawings(evaluation: Evaluation, name: str) -> list[str]:
    drawings = []
    if evaluation.report["images"]:
        scores = [row.f_beta for row in evaluation.rows if row.f_beta is not None]
        top, smoke = evaluation.reliability
        drawings += [
            reliability_chart(SMOKE, smoke.pixels.tolist(), *smoke.means(), name),
            reliability_chart(TOP_LABEL, top.pixels.tolist(), *top.means(), name),
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
