"""What a model makes of some pictures of the validation set, as one sheet: a row each, a column a map."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from smokescope.data.files import write_atomically
from smokescope.data.pictures import encode_png
from smokescope.report.colours import FAINT, INK, PAPER
from smokescope.report.panels import BAR, Legend, draw_bar
from smokescope.report.results import QUANTITIES
from smokescope.report.thumbnails import thumbnail
from smokescope.training.observers import Sample
from smokescope.training.run_folder import RunFolder

COLUMN = 320  # the width of every picture,
TALLEST = 480  # but of one that would be higher than this
GAP = 12

_HEAD, _NAME = 44, 22

_LEGENDS = {  # less their tops
    "probability": Legend("Probability of smoke", "no smoke", "smoke"),
    "total": Legend("Total uncertainty", "certain", "nats"),
    "aleatoric": Legend("Aleatoric: the picture's", "certain", "nats"),
    "epistemic": Legend("Epistemic: the model's", "certain", "nats or more"),
}


def write_samples(run: RunFolder, step: int, samples: Sequence[Sample]) -> None:
    """Write a sheet of samples, `samples/00001200.png` in the run's folder; without samples, none.

    Raises:
        SmokescopeError: It cannot be written.
    """
    if samples:
        write_atomically(run.sheet(step), encode_png(draw_samples(samples)))


def last_samples(run: RunFolder) -> tuple[int, Path] | None:
    """The newest sheet of a run, and the step that it shows."""
    return max(run.sheets().items(), default=None)


def draw_samples(samples: Sequence[Sample]) -> NDArray[np.uint8]:
    """Draw at least one sample: an RGB sheet, the smoke as people marked it outlined in the first column."""
    rows = [_row(sample) for sample in samples]
    top = _HEAD + BAR
    height = top + sum(len(row[0]) + _NAME + GAP for row in rows)
    sheet = Image.new("RGB", ((1 + len(QUANTITIES)) * (COLUMN + GAP) + GAP, height), PAPER)
    draw, title, small = ImageDraw.Draw(sheet), ImageFont.load_default(20), ImageFont.load_default(14)

    draw.text((GAP, GAP), "Picture", INK, title)
    draw.text((GAP, _HEAD), "smoke as people marked it, outlined", FAINT, small)
    for column, (name, kind) in enumerate(QUANTITIES.items(), 1):
        left, legend = GAP + column * (COLUMN + GAP), _LEGENDS[name]._replace(top=kind.top)
        draw.text((left, GAP), legend.title, INK, title)
        draw_bar(sheet, (left, _HEAD), COLUMN, kind.colours, legend)
    for sample, row in zip(samples, rows, strict=True):
        for column, pixels in enumerate(row):
            middle = (COLUMN - pixels.shape[1]) // 2  # of a picture that is too tall to be as wide
            sheet.paste(Image.fromarray(pixels), (GAP + column * (COLUMN + GAP) + middle, top))
        top += len(row[0])
        draw.text((GAP, top + 2), sample.name, FAINT, small)
        top += _NAME + GAP
    return np.array(sheet)


def _row(sample: Sample) -> list[NDArray[np.uint8]]:
    height, width = sample.mask.shape
    factor = min(COLUMN / width, TALLEST / height)
    size = max(1, round(width * factor)), max(1, round(height * factor))
    picture, smoke = sample.picture, sample.mask > 0.5
    if factor > 1:  # which a thumbnail is not for
        picture, smoke = _resized(picture, size).astype(np.uint8), _resized(smoke, size) > 0
    outlined = thumbnail(picture, smoke, (COLUMN, TALLEST))
    # scaled before they are coloured: a mean of colours may not be on the map
    maps = {name: _resized(getattr(sample, name), size) for name in QUANTITIES}
    return [outlined, *(kind.colours.apply(kind.shares(maps[name])) for name, kind in QUANTITIES.items())]


def _resized(values: NDArray[np.generic], size: tuple[int, int]) -> NDArray[np.float32]:
    """Scaled to a width and height: areas averaged, or pixels enlarged as squares."""
    how = cv2.INTER_AREA if size[0] < values.shape[1] else cv2.INTER_NEAREST
    return np.asarray(cv2.resize(values.astype(np.float32), size, interpolation=how), np.float32)
