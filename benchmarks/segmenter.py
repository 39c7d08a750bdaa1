"""What the Segmenter adds to the bare network: decoding, resizing, maps and regions of a 640 x 480 JPEG."""

import argparse
import io
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from benchmarks.timing import compare, table
from smokescope import load
from smokescope.data.pictures import picture_from_bytes
from smokescope.inference import Segmenter
from smokescope.models import DEFAULT, InputSettings, Pipeline, SmokeBVM

HEIGHT, WIDTH = 480, 640
INPUT = InputSettings(height=HEIGHT, width=WIDTH, fit="aspect")


def photograph() -> bytes:
    """Something like a hill below a sky, with grain."""
    rng = np.random.default_rng(0)
    coarse = rng.uniform(60, 200, (8, 10, 3)).astype(np.float32)
    smooth: NDArray[np.float32] = cv2.resize(coarse, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
    pixels = (smooth + rng.normal(0, 6, smooth.shape)).clip(0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=88)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a model file; by default an untrained network")
    parser.add_argument("--picture", type=Path, help="a JPEG of 640 x 480; by default one made here")
    parser.add_argument("--rounds", type=int, default=15)
    given, _ = parser.parse_known_args()
    torch.manual_seed(0)
    segmenter = (
        load(given.model, "cpu") if given.model else Segmenter(Pipeline(SmokeBVM(DEFAULT), INPUT), "cpu")
    )
    data = given.picture.read_bytes() if given.picture else photograph()
    pixels = picture_from_bytes(data)
    network = segmenter.pipeline.network
    with torch.inference_mode():
        prepared = segmenter.pipeline.prepare(torch.from_numpy(pixels).permute(2, 0, 1)[None])
        prediction = segmenter(pixels)
        seconds = compare(
            {
                "bare network, eager": lambda: network(prepared),
                "Segmenter: JPEG to regions": lambda: segmenter(data).regions,
                "of which decoding": lambda: picture_from_bytes(data),
                "of which regions": lambda: find_again(prediction),
            },
            rounds=given.rounds,
        )
    bare, whole = seconds["bare network, eager"], seconds["Segmenter: JPEG to regions"]
    table(
        f"Segmenter, one {pixels.shape[1]} x {pixels.shape[0]} picture, {len(prediction.regions)} regions",
        ("", "ms", "of the prediction"),
        [(name, f"{1e3 * s:.1f}", f"{100 * s / whole:.1f} %") for name, s in seconds.items()]
        + [("overhead", f"{1e3 * (whole - bare):.1f}", f"{100 * (1 - bare / whole):.1f} %")],
    )


def find_again(prediction: object) -> object:
    """Regions are found once and kept: forget them."""
    prediction.__dict__.pop("regions", None)
    return prediction.regions  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
