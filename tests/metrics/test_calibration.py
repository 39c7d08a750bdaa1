from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torchmetrics.functional.classification import multiclass_calibration_error

from smokescope.metrics import CalibrationError
from smokescope.metrics.calibration import bin_index

Pictures = list[tuple[Tensor, Tensor]]


def torchmetrics_error(probability: Tensor, mask: Tensor) -> float:
    classes = torch.stack((1 - probability.flatten(), probability.flatten()), dim=1)
    return float(
        multiclass_calibration_error(classes, mask.flatten().long(), num_classes=2, n_bins=10, norm="l1")
    )


def brute_force(confidence: NDArray[np.floating], hit: NDArray[np.bool_]) -> float:
    """Equation 14 word by word, bins closed on the left and 1.0 in the last."""
    error = 0.0
    for m in range(10):
        low, high = (confidence.dtype.type(m) / 10, confidence.dtype.type(m + 1) / 10)
        inside = (confidence >= low) & ((confidence < high) if m < 9 else (confidence <= 1))
        if inside.any():
            accuracy, mean = hit[inside].mean(), confidence[inside].astype(np.float64).mean()
            error += inside.mean() * abs(accuracy - mean)
    return error


def top(probability: Tensor, mask: Tensor) -> float:
    p = probability.numpy().ravel()
    return brute_force(np.maximum(p, 1 - p), (p > 0.5) == mask.numpy().ravel())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("smoke", [0.0, 0.4, 1.0])
def test_equals_torchmetrics_where_no_confidence_is_one(
    eight_bit: Callable[..., tuple[Tensor, Tensor]], dtype: torch.dtype, smoke: float
) -> None:
    metric = CalibrationError()
    expected, everything = [], []
    for seed, (height, width) in enumerate([(29, 31), (8, 8), (1, 1), (64, 3)]):
        probability, mask = eight_bit(height, width, seed, smoke)
        probability = (probability * 0.98 + 0.01).to(dtype)
        metric.update(probability, mask)
        expected.append(torchmetrics_error(probability, mask))
        everything.append((probability.flatten(), mask.flatten()))
    figures = metric.compute()
    assert figures["image"] == pytest.approx(np.mean(expected), abs=1e-6)
    pooled = torchmetrics_error(*(torch.cat(part) for part in zip(*everything, strict=True)))
    assert figures["pooled"] == pytest.approx(pooled, abs=1e-6)


@pytest.mark.parametrize(
    ("dtype", "oracle"),
    [(torch.float32, torchmetrics_error), (torch.float64, top)],  # torchmetrics rounds doubles to float32
)
def test_ties_on_the_edges_fall_as_they_should(
    dtype: torch.dtype, oracle: Callable[[Tensor, Tensor], float]
) -> None:
    """Every tenth, and one step of the number format around it."""
    edges = torch.arange(1, 10, dtype=dtype) / 10
    zero, one = torch.zeros(1, dtype=dtype), torch.ones(1, dtype=dtype)
    ties = torch.cat([edges, edges.nextafter(zero), edges.nextafter(one)])
    pictures = [(ties.view(1, 3, 9), mask.view(1, 3, 9)) for mask in (ties > 0.35, ties > 2, ties < 2)]
    for tie in ties:
        for other in (0.55, 0.65, 0.75, 0.85, 0.95):
            # right on the tie, wrong beside it: the figure tells whether the two share a bin
            probability = torch.stack((tie, tie.new_tensor(other))).view(1, 1, 2)
            pictures.append((probability, torch.tensor([[[bool(tie > 0.5), False]]])))
    for probability, mask in pictures:
        metric = CalibrationError()
        metric.update(probability, mask)
        assert metric.compute()["image"] == pytest.approx(oracle(probability, mask), abs=1e-6), probability


def test_one_is_in_the_last_bin_where_torchmetrics_bins_it_apart() -> None:
    probability, mask = torch.tensor([[[1.0, 0.95]]]), torch.tensor([[[False, True]]])
    metric = CalibrationError()
    metric.update(probability, mask)
    assert metric.compute()["image"] == pytest.approx(abs(0.5 - 0.975), abs=1e-6)
    assert torchmetrics_error(probability, mask) == pytest.approx((1.0 + 0.05) / 2, abs=1e-6)


@pytest.mark.parametrize("index", range(18))
def test_equals_equation_14(pictures: Pictures, index: int) -> None:
    probability, mask = pictures[index]
    metric = CalibrationError()
    metric.update(probability, mask)
    figures = metric.compute()
    assert figures["image"] == pytest.approx(top(probability, mask), abs=1e-6)
    assert figures["pooled"] == pytest.approx(figures["image"], abs=1e-12)
    smoke = brute_force(probability.numpy().ravel(), mask.numpy().ravel())
    assert figures["smoke"] == pytest.approx(smoke, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bins_are_exact_at_each_edge_and_just_under_it(dtype: torch.dtype) -> None:
    edges = torch.arange(11, dtype=dtype) / 10
    assert bin_index(edges).tolist() == [*range(10), 9]
    assert bin_index(edges[1:].nextafter(torch.zeros(1, dtype=dtype))).tolist() == list(range(10))


def test_half_is_no_smoke_with_confidence_half() -> None:
    metric = CalibrationError()
    metric.update(torch.full((1, 2, 2), 0.5), torch.zeros(1, 2, 2))
    assert metric.compute() == {"image": 0.5, "pooled": 0.5, "smoke": 0.5}
    assert metric.reliability().top.hits.sum() == 4


def test_pooling_lets_errors_of_pictures_cancel() -> None:
    probability = torch.full((2, 1, 10), 0.8)
    mask = torch.ones(2, 1, 10, dtype=torch.bool)
    mask[1, 0, :4] = False  # one picture is all smoke, the other 60 %: 80 % of both
    metric = CalibrationError()
    metric.update(probability, mask)
    figures = metric.compute()
    assert figures["image"] == pytest.approx(0.2)
    assert figures["smoke"] == pytest.approx(0.2)
    assert figures["pooled"] == pytest.approx(0.0, abs=1e-7)


def test_reliability_holds_what_the_diagram_shows(pictures: Pictures) -> None:
    metric = CalibrationError()
    for probability, mask in pictures:
        metric.update(probability, mask)
    p = np.concatenate([probability.numpy().ravel() for probability, _ in pictures])
    y = np.concatenate([mask.numpy().ravel() for _, mask in pictures])
    reliability = metric.reliability()
    for bins, confidence, hit in (
        (reliability.top, np.maximum(p, 1 - p), (p > 0.5) == y),
        (reliability.smoke, p, y),
    ):
        index = np.minimum(np.floor(confidence * np.float32(10)).astype(int), 9)
        assert bins.pixels.tolist() == np.bincount(index, minlength=10).tolist()
        assert bins.hits.tolist() == np.bincount(index, hit, minlength=10).astype(int).tolist()
        assert bins.confidence.numpy() == pytest.approx(
            np.bincount(index, confidence, minlength=10), abs=1e-9
        )


def test_none_without_pictures() -> None:
    assert CalibrationError().compute() == {"image": None, "pooled": None, "smoke": None}
