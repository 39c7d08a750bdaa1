"""What the Segmenter adds to the bare network: decoding, resizing, maps and regions of a 640 x 480 JPEG.

The overhead is timed by itself, with a network that answers at once: as the difference of two long times
it would be lost in what a busy machine does besides.
"""

import argparse
import io
from pathlib import Path
from typing import cast

import torch
from PIL import Image
from torch import nn

from benchmarks.timing import compare, table
from smokescope import load
from smokescope.benchmark.picture import soft_colours
from smokescope.data.pictures import picture_from_bytes
from smokescope.inference import Segmenter
from smokescope.inference.engines.torch import TorchEngine
from smokescope.models import DEFAULT, InputSettings, Pipeline, SmokeBVM, SmokeModel

HEIGHT, WIDTH = 480, 640
INPUT = InputSettings(height=HEIGHT, width=WIDTH, fit="aspect")


class Remembered(nn.Module):
    """A network that gives one answer, whatever it sees, at once."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, *_: object) -> object:
        """The answer."""
        return self.answer


def photograph() -> bytes:
    """A JPEG of soft colours."""
    buffer = io.BytesIO()
    Image.fromarray(soft_colours(HEIGHT, WIDTH)).save(buffer, "JPEG", quality=88)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a model file; by default an untrained network")
    parser.add_argument("--picture", type=Path, help="a JPEG of 640 x 480; by default one made here")
    parser.add_argument("--rounds", type=int, default=15)
    given, _ = parser.parse_known_args()
    torch.manual_seed(0)
    untrained = TorchEngine(Pipeline(SmokeBVM(DEFAULT), INPUT), "cpu")
    segmenter = load(given.model, "cpu") if given.model else Segmenter(untrained)
    data = given.picture.read_bytes() if given.picture else photograph()
    pixels = picture_from_bytes(data)
    pipeline = segmenter.pipeline
    with torch.inference_mode():
        prepared = pipeline.prepare(torch.from_numpy(pixels).permute(2, 0, 1)[None])
        at_once = cast(SmokeModel, Remembered(pipeline.network(prepared)))
        shell = Segmenter(TorchEngine(Pipeline(at_once, pipeline.input, pipeline.temperature), "cpu"))
        seconds = compare(
            {
                "bare network, eager": lambda: pipeline.network(prepared),
                "Segmenter, JPEG to regions": lambda: segmenter(data).regions,
                "all but the network": lambda: shell(data).regions,
                "decoding": lambda: picture_from_bytes(data),
            },
            rounds=given.rounds,
        )
    whole, regions = seconds["Segmenter, JPEG to regions"], len(segmenter(data).regions)
    table(
        f"Segmenter, one {pixels.shape[1]} x {pixels.shape[0]} picture, {regions} regions",
        ("", "ms", "of the prediction"),
        [(name, f"{1e3 * s:.1f}", f"{100 * s / whole:.1f} %") for name, s in seconds.items()],
    )


if __name__ == "__main__":
    main()
