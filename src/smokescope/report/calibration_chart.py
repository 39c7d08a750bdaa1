"""Reliability diagram: what was said with a confidence, and how often it came true."""

from collections.abc import Sequence
from typing import NamedTuple

from smokescope.report.axes import Axis, Frame, Scale
from smokescope.report.charts import Series, line_chart
from smokescope.report.colours import PROBABILITY, TOTAL

NAME = 14  # letters of a model's name that there is room for


class Words(NamedTuple):
    """Around a chart."""

    title: str
    said: str
    """What the confidence is of."""
    seen: str
    """What the frequency is of."""


SMOKE = Words("Smoke's probability", "probability of smoke", "share that is smoke")
TOP_LABEL = Words("The answer's confidence", "confidence, smoke or not", "share that is right")


def reliability_chart(
    words: Words,
    count: Sequence[int],
    confidence: Sequence[float | None],
    frequency: Sequence[float | None],
    model: str = "this model",
) -> str:
    """Draw equal bins of [0, 1] beside the diagonal of perfect calibration, over each bin's share of pixels.

    Args:
        words: Around the chart.
        count: Pixels in each bin.
        confidence: Their mean confidence; where there are no pixels, anything.
        frequency: The share of them for which it came true, likewise.
        model: Its name; what does not fit beside the other line's is left out.
    """
    x, y = Axis(f"{words.said}; grey: share of pixels", Scale(0, 1)), Axis(words.seen, Scale(0, 1))
    triples = zip(count, confidence, frequency, strict=True)
    points = [(said, seen) for n, said, seen in triples if n and said is not None and seen is not None]
    lines = [
        Series("perfectly calibrated", [(0, 0), (1, 1)], TOTAL, dashed=True),
        Series(model if len(model) <= NAME else f"{model[: NAME - 1]}…", points, PROBABILITY, marked=True),
    ]
    return line_chart(words.title, lines, x, y, _shares(Frame(x, y), count))


def _shares(frame: Frame, count: Sequence[int]) -> list[str]:
    total = sum(count)
    drawn = []
    for i, pixels in enumerate(count):
        if pixels:
            (x1, y1), (x2, y2) = frame.at(i / len(count), pixels / total), frame.at((i + 1) / len(count), 0)
            drawn.append(
                f'<rect x="{x1 + 1:.1f}" y="{y1:.1f}" width="{x2 - x1 - 2:.1f}" height="{y2 - y1:.1f}" '
                'fill="currentColor" fill-opacity="0.15"/>'
            )
    return drawn
