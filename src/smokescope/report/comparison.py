"""A model's figures in columns: beside another's, with intervals, and of scenes apart.

The terminal and the page show the same ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from smokescope.inference.evaluation import Evaluation
from smokescope.metrics import Report, difference
from smokescope.metrics.suite import Figures, flatten
from smokescope.report.meanings import show_figure


class Column(NamedTuple):
    """Figures under a heading."""

    heading: str
    figures: Figures
    differs: bool = False
    """Whether they are of a difference, and so are shown with their signs."""

    def show(self, name: str) -> str:
        """One of them for people."""
        value = self.figures[name]
        return ("+" if self.differs and value is not None and value > 0 else "") + show_figure(value)


class Row(NamedTuple):
    """One figure in all columns."""

    name: str
    cells: Sequence[str]
    sure: bool
    """Whether the interval of the difference to another model excludes 0."""


def columns(evaluation: Evaluation, names: Sequence[str], against: Evaluation | None = None) -> list[Column]:
    """All figures, another model's and how far they differ, the interval of either or both, and scenes apart.

    Args:
        evaluation: Evaluation of the model.
        names: The model's, and the other's.
        against: Evaluation of the other model, on the same pictures.
    """
    both = against is not None
    counts: Figures = {"images": None, "negatives": None}  # the same in all of these

    def beside(heading: str, report: Report, differs: bool = False) -> Column:
        return Column(heading, flatten(report) | counts, differs)

    found = [Column(names[0] if both else "all", flatten(evaluation.report))]
    if against is not None:
        found.append(beside(names[1], against.report))
        found.append(beside("difference", difference(evaluation.report, against.report), True))
    if (ends := evaluation.interval(against)) is not None:
        found += [beside("95 % from", ends.low, both), beside("to", ends.high, both)]
    for scene, report in evaluation.scenes.items():
        found.append(Column(f"{names[0]}, {scene}" if both else scene, flatten(report)))
    return found


def rows(names: Iterable[str], by_column: Sequence[Column]) -> Iterator[Row]:
    """Figures by name in all columns, less those that have a meaning in none."""
    ends = difference_ends(by_column)
    for name in names:
        if any(column.figures[name] is not None for column in by_column):
            sure = ends is not None and excludes_zero(*(end.figures[name] for end in ends))
            yield Row(name, [column.show(name) for column in by_column], sure)


def difference_ends(by_column: Sequence[Column]) -> tuple[Column, Column] | None:
    """The columns of the interval of the difference to another model, if it was asked for."""
    differs = [column for column in by_column if column.differs]
    return (differs[1], differs[2]) if len(differs) == 3 else None


def excludes_zero(low: float | None, high: float | None) -> bool:
    """Whether an interval lies on one side of 0."""
    return low is not None and high is not None and (low > 0 or high < 0)
