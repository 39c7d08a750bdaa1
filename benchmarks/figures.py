"""Figures of the experiments, in the colours of everything else."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from smokescope.data.pictures import encode_png
from smokescope.report.calibration_chart import SMOKE, reliability_chart
from smokescope.report.colours import PROBABILITY
from smokescope.report.page import charts, page
from smokescope.report.thumbnails import thumbnail

if TYPE_CHECKING:
    from benchmarks.experiment import Found

WIDTH, GAP, HEAD = 320, 12, 40


def draw_reliability(path: Path, found: "Sequence[Found]") -> None:
    """A page with a reliability diagram for each variant: the probability of smoke, pixels pooled."""
    smoke = {each.name: each.unseen.reliability.smoke for each in found}
    drawn = [
        reliability_chart(SMOKE._replace(title=name), bins.pixels.tolist(), *bins.means(), name)
        for name, bins in smoke.items()
    ]
    words = "On scenes that were not trained on; bars show each bin's share of the pixels."
    path.write_text(
        page("Reliability", "benchmarks.ablation", words, [charts("Probability of smoke", drawn)])
    )


def draw_side_by_side(path: Path, one: "Found", other: "Found") -> None:
    """Pictures with their masks outlined, and what two variants make of them."""
    theirs = {sample.name: sample for sample in other.unseen.samples}
    rows = []
    for sample in one.unseen.samples:
        maps = [PROBABILITY.apply(each.probability) for each in (sample, theirs[sample.name])]
        shown = [
            thumbnail(sample.picture, sample.mask > 0.5, (WIDTH, 2 * WIDTH)),
            *(_narrow(pixels) for pixels in maps),
        ]
        height = min(len(pixels) for pixels in shown)
        rows.append(np.hstack([np.pad(p[:height], ((0, GAP), (0, GAP), (0, 0))) for p in shown]))
    sheet = Image.fromarray(np.pad(np.vstack(rows), ((HEAD, 0), (GAP, 0), (0, 0))))
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(18)
    for column, title in enumerate(("picture", one.name, other.name)):
        draw.text((GAP + column * (WIDTH + GAP), 10), title, (230, 230, 230), font)
    path.write_bytes(encode_png(np.asarray(sheet)))


def _narrow(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = pixels.shape[:2]
    size = (WIDTH, max(1, round(height * WIDTH / width)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
