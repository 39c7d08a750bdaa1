"""Small charts as SVG text, without a plotting library: histogram, bars, lines and a map of places.

histogram("Size", [0.1, 0.3, 2.0], "share of the picture, %", log=True)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smokescope.data.pictures import encode_png
from smokescope.report.axes import (
    BOTTOM,
    LEFT,
    LETTER,
    NOTE,
    RIGHT,
    TOP,
    Axis,
    Frame,
    Scale,
    covering,
    rule,
    text,
)
from smokescope.report.colours import PROBABILITY, ColourMap
from smokescope.report.page import picture_address

BINS = 24
MOST = 400  # points of a line: about one for each pixel that it is wide
MIDDLE = 0.55  # of a colour map: neither lost on white paper nor on black


def colour_of(quantity: ColourMap) -> str:
    """The one colour that stands for a quantity in charts, from the middle of its map: "#rrggbb"."""
    red, green, blue = quantity.table[round(MIDDLE * 255)]
    return f"#{red:02x}{green:02x}{blue:02x}"


def histogram(
    title: str, values: Sequence[float], label: str, *, log: bool = False, quantity: ColourMap = PROBABILITY
) -> str:
    """How often values occur, with their median marked.

    Args:
        title: Above the chart.
        values: Finite numbers. On a logarithmic axis those at or below 0 are left out, and the label says so.
        label: What the values are, and their unit.
        log: Bins of equal ratios on a logarithmic axis.
        quantity: Whose colour to use.
    """
    shown = [v for v in values if v > 0] if log else list(values)
    if len(shown) < len(values):
        label += f" ({len(values) - len(shown)} at 0 left out)"
    if not shown:
        return _nothing(title, label)
    scale = covering(shown, log=log)
    shares = np.clip([scale.share(value) for value in shown], 0.0, 1.0)
    counts = np.histogram(shares, BINS, (0.0, 1.0))[0]
    frame = Frame(Axis(label, scale), _counting("pictures", [int(counts.max())]))
    edges = [scale.value(i / BINS) for i in range(BINS + 1)]
    bars = [
        _bar(frame, edges[i], edges[i + 1], int(n), colour_of(quantity)) for i, n in enumerate(counts) if n
    ]
    median = float(np.median(shown))
    x, _ = frame.at(median, 0)
    figure = f"{median:.3g}" if abs(median) < 1000 else f"{median:.0f}"
    words = text(x, NOTE, f"median {figure}", anchor=_inwards(x))
    described = f"{len(shown)} values of {label}, from {min(shown):.3g} to {max(shown):.3g}, median {figure}"
    return frame.svg(title, described, [*bars, rule(x, TOP - 3, x, BOTTOM, 0.8), words])


def bar_chart(
    title: str,
    bars: Sequence[tuple[str, int]],
    x_label: str,
    y_label: str,
    quantity: ColourMap = PROBABILITY,
) -> str:
    """One bar for each name: how many there are."""
    if not bars:
        return _nothing(title, x_label)
    places = [float(i) for i in range(len(bars))]
    x = Axis(x_label, Scale(-0.6, len(bars) - 0.4), places, [name for name, _ in bars])
    frame = Frame(x, _counting(y_label, [count for _, count in bars]))
    drawn = [_bar(frame, i - 0.4, i + 0.4, count, colour_of(quantity)) for i, (_, count) in enumerate(bars)]
    return frame.svg(title, ", ".join(f"{name}: {count}" for name, count in bars), drawn)


class Series(NamedTuple):
    """A line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]
    quantity: ColourMap = PROBABILITY
    dashed: bool = False
    marked: bool = False
    """Whether there is a dot at each point: for few points, of which one alone would make no line."""


def thin(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """A long line in at most `MOST` points, each the mean of some neighbours; a short one as it is."""
    size = -(-len(points) // MOST)
    groups = (np.mean(points[i : i + size], axis=0) for i in range(0, len(points), size or 1))
    return [(float(x), float(y)) for x, y in groups]


def line_chart(title: str, series: Sequence[Series], x: Axis, y: Axis, under: Sequence[str] = ()) -> str:
    """Lines over shared axes, and above them what each is called, beside a piece of it.

    Args:
        title: Above the chart.
        series: The lines. One without points is not drawn, one without a name not named.
        x: The lower axis.
        y: The upright axis.
        under: SVG to draw before the lines.
    """
    frame = Frame(x, y)
    drawn = list(under)
    for one in series:
        points = [frame.at(*point) for point in one.points]
        if not points:
            continue
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        drawn.append(f'<polyline points="{path}" fill="none" {_stroke(one)}/>')
        if one.marked:
            dot = f'r="2.6" fill="{colour_of(one.quantity)}"'
            drawn += [f'<circle cx="{px:.1f}" cy="{py:.1f}" {dot}/>' for px, py in points]
    named = [one for one in series if one.name and one.points]
    drawn += _names(named)
    words = ", ".join(one.name for one in named)
    return frame.svg(title, f"{y.label} over {x.label}" + (f": {words}" if words else ""), drawn)


def _stroke(like: Series) -> str:
    dash = ' stroke-dasharray="4 3"' if like.dashed else ""
    return f'stroke="{colour_of(like.quantity)}" stroke-width="2" stroke-linejoin="round"{dash}'


def _names(series: Sequence[Series]) -> list[str]:
    """The legend, at the right: titles begin at the left."""
    drawn, x, y = [], float(RIGHT), NOTE - 3.5
    for one in reversed(series):
        x -= len(one.name) * LETTER
        drawn.append(text(x, NOTE, one.name))
        drawn.append(f'<line x1="{x - 22:.1f}" y1="{y}" x2="{x - 4:.1f}" y2="{y}" {_stroke(one)}/>')
        x -= 30
    return drawn


def heat_map(title: str, cells: NDArray[np.floating], unit: str, description: str) -> str:
    """A map of the picture's area, from 0 to its largest value, with a bar that says which colour is what.

    Args:
        title: Above the map.
        cells: H x W values of at least 0, as they lie in the picture.
        unit: What the values are.
        description: Read aloud to who cannot see it.
    """
    top = float(cells.max()) or 1.0
    thirds, names = [0, 1 / 3, 2 / 3, 1], ["0", "⅓", "⅔", "1"]
    bar = RIGHT - 64
    frame = Frame(
        Axis("left to right", Scale(0, 1), thirds, names),
        Axis("top to bottom", Scale(1, 0), thirds, names),
        right=bar - 14,
    )
    ramp = np.linspace(1.0, 0.0, 64)[:, None]
    drawn = [
        _image(PROBABILITY.apply(cells / top), frame.left, frame.right - frame.left),
        _image(PROBABILITY.apply(ramp), bar, 10),
        text(bar + 14, TOP + 8, f"{top:.2g}"),
        text(bar + 14, BOTTOM, "0"),
        text(RIGHT, TOP - 6, unit, anchor="end"),
    ]
    return frame.svg(title, description, drawn)


def _inwards(x: float) -> str:
    """The anchor of words at a place, so that they stay on the drawing."""
    return "end" if x > (LEFT + RIGHT) / 2 else "start"


def _counting(label: str, counts: Sequence[int]) -> Axis:
    return Axis(label, covering(counts, zero=True, whole=True))


def _bar(frame: Frame, left: float, right: float, height: float, colour: str) -> str:
    (x1, y1), (x2, y2) = frame.at(left, height), frame.at(right, 0)
    width, tall = x2 - x1 - 0.6, y2 - y1
    return f'<rect x="{x1:.1f}" y="{y1:.1f}" width="{width:.1f}" height="{tall:.1f}" fill="{colour}"/>'


def _image(pixels: NDArray[np.uint8], x: float, width: float) -> str:
    return (
        f'<image x="{x:g}" y="{TOP}" width="{width:g}" height="{BOTTOM - TOP}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="{picture_address("png", encode_png(pixels))}"/>'
    )


def _nothing(title: str, label: str) -> str:
    frame = Frame(Axis(label, Scale(0, 1), []), Axis("", Scale(0, 1), []))
    middle = text((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2, "nothing to show", anchor="middle", size=12)
    return frame.svg(title, f"no values of {label}", [middle])
