"""What tiles gain and cost on large pictures, and how much weight the pass over the whole should have.

    python -m benchmarks.tiling --model M --data fullsize --backgrounds negatives/hpwren --count 8

`--data` are large pictures with masks. `--backgrounds` are pictures without smoke: each is enlarged to
3072 x 2048 and predicted as it is, for false alarms, and again with one plume rendered into a fifth of it,
which makes the smoke about 0.06 % of the picture. All ways are mixtures of the same two passes. "Found" is
above 0.5, "handed to a person" above the model's `unsure_above`, each by the definition of an alarm.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.timing import table
from smokescope import load
from smokescope.chance import make_keys
from smokescope.data.layouts import list_negatives, list_pairs
from smokescope.data.pairs import read_pair
from smokescope.inference import Segmenter
from smokescope.inference.engines.maps import Maps, Pixels
from smokescope.inference.tiles import WHOLE
from smokescope.inference.tiling import predict_tiled
from smokescope.metrics.alarm import peak_near_smoke, picture_score
from smokescope.metrics.base import DECISION, overlap
from smokescope.metrics.iou import iou
from smokescope.physics.camera import jpeg
from smokescope.physics.rendering.smoke import render_smoke

FRAME = (2048, 3072)
CROP = (960, 1280)  # a fifth of the frame
WEIGHTS = (0.0, 0.25, 0.5)


class Frame(NamedTuple):
    """A large picture."""

    kind: str
    picture: NDArray[np.uint8]
    mask: Tensor
    """[1, H, W], bool."""


class Seen(NamedTuple):
    """A picture's probabilities [1, H, W] by the two passes, and the seconds that they took."""

    kind: str
    mask: Tensor
    plain: Tensor
    tiled: Tensor
    plain_seconds: float
    seconds: float


def frames(data: Path | None, backgrounds: Path | None, count: int, first: int) -> Iterator[Frame]:
    if data is not None:
        for pair in list_pairs(data).pairs[:count]:
            picture, mask = read_pair(pair)
            yield Frame(f"{data.name}: real smoke", picture, torch.from_numpy(mask > 0.5)[None])
    if backgrounds is not None:
        pairs = list_negatives(backgrounds).pairs
        for number in range(first, first + count):
            picture, _ = read_pair(pairs[number * len(pairs) // (first + count)])
            large = np.asarray(cv2.resize(picture, FRAME[::-1], interpolation=cv2.INTER_LANCZOS4))
            pixels = torch.from_numpy(large).permute(2, 0, 1)[None].float() / 255
            nothing = torch.zeros(1, *FRAME, dtype=torch.bool)
            yield Frame("without smoke", as_taken(pixels), nothing)
            yield Frame("small rendered smoke", *with_plume(pixels, number))


def with_plume(pixels: Tensor, number: int) -> tuple[NDArray[np.uint8], Tensor]:
    """Render into a part of a picture, and give the whole one more JPEG, which hides the part's border."""
    rng = np.random.default_rng(number)
    y, x = (int(rng.integers(0, side - crop + 1)) for side, crop in zip(FRAME, CROP, strict=True))
    window = slice(y, y + CROP[0]), slice(x, x + CROP[1])
    rendered = render_smoke(pixels[..., window[0], window[1]], make_keys(7, torch.tensor([number])))
    changed, mask = pixels.clone(), torch.zeros(1, *FRAME, dtype=torch.bool)
    changed[..., window[0], window[1]] = rendered.picture
    mask[:, window[0], window[1]] = rendered.mask[0] > 0.5
    return as_taken(changed), mask


def as_taken(pixels: Tensor) -> NDArray[np.uint8]:
    compressed = jpeg(pixels, torch.tensor([85.0]))[0]
    return (compressed * 255).round().to(torch.uint8).permute(1, 2, 0).contiguous().numpy()


def look(segmenter: Segmenter, frame: Frame) -> Seen:
    """The plain pass, and tiles alone."""
    passes = list[tuple[Tensor, float]]()

    def timed(pictures: Sequence[Pixels]) -> Maps:
        start = time.perf_counter()
        maps = segmenter.engine.plain(pictures)
        passes.append((torch.from_numpy(maps.probability[:1]), time.perf_counter() - start))
        return maps

    tiled = torch.from_numpy(predict_tiled(timed, frame.picture, segmenter.input, whole=0.0).probability)
    plain, seconds = passes[0]
    return Seen(frame.kind, frame.mask, plain, tiled, seconds, sum(s for _, s in passes))


def judge(seen: list[Seen], probabilities: list[Tensor], unsure_above: float) -> tuple[str, ...]:
    """Figures of one way: smokes found and handed to a person, IoU, and what is raised for nothing."""
    found, raised, ious = [0, 0], [0, 0], list[float]()
    for each, probability in zip(seen, probabilities, strict=True):
        smoke = bool(each.mask.any())
        score = float(picture_score(probability))
        evidence = min(score, float(peak_near_smoke(probability, each.mask))) if smoke else score
        kind = 0 if evidence > DECISION else 1 if evidence > unsure_above else None
        if kind is not None:
            (found if smoke else raised)[kind] += 1
        if smoke:
            ious.append(float(iou(overlap(probability > DECISION, each.mask))))
    others = len(seen) - len(ious)
    mean = f"{statistics.mean(ious):.3f}" if ious else "–"
    return (
        *(f"{n} of {len(ious)}" if ious else "–" for n in found),
        mean,
        *(f"{n} of {others}" if others else "–" for n in raised),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--backgrounds", type=Path)
    parser.add_argument("--count", type=int, default=8, help="pictures of each folder")
    parser.add_argument("--first", type=int, default=0, help="number of the first background")
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    segmenter = load(given.model, given.device, tiles="never")
    lower = segmenter.verdicts.unsure_above
    by_kind: dict[str, list[Seen]] = {}
    for frame in frames(given.data, given.backgrounds, given.count, given.first):
        by_kind.setdefault(frame.kind, []).append(look(segmenter, frame))
    for kind, seen in by_kind.items():
        plain_ms = 1e3 * statistics.median(each.plain_seconds for each in seen)
        ms = 1e3 * statistics.median(each.seconds for each in seen)
        ways = {"plain pass": ([each.plain for each in seen], plain_ms)}
        for weight in WEIGHTS:
            mixed = [weight * each.plain + (1 - weight) * each.tiled for each in seen]
            shipped = ", as shipped" if weight == WHOLE else ""
            ways[f"tiles, whole weighs {weight}{shipped}"] = mixed, ms
        ways["higher of both"] = [torch.maximum(each.plain, each.tiled) for each in seen], ms
        height, width = seen[0].mask.shape[-2:]
        share = 100 * statistics.median(float(each.mask.float().mean()) for each in seen)
        table(
            f"Tiles, {len(seen)} pictures of {width} x {height}, {kind} ({share:.3f} % of the picture)",
            ("", "found", "handed to a person", "IoU", "false smoke", "false unsure", "ms"),
            [(name, *judge(seen, maps, lower), f"{took:,.0f}") for name, (maps, took) in ways.items()],
        )


if __name__ == "__main__":
    main()
