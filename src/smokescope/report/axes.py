"""The ground that charts stand on: scales with readable ticks, and a frame with labelled axes, as SVG.

An SVG here names no size, only its proportions: on a page it fills its box and its text grows with it. What
is not a quantity's own colour is `currentColor`, so that a chart reads in light and in dark.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

WIDTH, HEIGHT = 360, 238
LEFT, RIGHT, TOP, BOTTOM = 56, 340, 38, 196  # of the area that is drawn on; five digits fit beside each end
LETTER = 6.4  # how wide one of the axes' is at most, by the digits of a wide font
LABEL = 17  # up to where the upright axis' label reaches
GAP = 6  # between an upright axis and its numbers
TICKS = 5  # of an axis, about
NOTE = TOP - 5  # the line for a word about the marks: below the title, above whatever is drawn


@dataclass(frozen=True)
class Scale:
    """A range of values, evenly or logarithmically spread.

    Attributes:
        low: The first value, above 0 where the scale is logarithmic.
        high: The last value.
        log: Whether equal ratios, not differences, take equal lengths.
        whole: Whether it counts things, of which there are no halves: its ticks are whole numbers.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def share(self, value: float) -> float:
        """How far along the scale a value lies: 0 at its low end, 1 at its high end."""
        low, high = self._straight(self.low), self._straight(self.high)
        return (self._straight(value) - low) / (high - low)

    def value(self, share: float) -> float:
        """The value that lies a share of the way along the scale."""
        low, high = self._straight(self.low), self._straight(self.high)
        straight = low + share * (high - low)
        return 10.0**straight if self.log else straight

    def ticks(self) -> list[float]:
        """About `TICKS` round values on the scale: of 1, 2 or 5 times a power of ten."""
        if not self.log:
            step = _round_step((self.high - self.low) / TICKS, self.whole)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [_clean(i * step) for i in range(first, last + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        # up to two decades; over more, the powers of ten are ticks enough
        mantissas = (1, 2, 5) if self.high <= 100.0001 * self.low else (1,)
        every = max(1, len(decades) // TICKS)
        ticks = [_clean(m * 10.0**d) for d in decades[::every] for m in mantissas]
        return [t for t in ticks if -1e-9 <= self.share(t) <= 1 + 1e-9]

    def _straight(self, value: float) -> float:
        return math.log10(value) if self.log else value


def covering(values: Sequence[float], *, log: bool = False, zero: bool = False, whole: bool = False) -> Scale:
    """A scale over all values, widened to round ends.

    Args:
        values: At least one, finite, and above 0 for a logarithmic scale.
        log: Make it logarithmic; it ends at 1, 2 or 5 times a power of ten.
        zero: Begin (or end) an even scale at 0.
        whole: The values of an even scale are counts.
    """
    low, high = min(values), max(values)
    if log:
        return Scale(_round_down(low), _round_up(high if high > low else 2 * high), log=True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if math.isclose(low, high, rel_tol=1e-6):  # no numbers beside an axis would tell them apart
        low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
        low = 0.0 if zero else low
    step = _round_step((high - low) / TICKS, whole)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(_clean(first * step), _clean(last * step), whole=whole)


@dataclass(frozen=True)
class Axis:
    """A scale with words.

    Attributes:
        label: What it measures, and in which unit.
        scale: Its values.
        ticks: The values to mark; the scale's own if None.
        names: Words for the ticks; the numbers themselves if None.
    """

    label: str
    scale: Scale
    ticks: Sequence[float] | None = None
    names: Sequence[str] | None = None

    def marks(self) -> list[tuple[float, str]]:
        """Each tick and what is written at it."""
        ticks = self.scale.ticks() if self.ticks is None else self.ticks
        names = [f"{tick:.6g}" for tick in ticks] if self.names is None else self.names
        return list(zip(ticks, names, strict=True))


@dataclass(frozen=True)
class Frame:
    """Two axes, and where values lie between them; `right` leaves room for a legend beside them.

    At the left is room for the upright axis' label and its longest number: `LEFT`, or more.
    """

    x: Axis
    y: Axis
    right: float = RIGHT

    @cached_property
    def left(self) -> float:
        """Where the area that is drawn on begins."""
        longest = max((len(name) for _, name in self.y.marks()), default=0)
        return max(LEFT, LABEL + longest * LETTER + GAP)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The point of the drawing for a pair of values."""
        across, up = self.x.scale.share(x), self.y.scale.share(y)
        return self.left + across * (self.right - self.left), BOTTOM - up * (BOTTOM - TOP)

    def svg(self, title: str, description: str, marks: Sequence[str]) -> str:
        """A whole drawing: the grid, the marks over it, and the words; `description` is read aloud."""
        drawn = [*self._axes(), *marks, text(LEFT, 17, title, size=13, weight="600")]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'font-family="system-ui, sans-serif" fill="currentColor">'
            f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(drawn)}</svg>"
        )

    def _axes(self) -> list[str]:
        drawn = []
        taken = -math.inf  # up to where words are written
        for value, name in self.x.marks():
            x = self.left + self.x.scale.share(value) * (self.right - self.left)
            drawn.append(rule(x, BOTTOM, x, BOTTOM + 4, 0.6))
            half = len(name) * LETTER / 2
            if x - half > taken:  # or it would run into the one before
                drawn.append(text(x, BOTTOM + 16, name, anchor="middle"))
                taken = x + half + 3
        for value, name in self.y.marks():
            y = BOTTOM - self.y.scale.share(value) * (BOTTOM - TOP)
            drawn.append(rule(self.left, y, self.right, y, 0.15))
            drawn.append(text(self.left - GAP, y + 3.5, name, anchor="end"))
        middle = (TOP + BOTTOM) / 2
        return [
            *drawn,
            rule(self.left, BOTTOM, self.right, BOTTOM, 0.6),
            text((self.left + self.right) / 2, BOTTOM + 34, self.x.label, anchor="middle", size=11),
            f'<g transform="rotate(-90 12 {middle:g})">'
            + text(12, middle, self.y.label, anchor="middle", size=11)
            + "</g>",
        ]


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 10, weight: str = "400"
) -> str:
    """Words at a point: `anchor` start, middle or end."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}">'
        f"{escape(words)}</text>"
    )


def rule(x1: float, y1: float, x2: float, y2: float, opacity: float) -> str:
    """A thin straight line."""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="currentColor" stroke-opacity="{opacity}"/>'


def _round_step(step: float, whole: bool) -> float:
    """The nearest of 1, 2, 5 and 10 times the power of ten below; if `whole`, at least 1."""
    step = max(step, 1.0) if whole else step
    power = 10.0 ** math.floor(math.log10(step) + 1e-9)
    return next(
        (m * power for m, limit in ((1, 1.5), (2, 3.5), (5, 7.5)) if step < limit * power), 10 * power
    )


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return _clean(next((m * power for m in (1, 2, 5) if value <= m * power * (1 + 1e-9)), 10 * power))


def _round_down(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value) + 1e-9)
    return _clean(next(m * power for m in (5, 2, 1) if value >= m * power * (1 - 1e-9)))


def _clean(value: float) -> float:
    return float(f"{value:.12g}")
