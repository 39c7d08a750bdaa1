"""A row of the page of `smokescope predict`: a picture, its maps as layers over it, and what was found."""

import io
import os
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from smokescope.data.inputs import VIDEO_SUFFIXES
from smokescope.data.pictures import read_picture, shrink
from smokescope.data.records import Record
from smokescope.errors import SmokescopeError
from smokescope.report.light import light
from smokescope.report.overlay import VERDICT_COLOURS, outline_around, percent
from smokescope.report.page import picture_address
from smokescope.report.results import QUANTITIES, Result, is_unchanged, read_map

LISTED = 5  # regions of a picture
LEVELS = 64  # of a map's colours: the eye sees no more, and the page is half the size

VERDICTS = {
    "smoke": "Smoke",
    "unsure": "Unsure: a person should look",
    "nothing": "Nothing found",
}

REPLACED = '<p class="replaced">The picture was replaced or removed since: this is the one looked at.</p>'

PEAK, TOTAL, DOUBT = "peak probability", "mean total, nats", "epistemic at peak, nats"  # of a region


class Row(NamedTuple):
    """A row of the page, and what it is sorted by."""

    verdict: str
    highest: float
    """Probability of any pixel, to whole percents as people see it."""
    area: float
    """Share of the picture that the mask covers."""
    html: str


def picture_row(result: Result, out: Path, side: int) -> Row:
    """What was found in a picture, as a row of the page.

    Args:
        result: Result of the picture or video.
        out: The folder of the results, in which the page will lie.
        side: Longest side of the pictures on the page.

    Raises:
        SmokescopeError: A result cannot be read any more.
    """
    file, record = result
    verdict = record.take("verdict").read(str)
    is_video = file.path.suffix.lower() in VIDEO_SUFFIXES
    picture, as_it_is = _shown(result, out, is_video)
    buffer = io.BytesIO()
    Image.fromarray(shrink(picture, side)).save(buffer, "JPEG", quality=82)
    maps = {name: read_map(file, out, name) for name in QUANTITIES}
    layers = [_layer("mask", _tint(shrink(read_map(file, out, "mask"), side)))]
    for name, kind in QUANTITIES.items():
        layers.append(_layer(name, _lights(shrink(maps[name], side), light(kind.colours))))
    highest, area = round(float(maps["probability"].max()) / 255, 2), record.take("share").read(float)
    name = file.name.as_posix()
    mean = record.take("mean")
    data = {
        "verdict": verdict,
        "name": name,
        "highest": f"{highest:.2f}",
        "area": f"{area:.6f}",
        **{key: f"{mean.take(key).read(float):.6f}" for key in ("total", "aleatoric", "epistemic")},
    }
    attributes = "".join(f' data-{key}="{escape(value)}"' for key, value in data.items())
    html = (
        f'<article class="row {escape(verdict)}"{attributes}><div class="view">'
        f'<img alt="{escape(name)}" src="{picture_address("jpeg", buffer.getvalue())}">{"".join(layers)}'
        f'{_outlines(record)}</div><div class="told"><h3>{escape(name)}</h3>'
        f'<span class="badge">{escape(VERDICTS[verdict])}</span>{"" if as_it_is else REPLACED}'
        f"{_facts(record, highest)}{_regions(record)}"
        f"{_files(result, is_video)}</div></article>\n"
    )
    return Row(verdict, highest, area, html)


def _shown(result: Result, out: Path, is_video: bool) -> tuple[NDArray[np.uint8], bool]:
    """The picture that a result is of, and whether it is as it was; else what was found is drawn over it."""
    file, record = result
    if is_video:
        return read_picture(file.result(out, ".frame.jpg")), True
    if is_unchanged(file.path, record):
        with suppress(SmokescopeError):  # it went just now
            return read_picture(file.path), True
    return read_picture(file.result(out, ".overlay.jpg")), False


def _lights(values: NDArray[np.uint8], table: NDArray[np.uint8]) -> bytes:
    """A map as the light that the page adds to the picture."""
    step = 256 // LEVELS
    image = Image.fromarray((values // step * step).astype(np.uint8))
    image.putpalette(table.tobytes())
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _tint(mask: NDArray[np.uint8]) -> bytes:
    image = Image.fromarray((mask > 127).astype(np.uint8))
    image.putpalette([0, 0, 0, *VERDICT_COLOURS["smoke"]])
    buffer = io.BytesIO()
    image.save(buffer, "PNG", transparency=bytes([0, 140]))
    return buffer.getvalue()


def _layer(name: str, png: bytes) -> str:
    return f'<img class="layer {name}" alt="" src="{picture_address("png", png)}">'


def _outlines(record: Record) -> str:
    width, height = (record.take(side).read(int) for side in ("width", "height"))
    shapes = []
    for region in reversed(record.take("regions").items()):
        corners = [(x.read(int), y.read(int)) for x, y in (p.items() for p in region.take("polygon").items())]
        points = " ".join(f"{x},{y}" for x, y in outline_around(corners, (width, height)))
        verdict, peak = region.take("verdict").read(str), region.take("peak").read(float)
        title = f"{verdict} {percent(peak)}"
        shapes.append(
            f'<polygon class="{escape(verdict)}" points="{points}"><title>{title}</title></polygon>'
        )
    return f'<svg viewBox="0 0 {width} {height}" aria-hidden="true">{"".join(shapes)}</svg>'


def _facts(record: Record, highest: float) -> str:
    total, aleatoric, epistemic = (
        f"{key} {_nats(record.take('mean').take(key).read(float))}"
        for key in ("total", "aleatoric", "epistemic")
    )
    facts = {
        "Highest probability": escape(percent(highest)),
        "Mask": f"{_share(record)} of the picture is above {_threshold(record, 'mask')}",
        "Mean uncertainty": f"{total} nats, of the whole picture:<br>{aleatoric} · {epistemic}",
        "Size": f"{record.take('width').read(int)} × {record.take('height').read(int)}",
    }
    if "video" in record.parts():
        video = record.take("video")
        facts["Video"] = (
            f"{video.take('looked_at').read(int)} frames looked at, {video.take('smoke').read(int)} smoke, "
            f"{video.take('unsure').read(int)} unsure; "
            f"the one at {video.take('seconds').read(float):.1f}&nbsp;s is shown"
        )
    return f"<dl>{''.join(f'<dt>{key}</dt><dd>{value}</dd>' for key, value in facts.items())}</dl>"


def _share(part: Record) -> str:
    return f"{100 * part.take('share').read(float):.2f} %"


def _threshold(record: Record, name: str) -> str:
    return f"{record.take('thresholds').take(name).read(float):g}"


def _nats(value: float) -> str:
    """Means over a picture are small, and 0 is none of them."""
    return f"{value:.3f}" if value >= 0.0005 else "&lt; 0.001"


def _regions(record: Record) -> str:
    regions = record.take("regions").items()
    if not regions:
        return ""
    lines = []
    for region in regions[:LISTED]:
        verdict = escape(region.take("verdict").read(str))
        cells = (
            f'<span class="dot {verdict}"></span>{verdict}',
            percent(region.take("peak").read(float)),
            _share(region),
            f"{region.take('total').read(float):.2f}",
            _nats(region.take("doubt").read(float)),
        )
        lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    more = f"<p>and {len(regions) - LISTED} more</p>" if len(regions) > LISTED else ""
    area = f"area above {_threshold(record, 'unsure_above')}"
    head = "".join(f"<th>{title}</th>" for title in ("region", PEAK, area, TOTAL, DOUBT))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _files(result: Result, is_video: bool) -> str:
    endings = {"overlay": ".overlay.jpg", "JSON": ".json", **({"video": ".mp4"} if is_video else {})}
    links = [
        f'<a href="{quote(os.fsencode(result.file.result(Path(), ending).as_posix()))}">{title}</a>'
        for title, ending in endings.items()
    ]
    return f'<p class="files">{" · ".join(links)}</p>'
