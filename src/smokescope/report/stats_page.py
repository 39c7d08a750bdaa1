"""The page of `smokescope data stats`: a set of pictures in charts, a table, and the pictures at its ends."""

import base64
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from smokescope.data.attributes import GRID, centre_bias
from smokescope.data.statistics import Statistics, summarise
from smokescope.report.axes import Axis, Scale
from smokescope.report.charts import Series, bar_chart, heat_map, histogram, line_chart
from smokescope.report.colours import PROBABILITY, TOTAL, TRANSMISSION, ColourMap
from smokescope.report.thumbnails import thumbnail

THUMBNAIL = 240  # pixels of the longer side


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

_STYLE = """
:root { color-scheme: light dark; --ink: #202020; --faint: #606060; --paper: #fff; --card: #f5f5f3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e6; --faint: #a0a09c; --paper: #161618; --card: #222225; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 84rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2.5rem 0 .75rem; font-size: 1.15rem; }
p { margin: .3rem 0; max-width: 48rem; color: var(--faint); }
.charts { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); }
.charts svg { width: 100%; height: auto; padding: .5rem; border-radius: .5rem; background: var(--card); }
.strip { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); }
figure { margin: 0; } img { width: 100%; height: auto; border-radius: .25rem; display: block; }
figcaption { color: var(--faint); font-size: .75rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; text-align: left; } td small { color: var(--faint); }
"""


class Thumbnail(NamedTuple):
    """A picture of a strip."""

    caption: str
    jpeg: bytes


class Strip(NamedTuple):
    """Pictures under a title."""

    title: str
    words: str
    pictures: Sequence[Thumbnail]


def as_thumbnail(caption: str, picture: NDArray[np.uint8], mask: NDArray[np.float32]) -> Thumbnail:
    """A small JPEG of a picture, the smoke (mask above 0.5) outlined."""
    small = thumbnail(picture, mask > 0.5, (THUMBNAIL, THUMBNAIL))
    _, data = cv2.imencode(".jpg", small[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 85])
    return Thumbnail(caption, data.tobytes())


def stats_page(title: str, statistics: Statistics, strips: Sequence[Strip], share: float) -> str:
    """Write the page: one file that asks for nothing from outside.

    Args:
        title: The set's name.
        statistics: Its measures.
        strips: Pictures to show.
        share: Of the pictures with smoke, how many count as difficult.
    """
    ranked = statistics.ranking()
    sections = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{len(statistics.rows)} pictures, {len(ranked)} of them with marked smoke. "
        "Terms and formulas are in smokescope's documentation on data.</p>",
        f'<h2>Charts</h2><div class="charts">{"".join(_charts(statistics, share))}</div>',
    ]
    for strip in strips:
        figures = "".join(map(_figure, strip.pictures))
        sections.append(
            f'<h2>{escape(strip.title)}</h2><p>{escape(strip.words)}</p><div class="strip">{figures}</div>'
        )
    sections.append(f'<h2>Table</h2><div class="scroll">{_table(statistics)}</div>')
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} – smokescope data stats</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(sections)}\n</body></html>\n"
    )


def _charts(statistics: Statistics, share: float) -> list[str]:
    charts = []
    for name, shown in SHOWN.items():
        values = [float(value) for value in statistics.column(name) if value is not None]
        if values and name not in _COUNTED:
            scaled = [value * shown.factor for value in values]
            charts.append(histogram(shown.title, scaled, shown.label, log=shown.log, quantity=shown.quantity))
        elif values and name == "parts":
            charts.append(_parts_chart(shown, values))
    bias = centre_bias(statistics.places)
    if bias is not None:
        density = statistics.places / statistics.places.sum() * GRID**2
        words = f"The middle third of width and height has {bias:.2f} times its share of the smoke"
        charts.insert(4, heat_map(f"Place: centre bias {bias:.2f}", density, "× even", words))
        charts.insert(0, _difficulty_chart([ranked.score for ranked in statistics.ranking()], share))
    return charts


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


def _figure(shown: Thumbnail) -> str:
    data = base64.b64encode(shown.jpeg).decode()
    caption = escape(shown.caption)
    return (
        f'<figure><img alt="" src="data:image/jpeg;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )


def _table(statistics: Statistics) -> str:
    head = "".join(f"<th>{word}</th>" for word in ("", "pictures", "mean", "25 %", "median", "75 %"))
    rows = []
    for name, shown in SHOWN.items():
        summary = summarise(statistics.column(name))
        figures = (summary.mean, summary.quartile1, summary.median, summary.quartile3)
        cells = "".join("<td>–</td>" if f is None else f"<td>{f * shown.factor:.3g}</td>" for f in figures)
        label = f"{escape(shown.title)} <small>{escape(shown.label)}</small>"
        rows.append(f"<tr><td>{label}</td><td>{summary.count}</td>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
