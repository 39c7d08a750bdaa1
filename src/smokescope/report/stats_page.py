"""The page of `smokescope data stats`: a set of pictures in charts, a table, and the pictures at its ends."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from smokescope.data.attributes import GRID, centre_bias
from smokescope.data.statistics import Statistics, summarise
from smokescope.report.axes import Axis, Scale
from smokescope.report.charts import Series, bar_chart, heat_map, histogram, line_chart
from smokescope.report.colours import PROBABILITY, TOTAL, TRANSMISSION, ColourMap
from smokescope.report.page import Strip, charts, page, strip, table


class Shown(NamedTuple):
    """How an attribute is told to people."""

    title: str
    label: str
    log: bool = False
    factor: float = 1.0
    quantity: ColourMap = PROBABILITY


_SHARE = "share of the picture, %"
SHOWN = {
    "size": Shown("Size", f"smoke, {_SHARE}", log=True, factor=100),
    "contrast": Shown("Contrast to the surround", "colour distance, ΔE", log=True),
    "compactness": Shown("Compactness", "4π area / perimeter², disc = 1"),
    "parts": Shown("Disconnected parts", "parts"),
    "off_centre": Shown("Distance from the centre", "centre = 0, corner = 1"),
    "transmission_inside": Shown("Transmission inside the smoke", "clear = 1", quantity=TRANSMISSION),
    "transmission_outside": Shown("Transmission outside", "clear = 1", quantity=TRANSMISSION),
    "confusable": Shown("Confusable, but not smoke", f"bright and grey, {_SHARE}", factor=100),
    "sharpness": Shown("Sharpness", "variance of the Laplacian, grey levels²", log=True, quantity=TOTAL),
    "luminance": Shown("Brightness", "mean luma, white = 1", quantity=TOTAL),
    "blockiness": Shown("Blocks of compression", "jump at block borders / inside", quantity=TOTAL),
    "clipped_bright": Shown("Burnt out", _SHARE, factor=100, quantity=TOTAL),
    "clipped_dark": Shown("Drowned in black", _SHARE, factor=100, quantity=TOTAL),
    "night": Shown("By night", "pictures, %", factor=100, quantity=TOTAL),
}
_COUNTED = ("parts", "night")  # no histograms


def stats_page(title: str, statistics: Statistics, strips: Sequence[Strip], share: float) -> str:
    """Write the page: one file that asks for nothing from outside.

    Args:
        title: The set's name.
        statistics: Its measures.
        strips: Pictures to show.
        share: Share of the pictures with smoke that counts as difficult.
    """
    ranked = statistics.ranking()
    words = (
        f"{len(statistics.rows)} pictures, {len(ranked)} of them with marked smoke. "
        "Terms and formulas are in smokescope's documentation on data."
    )
    sections = [charts("Charts", _charts(statistics, share)), *map(strip, strips), _table(statistics)]
    return page(title, "data stats", words, sections)


def _charts(statistics: Statistics, share: float) -> list[str]:
    drawn = []
    for name, shown in SHOWN.items():
        values = [float(value) for value in statistics.column(name) if value is not None]
        if values and name not in _COUNTED:
            scaled = [value * shown.factor for value in values]
            drawn.append(histogram(shown.title, scaled, shown.label, log=shown.log, quantity=shown.quantity))
        elif values and name == "parts":
            drawn.append(_parts_chart(shown, values))
    bias = centre_bias(statistics.places)
    if bias is not None:
        density = statistics.places / statistics.places.sum() * GRID**2
        words = f"The middle third of width and height has {bias:.2f} times its share of the smoke"
        drawn.insert(4, heat_map(f"Place: centre bias {bias:.2f}", density, "× even", words))
        drawn.insert(0, _difficulty_chart([ranked.score for ranked in statistics.ranking()], share))
    return drawn


def _parts_chart(shown: Shown, values: Sequence[float]) -> str:
    counts = Counter(min(int(value), 6) for value in values)
    bars = [(f"{n}" if n < 6 else "6 or more", counts[n]) for n in range(min(counts), max(counts) + 1)]
    return bar_chart(shown.title, bars, shown.label, "pictures", shown.quantity)


def _difficulty_chart(scores: Sequence[float], share: float) -> str:
    """Scores from the most difficult picture to the easiest, and where the difficult share ends."""
    points = [(100 * (i + 0.5) / len(scores), score) for i, score in enumerate(scores)]
    border = Series(
        f"difficult {100 * share:g} %", [(100 * share, 0.0), (100 * share, 1.0)], TOTAL, dashed=True
    )
    x = Axis("pictures, from the most difficult, %", Scale(0, 100))
    return line_chart("Difficulty", [Series("", points), border], x, Axis("score", Scale(0, 1)))


def _table(statistics: Statistics) -> str:
    rows = []
    for name, shown in SHOWN.items():
        summary = summarise(statistics.column(name))
        figures = (summary.mean, summary.quartile1, summary.median, summary.quartile3)
        cells = ("–" if f is None else f"{f * shown.factor:.3g}" for f in figures)
        label = f"{escape(shown.title)} <small>{escape(shown.label)}</small>"
        rows.append((label, str(summary.count), *cells))
    return table("Table", ("", "pictures", "mean", "25 %", "median", "75 %"), rows)
