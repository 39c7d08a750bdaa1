"""What verdicts are worth: smokes found, handed to a person or missed, and what is raised for nothing.

    python -m benchmarks.verdicts --model M --data smoke5k/train --negatives negatives --folds F --fold 1
        [--match REAL]

A smoke is found if a region called smoke touches its mask, grown by 1 % of the longer side as for an alarm;
handed to a person if only an unsure one does. Settings are proposed from a sweep: those that miss least, and
then find most, while pictures without smoke raise no more than `--false-smoke` and `--false-unsure` allow.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.pictures import chosen, options
from benchmarks.timing import table
from smokescope import load
from smokescope.data.layouts import Pair
from smokescope.inference import Prediction, Region, Segmenter, find_regions
from smokescope.inference.evaluation import read_ahead
from smokescope.metrics.alarm import dilate
from smokescope.models import VerdictSettings

UNSURE = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
SMOKE = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
EPISTEMIC = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.7)


class Seen(NamedTuple):
    """A region, as far as verdicts go."""

    peak: float
    doubt: float
    on_smoke: bool


class Looked(NamedTuple):
    """A picture: its regions by the lower threshold that they were found with."""

    smoke: bool
    regions: dict[float, list[Seen]]


class Counts(NamedTuple):
    """Shares of the pictures with smoke, and of those without."""

    found: float
    handed: float
    missed: float
    false_smoke: float
    false_unsure: float


def look(segmenter: Segmenter, pairs: Sequence[Pair], lower: Sequence[float]) -> Iterator[Looked]:
    for reading in read_ahead(pairs):
        picture, mask = reading.result()
        prediction = segmenter(picture)
        radius = max(1, round(0.01 * max(mask.shape)))
        near = dilate(torch.from_numpy(mask > 0.5)[None], radius)[0].numpy()
        yield Looked(bool((mask > 0.5).any()), {each: regions_of(prediction, each, near) for each in lower})


def regions_of(prediction: Prediction, lower: float, near: NDArray[np.bool_]) -> list[Seen]:
    settings = replace(prediction.verdicts, unsure_above=lower, smoke_above=1.0)
    maps = (prediction.probability, prediction.total, prediction.aleatoric, prediction.epistemic)
    found = find_regions(*maps, settings)
    return [Seen(region.peak, region.doubt, touches(region, near)) for region in found]


def touches(region: Region, near: NDArray[np.bool_]) -> bool:
    inside = np.zeros(near.shape, np.uint8)
    cv2.fillPoly(inside, [np.array(region.polygon, np.int32)], 1)
    return bool((near & (inside > 0)).any())


def judge(looked: Sequence[Looked], settings: VerdictSettings) -> Counts:
    counts = {True: [0, 0, 0], False: [0, 0, 0]}
    for picture in looked:
        # on a picture with smoke only what touches it counts: an alarm elsewhere did not find it
        regions = [r for r in picture.regions[settings.unsure_above] if r.on_smoke or not picture.smoke]
        sure = any(r.peak > settings.smoke_above and r.doubt <= settings.epistemic_above for r in regions)
        counts[picture.smoke][0 if sure else 1 if regions else 2] += 1
    smoke, none = max(1, sum(counts[True])), max(1, sum(counts[False]))
    found, handed, missed = (n / smoke for n in counts[True])
    return Counts(found, handed, missed, counts[False][0] / none, counts[False][1] / none)


def propose(
    looked: Sequence[Looked], shipped: VerdictSettings, false_smoke: float, false_unsure: float
) -> VerdictSettings | None:
    """The best of a sweep that keeps to both limits, the strictest of equals; None if none does."""
    best: tuple[tuple[float, ...], VerdictSettings] | None = None
    for lower, upper, doubt in itertools.product(UNSURE, SMOKE, EPISTEMIC):
        if lower <= upper:
            settings = replace(shipped, unsure_above=lower, smoke_above=upper, epistemic_above=doubt)
            counts = judge(looked, settings)
            raised = counts.false_smoke + counts.false_unsure
            worth = (-counts.missed, counts.found, -raised, upper, lower, -doubt)
            within = counts.false_smoke <= false_smoke and counts.false_unsure <= false_unsure
            if within and (best is None or worth > best[0]):
                best = worth, settings
    return best and best[1]


def row(name: str, settings: VerdictSettings, looked: Sequence[Looked]) -> tuple[str, ...]:
    used = (settings.unsure_above, settings.smoke_above, settings.epistemic_above)
    return name, *(f"{each:g}" for each in used), *(f"{100 * x:.1f} %" for x in judge(looked, settings))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--false-smoke", type=float, default=0.01)
    parser.add_argument("--false-unsure", type=float, default=0.05)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    segmenter = load(given.model, given.device)
    shipped = segmenter.pipeline.verdicts
    looked = list(look(segmenter, chosen(given), sorted({*UNSURE, shipped.unsure_above})))
    smoke = sum(picture.smoke for picture in looked)
    rows = [row("as shipped", shipped, looked)]
    proposal = propose(looked, shipped, given.false_smoke, given.false_unsure)
    rows += [row("proposed", proposal, looked)] if proposal else []
    base = proposal or shipped
    rows += [row("", replace(base, unsure_above=u), looked) for u in UNSURE if u <= base.smoke_above]
    rows += [row("", replace(base, smoke_above=s), looked) for s in SMOKE if s >= base.unsure_above]
    rows += [row("", replace(base, epistemic_above=e), looked) for e in EPISTEMIC]
    table(
        f"Verdicts, {smoke} pictures with smoke and {len(looked) - smoke} without",
        (
            *("", "unsure_above", "smoke_above", "epistemic_above"),
            *("found", "handed to a person", "missed", "false smoke", "false unsure"),
        ),
        rows,
    )


if __name__ == "__main__":
    main()
