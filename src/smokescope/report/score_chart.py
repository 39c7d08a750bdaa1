"""The alarm's scores, of pictures with smoke and without, over an axis that is the same for every model.

Scores of quiet pictures lie at 1e-7 or at 1e-2 and are harmless either way: an axis that fits them makes a
finding of their spread, and hides how far they are from an alarm.
"""

import math
from collections.abc import Sequence

from smokescope.metrics.base import DECISION
from smokescope.report.axes import BOTTOM, LETTER, NOTE, RIGHT, TOP, Axis, Frame, Scale, covering, rule, text
from smokescope.report.charts import colour_of
from smokescope.report.colours import PROBABILITY

BINS = 20  # of a factor of two each, the first with all that is less: DECISION is where the last one begins
LOWEST = 2.0**-BINS  # about 1e-6

_TICKS = {
    1e-6: "≤ 1e-6",
    1e-5: "1e-5",
    1e-4: "1e-4",
    1e-3: "0.001",
    1e-2: "0.01",
    0.1: "0.1",
    DECISION: "0.5",
}


def score_chart(quiet: Sequence[float], smoky: Sequence[float]) -> str:
    """Draw how scores are spread, either kind of pictures as shares of its own number.

    Args:
        quiet: Scores of the pictures without smoke.
        smoky: Those of the pictures with smoke; may be empty.
    """
    kinds = [("without smoke", "currentColor", quiet), ("with smoke", colour_of(PROBABILITY), smoky)]
    shown = [(name, colour, count_scores(scores)) for name, colour, scores in kinds if scores]
    tallest = max((100 * max(counts) / sum(counts) for _, _, counts in shown), default=1.0)
    label = f"alarm's score, log scale; above {DECISION:g} is an alarm"
    frame = Frame(
        Axis(label, Scale(LOWEST, 1.0, log=True), list(_TICKS), list(_TICKS.values())),
        Axis("pictures of each kind, %", covering([tallest], zero=True)),
    )
    drawn = []
    for place, (_, colour, counts) in enumerate(shown):
        for number, count in enumerate(counts):
            if count:
                drawn.append(_bar(frame, number, place, len(shown), 100 * count / sum(counts), colour))
    border, _ = frame.at(DECISION, 0)
    x = float(RIGHT)
    for name, colour, _ in reversed(shown):
        x -= len(name) * LETTER
        drawn += [text(x, NOTE, name), f'<rect x="{x - 13:.1f}" y="{NOTE - 8}" {_SWATCH} {_fill(colour)}/>']
        x -= 26
    described = "; ".join(f"{sum(c)} {name}, {100 * c[-1] / sum(c):.3g} % alarms" for name, _, c in shown)
    return frame.svg("Scores", described, [*drawn, rule(border, TOP - 3, border, BOTTOM, 0.8)])


def count_scores(scores: Sequence[float]) -> list[int]:
    """How many lie in each bin; a score is in the last one if, and only if, it makes an alarm."""
    counts = [0] * BINS
    for score in scores:
        exponent = math.log2(score) if score > 0 else -math.inf
        counts[max(0, BINS - 1 + math.ceil(exponent)) if exponent > -BINS else 0] += 1
    return counts


_SWATCH = 'width="9" height="9"'


def _bar(frame: Frame, number: int, place: int, places: int, share: float, colour: str) -> str:
    """A bin's bar of one kind, beside those of the others."""
    left, _ = frame.at(LOWEST * 2.0**number, 0)
    right, floor = frame.at(LOWEST * 2.0 ** (number + 1), 0)
    _, top = frame.at(1.0, share)
    width = (right - left - 1) / places
    return (
        f'<rect x="{left + 0.5 + place * width:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{floor - top:.1f}" {_fill(colour)}/>'
    )


def _fill(colour: str) -> str:
    return f'fill="{colour}"' + (' fill-opacity="0.5"' if colour == "currentColor" else "")
