"""The page of `smokescope predict`: a row a picture, with its maps to switch and fade over it."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from smokescope.report.light import DIMMED, light
from smokescope.report.overlay import SIGNS
from smokescope.report.page import page
from smokescope.report.predict_row import DOUBT, PEAK, TOTAL, VERDICTS, Row
from smokescope.report.results import QUANTITIES

SIDES = ((200, 640), (1000, 400), (None, 240))  # up to so many rows, a picture's longer side in pixels

TOLD = 20  # failures

SORTS = {
    "verdict": "verdict",
    "highest": "highest probability",
    "area": "area of smoke",
    "total": "total uncertainty",
    "aleatoric": "aleatoric uncertainty",
    "epistemic": "epistemic uncertainty",
    "name": "name",
}


MEANINGS = {
    "highest probability": "the highest of any pixel of the picture",
    "mask": "the pixels whose probability is above the mask's threshold",
    "mean uncertainty": "over the whole picture, most of which is seldom in doubt; aleatoric doubt lies in "
    "the picture, epistemic doubt in the model, and both together are the total",
    "region": "a connected area whose probability is above a threshold of its own; as that is mostly lower "
    "than the mask's, regions together cover more than the mask. Areas are shares of the picture",
    PEAK: "what a region's strongest pixels reach, as many as the smallest region has",
    TOTAL: "over the region, its border included, which is always in doubt",
    DOUBT: "over its strongest pixels alone; with the peak it decides between smoke and unsure",
    "nats": "what uncertainty is counted in: 0 is none, 0.69 is a coin toss",
}


def predict_page(rows: Sequence[Row], words: str, failures: Sequence[str] = ()) -> str:
    """Write the page: one file that asks for nothing from outside.

    Args:
        rows: In any order. Verdicts that matter come first, then high probabilities, then large areas; the
            page keeps that order among equals, whatever else it is sorted by.
        words: When it was made, and by what.
        failures: A sentence on each picture that nothing can be said of.
    """
    counts = Counter(row.verdict for row in rows)
    told = ", ".join(f"{counts[name]} {name}" for name in VERDICTS)
    pictures = "1 picture" if len(rows) == 1 else f"{len(rows):,} pictures"
    rank = [*VERDICTS].index
    ordered = sorted(rows, key=lambda row: (rank(row.verdict), -row.highest, -row.area))
    shown = "".join(row.html for row in ordered)
    return page(
        f"{pictures}: {told}" + (f"; {len(failures)} failed" if failures else ""),
        "predict",
        f"{words}. Finding nothing does not mean that there is nothing.",
        [
            _failed(failures),
            _bar(counts),
            _meanings(),
            f'<main class="rows">{shown}</main>',
        ],
        _asset("predict.css") + _layer_style(),
        _asset("predict.js"),
    )


def picture_side(count: int) -> int:
    """Longer side of the pictures on a page of so many, in pixels: a page must still open."""
    return next(side for most, side in SIDES if most is None or count <= most)


def _failed(failures: Sequence[str]) -> str:
    """What could not be looked at, above all else: a camera without pictures is not a quiet one."""
    if not failures:
        return ""
    told = "".join(f"<li>{escape(each)}</li>" for each in failures[:TOLD])
    more = f"<li>and {len(failures) - TOLD} more</li>" if len(failures) > TOLD else ""
    return f'<section class="failed"><h2>{len(failures)} not looked at</h2><ul>{told}{more}</ul></section>'


def _bar(counts: Counter[str]) -> str:
    maps = {"mask": "Mask", **{name: kind.title for name, kind in QUANTITIES.items()}, "none": "Picture only"}
    picks = "".join(
        f'<label><input type="radio" name="map" value="{name}"{" checked" if name == "mask" else ""}>'
        f"{escape(title)}</label>"
        for name, title in maps.items()
    )
    shown = "".join(
        f'<label><input type="checkbox" name="verdict" value="{name}" checked>{name} {counts[name]}</label>'
        for name in VERDICTS
    )
    sorts = "".join(f'<option value="{key}">{escape(title)}</option>' for key, title in SORTS.items())
    scales = "".join(
        f'<span class="scale {name}">0 <i></i> {kind.top:.2g} &nbsp; {escape(kind.meaning)}</span>'
        for name, kind in QUANTITIES.items()
    )
    return (
        '<form class="bar" aria-label="View"><fieldset class="pick"><legend>Over it</legend>'
        f"{picks}</fieldset>"
        '<label>picture <input type="range" name="fade" min="0" max="100" value="75" aria-label="Fade">'
        " map</label>"
        '<label><input type="checkbox" name="regions" checked> Outlines</label>'
        f'<label>Sort by <select name="sort">{sorts}</select></label>'
        f'<fieldset class="pick"><legend>Show</legend>{shown}</fieldset>{scales}</form>'
    )


def _meanings() -> str:
    told = "".join(f"<dt>{escape(name)}</dt><dd>{escape(meaning)}</dd>" for name, meaning in MEANINGS.items())
    return f'<details class="meanings"><summary>What the numbers mean</summary><dl>{told}</dl></details>'


def _layer_style() -> str:
    """Which layer and legend are seen, how maps lie over the picture (as `light.lit` does), and badges."""
    left = f"calc(1 - {1 - DIMMED:g} * var(--fade))"
    rules = ["body:not([data-map]) .layer.mask { opacity: var(--fade); }"]
    for name in ("mask", *QUANTITIES):
        rules.append(f'[data-map="{name}"] .layer.{name} {{ opacity: var(--fade); }}')
    for name, kind in QUANTITIES.items():
        stops = ", ".join(f"rgb({r} {g} {b})" for r, g, b in light(kind.colours)[::15].tolist())
        rules.append(
            f'[data-map="{name}"] .view img:first-child '
            f"{{ filter: grayscale(var(--fade)) brightness({left}); }}\n"
            f".layer.{name} {{ mix-blend-mode: screen; }}\n"
            f'[data-map="{name}"] .scale.{name} {{ display: flex; }}\n'
            f".scale.{name} i::before {{ background-image: linear-gradient(90deg, {stops}); }}"
        )
    rules.append(f".scale i {{ --left: {left}; }}")
    for verdict, (ground, ink) in SIGNS.items():
        colours = f"background: #{bytes(ground).hex()}; color: #{bytes(ink).hex()};"
        rules.append(f".{verdict} > .told .badge {{ {colours} }}")
    return "\n".join(rules) + "\n"


def _asset(name: str) -> str:
    return (files("smokescope.report") / "assets" / name).read_text("utf-8")
