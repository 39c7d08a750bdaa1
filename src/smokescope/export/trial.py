"""Exported files are run before they get their names, and compared with PyTorch."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from smokescope.errors import SmokescopeError
from smokescope.inference.engines.base import Engine
from smokescope.inference.engines.maps import Maps, Pixels
from smokescope.inference.engines.torch import TorchEngine
from smokescope.inference.segmenter import load_engine
from smokescope.metrics.agreement import merge_moments, moments, pearson
from smokescope.models.pipeline import Pipeline

TOLERANCE = 1e-4
"""The most by which any value of any map may differ from PyTorch's."""
CORRELATION = 0.9
"""The least correlation of a map with PyTorch's, for 8 bits, over calibration pictures. With real ones it was
above 0.99; with made-up land, of which models are unsure, 0.96; with all layers in 8 bits 0.8 and less."""
# Count, height and width; what comes twice may be computed by another graph the second time.
SIZES = ((1, 480, 640), (2, 301, 199), (1, 480, 640))
SAMPLES = 2


def check_difference(files: Mapping[Path, bytes], out: Path, pipeline: Pipeline) -> float:
    """Run files on a few pictures of noise: the largest difference from PyTorch's maps, sampled ones too.

    Raises:
        SmokescopeError: It is above `TOLERANCE`.
    """
    difference = find_difference(files, out, pipeline)
    if not difference <= TOLERANCE:
        raise SmokescopeError(
            f"{out} was not written: its maps would differ from PyTorch's by {difference:.1e}, "
            f"which is more than {TOLERANCE:.0e}"
        )
    return difference


def find_difference(files: Mapping[Path, bytes], out: Path, pipeline: Pipeline) -> float:
    """As `check_difference`, whatever it is; undefined if a value is."""
    chance, worst = np.random.default_rng(0), [0.0]
    with _running(files, out) as theirs:
        ours = TorchEngine(pipeline, "cpu")
        for count, height, width in SIZES:
            noise = [chance.integers(0, 256, (height, width, 3), dtype=np.uint8) for _ in range(count)]
            pairs = [*zip(theirs.predict(noise, "never"), ours.predict(noise, "never"), strict=True)]
            if theirs.can_sample:
                drawn = (each.sample(noise, SAMPLES, None) for each in (theirs, ours))
                pairs += [(a.numpy(), b.numpy()) for a, b in zip(*drawn, strict=True)]
            worst += [float(np.abs(their - our).max()) for their, our in pairs]
    return float(np.max(worst))


def check_correlation(
    files: Mapping[Path, bytes], out: Path, pipeline: Pipeline, pictures: Sequence[Pixels]
) -> float:
    """Run files on pictures: the least correlation of one of their maps with PyTorch's.

    Raises:
        SmokescopeError: It is below `CORRELATION`.
    """
    ours = TorchEngine(pipeline, "cpu")
    with _running(files, out) as theirs:
        parts = [joint_moments(*(e.predict([p], "never") for e in (theirs, ours))) for p in pictures]
    found = [pearson(row) for row in merge_moments(torch.stack(parts))]
    least = min(1.0 if each is None else each for each in found)  # of a U-Net, one map is 0 everywhere
    if not least >= CORRELATION:
        raise SmokescopeError(
            f"{out} was not written: in 8 bits its maps would follow PyTorch's with a correlation of only "
            f"{least:.2f}: calibrate with more pictures of your own, or leave --int8 out"
        )
    return least


def joint_moments(one: Maps, other: Maps) -> Tensor:
    """Moments of each of the four maps of two engines, same pictures, [4, 6]; see `metrics.agreement`."""
    pairs = zip(one, other, strict=True)
    return torch.stack(
        [moments(torch.from_numpy(np.stack((a.ravel(), b.ravel()))).double()) for a, b in pairs]
    )


@contextmanager
def _running(files: Mapping[Path, bytes], out: Path) -> Iterator[Engine]:
    with tempfile.TemporaryDirectory() as folder:
        for path, data in files.items():
            (Path(folder) / path.name).write_bytes(data)
        yield load_engine(Path(folder) / out.name, "cpu")
