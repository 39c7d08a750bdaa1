from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from smokescope.metrics import SamplingAgreement
from smokescope.metrics.agreement import AgreementFigures, merge_moments, moments


class Maps(NamedTuple):
    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor


def maps(seed: int, pictures: int = 4, size: int = 12, spread: float = 0.3, about: float = 0.3) -> Maps:
    generator = torch.Generator().manual_seed(seed)
    noise = torch.rand(3, pictures, size, size, generator=generator, dtype=torch.float64) - 0.5
    return Maps(*(about + spread * noise))


def mixed(a: Maps, b: Maps, share: float) -> Maps:
    return Maps(*(share * x + (1 - share) * y for x, y in zip(a, b, strict=True)))


def figures(x: Maps, y: Maps, batch: int) -> AgreementFigures:
    metric = SamplingAgreement()
    for start in range(0, len(x.total), batch):
        metric.update(*(Maps(*(m[start : start + batch] for m in kind)) for kind in (x, y)))
    return metric.compute()


@pytest.mark.parametrize("batch", [1, 3, 4])
def test_equals_numpy(batch: int) -> None:
    x = maps(0)
    y = Maps(x.total * 0.5 + maps(1).total * 0.5, 0.6 - x.aleatoric, maps(2).epistemic)
    found = figures(x, y, batch)
    for r, a, b in zip((found["total_r"], found["aleatoric_r"], found["epistemic_r"]), x, y, strict=True):
        assert r == pytest.approx(np.corrcoef(a.flatten(), b.flatten())[0, 1], abs=1e-12)
    assert found["aleatoric_r"] == pytest.approx(-1.0)
    expected = np.mean([((a - b) ** 2).mean() for a, b in zip(x, y, strict=True)])
    assert found["mse"] == pytest.approx(expected, rel=1e-12)


def test_a_tiny_spread_about_a_large_mean_survives() -> None:
    """A spread of 1e-7: sums of squares would leave nothing of it in float64."""
    x, noise = maps(0, spread=1e-7, about=0.5), maps(1, spread=1e-7, about=0.5)
    y = mixed(x, noise, 0.7)
    found = figures(x, y, batch=1)
    expected = np.corrcoef((x.total - 0.5).flatten(), (y.total - 0.5).flatten())[0, 1]
    assert found["total_r"] == pytest.approx(expected, abs=1e-6)
    assert 0.5 < expected < 0.999


def test_pictures_of_different_levels_correlate_when_pooled() -> None:
    low, high = maps(0, spread=0.01, about=0.1), maps(1, spread=0.01, about=0.6)
    other_low, other_high = maps(2, spread=0.01, about=0.1), maps(3, spread=0.01, about=0.6)
    metric = SamplingAgreement()
    metric.update(low, other_low)
    metric.update(high, other_high)
    total_r = metric.compute()["total_r"]
    assert total_r is not None
    assert total_r > 0.99  # inside each picture there is none


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("level", [0.0, 0.1, 0.3])
def test_none_where_a_map_is_constant(dtype: torch.dtype, level: float) -> None:
    flat = Maps(*torch.full((3, 4, 7, 7), level, dtype=dtype))
    for pair in ((flat, maps(0, size=7)), (maps(0, size=7), flat), (flat, flat)):
        found = figures(*pair, batch=3)
        assert [found["total_r"], found["aleatoric_r"], found["epistemic_r"]] == [None] * 3
        assert found["mse"] is not None


def test_merging_equals_taking_all_at_once() -> None:
    pairs = torch.rand(2, 50, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    parts = [moments(part) for part in (pairs[:, :1], pairs[:, 1:10], pairs[:, 10:])]
    merged = merge_moments(torch.stack([torch.zeros(6, dtype=torch.float64), *parts]).unsqueeze(1))
    assert merged[0].numpy() == pytest.approx(moments(pairs).numpy(), abs=1e-13)


def test_none_without_pictures() -> None:
    assert SamplingAgreement().compute() == dict.fromkeys(("total_r", "aleatoric_r", "epistemic_r", "mse"))


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="sampled total uncertainty"):
        SamplingAgreement().update(maps(0), maps(0, size=5))
