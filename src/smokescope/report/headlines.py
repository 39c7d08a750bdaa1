"""What is asked first of a model, in large figures: smoke found, false alarms, outlines and calibration."""

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from smokescope.inference.evaluation import Evaluation
from smokescope.metrics import Report
from smokescope.metrics.suite import Figures, flatten
from smokescope.report.meanings import MEANINGS, show_figure

STYLE = """
.first { display: grid; gap: 1rem; margin: 1.25rem 0 0;
  grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)); }
.first > div { padding: .75rem 1rem; border-radius: .5rem; background: var(--card); }
.first dt { font-weight: 600; } .first dd { margin: 0; color: var(--faint); font-size: .875rem; }
.first dd.large { color: var(--ink); font-size: 2.25rem; line-height: 1.25; }
"""


class _Headline(NamedTuple):
    """A large figure."""

    title: str
    name: str
    words: str
    show: Callable[[float | int | None], str] = show_figure


def headlines(evaluation: Evaluation, names: Sequence[str], against: Evaluation | None = None) -> str:
    """The figures that answer first, as far as they have a meaning, each with its interval if there is one.

    Args:
        evaluation: Evaluation of the model.
        names: The model's, and the other's.
        against: Evaluation of the other model, on the same pictures.
    """
    report, other = flatten(evaluation.report), flatten(against.report) if against else None
    ends = evaluation.interval()
    interval = (flatten(ends.low), flatten(ends.high)) if ends else None
    shown = []
    for each in _asked(evaluation.report):
        value = report[each.name]
        if value is not None:
            lines = [f"{each.words}; {MEANINGS[each.name].direction}"]
            lines += _interval(each, interval) if interval else []
            lines += [f"{names[1]}: {each.show(other[each.name])}"] if other else []
            said = "".join(f"<dd>{escape(line)}</dd>" for line in lines)
            shown.append(f'<div><dt>{each.title}</dt><dd class="large">{each.show(value)}</dd>{said}</div>')
    return f'<dl class="first">{"".join(shown)}</dl>'


def _asked(report: Report) -> list[_Headline]:
    alarm, shipped = report["alarm"], report["alarm"]["shipped"]
    own = shipped["detection_rate"] is not None or shipped["false_alarm_rate"] is not None
    rates, prefix = (shipped, "alarm/shipped/") if own else (alarm, "alarm/")
    at = "at the model's own threshold" if own else "at 0.5"
    smoke, quiet = report["images"], report["negatives"]
    found, cried = rates["detection_rate"] or 0.0, rates["false_alarm_rate"] or 0.0
    found_of = f"{round(found * smoke):,} of {smoke:,} pictures with smoke, {at}"
    cried_of = f"{round(cried * quiet):,} of {quiet:,} pictures without smoke, {at}"
    return [
        _Headline("Smoke found", f"{prefix}detection_rate", found_of, _percent),
        _Headline("False alarms", f"{prefix}false_alarm_rate", cried_of, _percent),
        _Headline("F-measure", "f_beta/mean", "mean over thresholds, 1 at most"),
        _Headline("Calibration error", "ece/image", "how far confidence is from being right, of pictures"),
    ]


def _interval(each: _Headline, interval: tuple[Figures, Figures]) -> list[str]:
    low, high = (end[each.name] for end in interval)
    if low is None or high is None:
        return []
    if low == high:  # as where nothing was missed: it does not follow that nothing ever will be
        return [f"95 %: {each.show(low)} in all draws of these scenes"]
    return [f"95 %: {each.show(low)} to {each.show(high)}"]


def _percent(value: float | int | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"
