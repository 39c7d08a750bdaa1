"""Reliability diagram: what was said with a confidence, and how often it came true."""

from collections.abc import Sequence

from smokescope.report.axes import Axis, Frame, Scale
from smokescope.report.charts import Series, line_chart
from smokescope.report.colours import PROBABILITY, TOTAL


def reliability_chart(
    title: str,
    count: Sequence[int],
    confidence: Sequence[float | None],
    frequency: Sequence[float | None],
    x_label: str = "probability that was given",
    y_label: str = "how often it came true",
) -> str:
    """Draw equal bins of [0, 1] beside the diagonal of an honest model; bars show each bin's share of pixels.

    Args:
        title: Above the chart.
        count: Pixels in each bin.
        confidence: Their mean confidence; where there are no pixels, anything.
        frequency: The share of them for which it came true, likewise.
        x_label: What the confidence is of.
        y_label: What the frequency is of.
    """
    x, y = Axis(x_label, Scale(0, 1)), Axis(y_label, Scale(0, 1))
    triples = zip(count, confidence, frequency, strict=True)
    points = [(said, seen) for n, said, seen in triples if n and said is not None and seen is not None]
    lines = [
        Series("honest", [(0, 0), (1, 1)], TOTAL, dashed=True),
        Series("this model", points, PROBABILITY, marked=True),
    ]
    return line_chart(title, lines, x, y, _shares(Frame(x, y), count))


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
