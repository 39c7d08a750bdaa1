"""Draw the pictures of README.md and docs/model-card.md: what the shipped model makes of the examples.

    python -m benchmarks.docs_pictures [PHOTOGRAPHS]

With the folder of `benchmarks.outdoor_photos`, also what it makes of some pictures without smoke. Run it
whenever the model changes.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from smokescope import load
from smokescope.data.masks import read_mask
from smokescope.data.pictures import read_picture
from smokescope.inference import Prediction
from smokescope.inference.segmenter import Segmenter
from smokescope.report.colours import ALEATORIC, EPISTEMIC, TOTAL, ColourMap
from smokescope.report.light import lit
from smokescope.report.overlay import draw_overlay
from smokescope.uncertainty import LN2

Pixels = NDArray[np.uint8]

ROOT = Path(__file__).parents[1]
EXAMPLES, IMAGES = ROOT / "examples", ROOT / "docs" / "images"
WIDTH = 660  # of each panel
SHOWN = "plant_puff"
AROUND = 2.4, 1.4  # of a region's width and height, shown on each side of it
BY_HAND = (60, 220, 60)
ELSEWHERE = ("forest0", "canyon9", "valley3", "snow0", "desert4", "fog0")  # in the public domain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photographs", type=Path, nargs="?")
    photographs = parser.parse_args().photographs
    segmenter = load(device="cpu")
    rows = []
    for path in sorted((EXAMPLES / "img").glob("*.jpg")):
        picture = read_picture(path)
        prediction = segmenter(picture)
        by_hand = _by_hand(picture, EXAMPLES / "gt" / f"{path.stem}.png")
        found = draw_overlay(picture, prediction)
        rows.append(
            [_panel(by_hand, f"{path.stem}: drawn by hand"), _panel(found, f"found: {prediction.verdict}")]
        )
        if path.stem == SHOWN:
            _write("example.jpg", _uncertainties(picture, prediction, found))
    _write("examples-found.jpg", rows)
    if photographs:
        panels = [_of_photograph(segmenter, photographs, name) for name in ELSEWHERE]
        _write("elsewhere.jpg", [panels[i : i + 2] for i in range(0, len(panels), 2)])


def _of_photograph(segmenter: Segmenter, photographs: Path, name: str) -> Pixels:
    (path,) = photographs.rglob(f"endless-sky-data__{name}.jpg")
    picture = read_picture(path)
    prediction = segmenter(picture)
    return _panel(draw_overlay(picture, prediction), f"no smoke; found: {prediction.verdict}")


def _by_hand(picture: Pixels, mask: Path) -> Pixels:
    drawn = read_mask(mask) > 0.5
    outlines, _ = cv2.findContours(drawn.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    width = max(1, round(max(picture.shape) / 500))
    return np.asarray(cv2.drawContours(picture.copy(), outlines, -1, BY_HAND, width, cv2.LINE_AA), np.uint8)


def _uncertainties(picture: Pixels, prediction: Prediction, found: Pixels) -> list[list[Pixels]]:
    """What was found, and the three uncertainties around it, each to its own scale."""
    x0, y0, x1, y1 = prediction.regions[0].box
    dx, dy = round(AROUND[0] * (x1 - x0)), round(AROUND[1] * (y1 - y0))
    cut = np.s_[max(0, y0 - dy) : y1 + dy, max(0, x0 - dx) : x1 + dx]
    panels = [_panel(found[cut], "smoke, outlined with its probability")]
    maps: Sequence[tuple[NDArray[np.float32], ColourMap, str]] = (
        (prediction.total, TOTAL, "total uncertainty"),
        (prediction.aleatoric, ALEATORIC, "aleatoric: in the picture"),
        (prediction.epistemic, EPISTEMIC, "epistemic: in the model"),
    )
    for values, colours, name in maps:
        top = float(values[cut].max())
        title = f"{name} (brightest: {top / LN2:.0%} of the most there can be)"
        panels.append(_panel(lit(picture[cut], values[cut] / top, colours), title))
    return [panels[:2], panels[2:]]


def _panel(pixels: Pixels, title: str) -> Pixels:
    height = round(pixels.shape[0] * WIDTH / pixels.shape[1])
    sheet = Image.fromarray(pixels).resize((WIDTH, height), Image.Resampling.LANCZOS)
    draw, font = ImageDraw.Draw(sheet, "RGBA"), ImageFont.load_default(20)
    _, _, right, bottom = font.getbbox(title)
    draw.rectangle((0, height - bottom - 14, right + 20, height), fill=(0, 0, 0, 190))
    draw.text((10, height - bottom - 9), title, (255, 255, 255), font)
    return np.array(sheet)


def _write(name: str, rows: Sequence[Sequence[Pixels]]) -> None:
    sheet = np.vstack([np.hstack(list(row)) for row in rows])
    Image.fromarray(sheet).save(IMAGES / name, quality=88)


if __name__ == "__main__":
    main()
