import numpy as np
import pytest
import torch
from torch import Tensor

from smokescope.metrics import MeanSquaredError

Pictures = list[tuple[Tensor, Tensor]]


def test_equals_numpy_averaged_over_pictures(pictures: Pictures) -> None:
    metric = MeanSquaredError()
    expected = []
    for probability, mask in pictures:  # of many sizes: the mean over pictures is not that over pixels
        metric.update(probability, mask)
        expected.append(np.mean((probability.numpy().astype(np.float64) - mask.numpy()) ** 2))
    assert metric.compute() == pytest.approx(np.mean(expected), abs=1e-12)


def test_is_exact_where_float32_sums_are_not() -> None:
    probability = torch.full((1, 2000, 2000), 0.1)  # a float32 sum of four million squares is off by 1e-4
    metric = MeanSquaredError()
    metric.update(probability, torch.zeros_like(probability))
    assert metric.compute() == pytest.approx(float(np.float32(0.1)) ** 2, rel=1e-12)


def test_none_without_pictures() -> None:
    assert MeanSquaredError().compute() is None
