"""The metrics against PySODMetrics and torchmetrics on the same pictures.

Eight pictures of 480 x 480, smooth, with sparse smoke and many probabilities near 0, come again and again, to
ours as a batch of eight, to the others one by one, which is all that they take (Eq. 14 is of one picture).
Ten rounds of 40 pictures are interleaved; a time for 400 is ten times the median round.
"""

import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
import py_sod_metrics
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate
from torchmetrics.classification import MulticlassCalibrationError

from benchmarks.timing import compare, table
from smokescope.metrics import CalibrationError, FBeta, SmokeMetrics
from smokescope.uncertainty import Decomposition, decompose

PICTURES, BATCH, SIZE, ROUNDS, THREADS = 400, 8, 480, 10, 2


class Batch(NamedTuple):
    """The same pictures in every form that a contestant wants: no conversion is timed but its own."""

    probability: Tensor  # float32 [N, H, W], k/255
    mask: Tensor  # bool [N, H, W]
    maps: Decomposition  # [N, H, W]
    classes: list[tuple[Tensor, Tensor]]  # float32 [H * W, 2] and int64 [H * W], for torchmetrics
    grey: list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]  # [H, W] twice, what PySODMetrics asks for
    arrays: list[tuple[NDArray[np.float32], NDArray[np.bool_]]]  # the same, as it wants them unnormalised


def make_batch() -> Batch:
    generator = torch.Generator().manual_seed(0)
    coarse = torch.randn(BATCH, 1, 12, 12, generator=generator) * 5 - 8
    logits = interpolate(coarse, (SIZE, SIZE), mode="bicubic", align_corners=False)[:, 0].clamp(-14, 14)
    mask = logits + 2 * torch.randn(logits.shape, generator=generator) > 0
    level = (torch.sigmoid(logits) * 255).round().to(torch.uint8)
    level[:, 0, :2] = torch.tensor([0, 255], dtype=torch.uint8)  # PySODMetrics' stretch then changes nothing
    probability = level.float() / 255
    maps = decompose(logits + torch.randn(4, *logits.shape, generator=generator))
    pairs = [(p.flatten(), y.flatten().long()) for p, y in zip(probability, mask, strict=True)]
    classes = [(torch.stack((1 - p, p), dim=1), y) for p, y in pairs]
    truth = mask.to(torch.uint8) * 255
    grey = [(p.numpy(), y.numpy()) for p, y in zip(level, truth, strict=True)]
    arrays = [(p.numpy(), y.numpy()) for p, y in zip(probability, mask, strict=True)]
    return Batch(probability, mask, maps, classes, grey, arrays)


def ours_f(batch: Batch, repeats: int) -> float | None:
    metric = FBeta()
    for _ in range(repeats):
        metric.update(batch.probability, batch.mask)
    return metric.compute()["mean"]


def pysodmetrics_f(batch: Batch, repeats: int, normalise: bool) -> float | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that its F-measure will move to another class
        metric = py_sod_metrics.Fmeasure()
    for prediction, truth in (batch.grey if normalise else batch.arrays) * repeats:
        metric.step(prediction, truth, normalize=normalise)
    return float(metric.get_results()["fm"]["curve"].mean())


def ours_ece(batch: Batch, repeats: int) -> float | None:
    metric = CalibrationError()
    for _ in range(repeats):
        metric.update(batch.probability, batch.mask)
    return metric.compute()["image"]


def torchmetrics_ece(batch: Batch, repeats: int) -> float | None:
    metric = MulticlassCalibrationError(num_classes=2, n_bins=10, norm="l1", validate_args=False)
    total = 0.0
    for probability, label in batch.classes * repeats:
        metric.update(probability, label)
        total += float(metric.compute())
        metric.reset()
    return total / (repeats * BATCH)


def suite(batch: Batch, repeats: int) -> float | None:
    metrics = SmokeMetrics(shipped_threshold=0.4)
    for _ in range(repeats):
        metrics.update(batch.probability, batch.mask, batch.maps)
    return metrics.compute()["mse"]


def main() -> None:
    torch.set_num_threads(THREADS)
    batch, each_round = make_batch(), PICTURES // ROUNDS
    works = {
        "F (mean, max, adaptive, fixed)": partial(ours_f, batch, each_round // BATCH),
        "PySODMetrics F (curve, adaptive)": partial(pysodmetrics_f, batch, each_round // BATCH, True),
        "the same, floats in, unnormalised": partial(pysodmetrics_f, batch, each_round // BATCH, False),
        "ECE (image, pooled, smoke)": partial(ours_ece, batch, each_round // BATCH),
        "torchmetrics ECE (image)": partial(torchmetrics_ece, batch, each_round // BATCH),
        "every figure, with uncertainty maps": partial(suite, batch, each_round // BATCH),
    }
    seconds = compare(works, ROUNDS, warm_up=1)
    f, pysod, bare, ece, torch_ece, _ = seconds.values()
    ratios = ("", f"{pysod / f:.1f} x", f"{bare / f:.1f} x", "", f"{torch_ece / ece:.1f} x", "")
    rows: list[tuple[str, ...]] = []
    for (name, time), ratio in zip(seconds.items(), ratios, strict=True):
        rows.append(
            (name, f"{time * ROUNDS:.2f}", f"{1e3 * time / each_round:.2f}", ratio, f"{works[name]():.6f}")
        )
    header = ("what", "seconds for 400", "ms a picture", "ours is faster", "first figure (of all: mse)")
    table(f"Metrics: {PICTURES} pictures of {SIZE} x {SIZE}", header, rows)


if __name__ == "__main__":
    main()
