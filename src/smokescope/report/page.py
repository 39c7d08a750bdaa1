"""The frame of every page: one style, and the parts that pages are put together from.

A page is one file that asks for nothing from outside. It reads in light and in dark, on paper and on a phone.
"""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from smokescope.report.thumbnails import thumbnail

THUMBNAIL = 240  # pixels of the longer side

_STYLE = """
:root { color-scheme: light dark; --ink: #202020; --faint: #606060; --paper: #fff; --card: #f5f5f3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e6; --faint: #a0a09c; --paper: #161618; --card: #222225; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 84rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2.5rem 0 .75rem; font-size: 1.15rem; }
h1, h2, p { overflow-wrap: anywhere; } pre { overflow-x: auto; }
p { margin: .3rem 0; max-width: 48rem; color: var(--faint); }
.charts { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); }
.charts svg { width: 100%; height: auto; padding: .5rem; border-radius: .5rem; background: var(--card); }
.strip { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); }
figure { margin: 0; } img { width: 100%; height: auto; border-radius: .25rem; display: block; }
figcaption { color: var(--faint); font-size: .75rem; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap; }
th:first-child, td:first-child { padding-left: 0; text-align: left; }
td small { color: var(--faint); white-space: normal; }
thead th { white-space: normal; vertical-align: bottom; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.5rem; margin: 0; }
.facts dt { color: var(--faint); } .facts dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 48rem) {
  table { font-size: .875rem; } th, td { padding: .3rem; }
  th:first-child, td:first-child { white-space: normal; }
  .facts { display: block; } .facts dd { margin-bottom: .5rem; }
}
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


def page(
    title: str, verb: str, words: str, sections: Sequence[str], style: str = "", script: str = ""
) -> str:
    """A whole page.

    Args:
        title: Its heading: what it is about.
        verb: What made it, as in "data stats".
        words: Below the heading.
        sections: As made by the functions below.
        style: More CSS, for what only this page has.
        script: JavaScript that is run at the end.
    """
    end = f"<script>{script}</script>\n" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} – smokescope {escape(verb)}</title><style>{_STYLE}{style}</style></head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n<p>{escape(words)}</p>\n{chr(10).join(sections)}\n"
        f"{end}</body></html>\n"
    )


def encode_page(whole: str) -> bytes:
    """Bytes of the page's file; what is no text in a name is spelled out, as a browser would refuse it."""
    return whole.encode("utf-8", "backslashreplace")


def section(title: str, words: str, body: str = "") -> str:
    """Words, and whatever HTML goes with them, under a title."""
    said = f"<p>{escape(words)}</p>" if words else ""
    return f"<h2>{escape(title)}</h2>{said}{body}"


def charts(title: str, drawings: Sequence[str], words: str = "") -> str:
    """SVG drawings side by side, under a title."""
    return section(title, words, f'<div class="charts">{"".join(drawings)}</div>')


def strip(shown: Strip) -> str:
    """Small pictures side by side, under a title."""
    figures = "".join(map(_figure, shown.pictures))
    return section(shown.title, shown.words, f'<div class="strip">{figures}</div>')


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], words: str = "") -> str:
    """A table under a title; the cells are HTML, so that they may hold more than words."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    whole = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return section(title, words, f'<div class="scroll">{whole}</div>')


def facts(title: str, said: Mapping[str, str]) -> str:
    """What is to be known about something, by names, under a title."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(words)}</dd>" for name, words in said.items())
    return section(title, "", f'<dl class="facts">{lines}</dl>')


def picture_address(kind: str, data: bytes) -> str:
    """A picture, "jpeg" or "png", as an address that holds all of it."""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


def _figure(shown: Thumbnail) -> str:
    image = f'<img alt="" src="{picture_address("jpeg", shown.jpeg)}">'
    return f"<figure>{image}<figcaption>{escape(shown.caption)}</figcaption></figure>"
