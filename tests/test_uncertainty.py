"""The decomposition of samples: definitions, bounds, streaming."""

import math
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy
from torch import Tensor

from smokescope.uncertainty import LN2, binary_entropy, decompose


def logits(*shape: int, seed: int = 0, scale: float = 3.0) -> Tensor:
    return scale * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_binary_entropy_is_scipys_in_nats() -> None:
    s = torch.linspace(-12, 12, 101, dtype=torch.float64)
    p = torch.sigmoid(s).numpy()
    np.testing.assert_allclose(binary_entropy(s), scipy_entropy([p, 1 - p]), atol=1e-12)
    assert binary_entropy(torch.zeros(())).item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_binary_entropy_stays_calm_far_out(dtype: torch.dtype) -> None:
    s = torch.tensor([-1e4, -100.0, 0.0, 100.0, 1e4], dtype=dtype, requires_grad=True)
    h = binary_entropy(s)
    h.sum().backward()
    assert h.dtype == torch.float32
    torch.testing.assert_close(h, torch.tensor([0, 0, LN2, 0, 0]))
    assert s.grad is not None
    assert s.grad.isfinite().all()


def test_binary_entropy_passes_gradcheck() -> None:
    assert torch.autograd.gradcheck(binary_entropy, logits(5, 4).requires_grad_())


def test_decomposition_is_its_definition() -> None:
    samples = logits(7, 2, 1, 5, 6)
    p = torch.sigmoid(samples).numpy()
    total = scipy_entropy([p.mean(0), 1 - p.mean(0)])
    aleatoric = scipy_entropy([p, 1 - p]).mean(0)
    result = decompose(samples)
    np.testing.assert_allclose(result.probability, p.mean(0), atol=1e-12)
    np.testing.assert_allclose(result.total, total, atol=1e-12)
    np.testing.assert_allclose(result.aleatoric, aleatoric, atol=1e-12)
    np.testing.assert_allclose(result.epistemic, total - aleatoric, atol=1e-12)


def test_what_each_kind_means() -> None:
    """Samples that agree on 50 % are doubt in the data; sure ones that contradict are doubt in the model."""
    undecided = decompose(torch.zeros(4, 1))
    assert undecided.aleatoric.item() == pytest.approx(LN2)
    assert undecided.epistemic.item() == pytest.approx(0)
    contradicting = decompose(torch.tensor([[100.0], [-100.0]]))
    assert contradicting.aleatoric.item() == pytest.approx(0)
    assert contradicting.epistemic.item() == pytest.approx(LN2)


@pytest.mark.parametrize("spread", [0.3, 1.0, 2.0])
def test_few_samples_tell_of_endless_ones(spread: float) -> None:
    samples = logits(8, 200_000, scale=spread) - 1.5
    endless = decompose(samples.flatten())
    plain, unbiased = decompose(samples), decompose(samples, unbiased=True)
    assert plain.epistemic.mean() == pytest.approx(7 / 8 * endless.epistemic.item(), rel=0.03)
    assert unbiased.epistemic.mean() == pytest.approx(endless.epistemic.item(), rel=0.03)
    assert unbiased.total.mean() == pytest.approx(endless.total.item(), rel=0.005)  # cut at ln 2
    torch.testing.assert_close(unbiased.aleatoric, plain.aleatoric)


@given(
    unbiased=st.booleans(),
    count=st.integers(1, 12),
    scale=st.sampled_from([0.0, 1e-4, 1.0, 50.0, 1e4]),
    shift=st.sampled_from([-100.0, -1.0, 0.0, 30.0]),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=120, deadline=None)
def test_bounds_hold_whatever_comes(
    unbiased: bool, count: int, scale: float, shift: float, dtype: torch.dtype, seed: int
) -> None:
    result = decompose((logits(count, 64, seed=seed, scale=scale) + shift).to(dtype), unbiased=unbiased)
    ceiling = torch.tensor(LN2, dtype=result.total.dtype)
    for map_ in (result.total, result.aleatoric, result.epistemic):
        assert map_.min() >= 0
        assert map_.max() <= ceiling
    torch.testing.assert_close(result.aleatoric + result.epistemic, result.total)


@given(cuts=st.lists(st.integers(1, 49), max_size=5), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_streaming_equals_all_at_once(cuts: list[int], seed: int) -> None:
    samples = logits(50, 3, 4, seed=seed)
    blocks = torch.tensor_split(samples, sorted(set(cuts)))
    for streamed, whole in zip(decompose(blocks), decompose(samples), strict=True):
        torch.testing.assert_close(streamed, whole, atol=1e-12, rtol=0)


def test_streaming_keeps_no_samples() -> None:
    seen: list[weakref.ref[Tensor]] = []

    def blocks() -> Iterator[Tensor]:
        for seed in range(20):
            block = logits(5, 1, 16, 16, seed=seed)
            seen.append(weakref.ref(block))
            assert sum(each() is not None for each in seen) <= 2  # this one, and the one before for a moment
            yield block

    decompose(blocks())
    assert len(seen) == 20


def test_nothing_cannot_be_decomposed() -> None:
    with pytest.raises(ValueError, match="no sample"):
        decompose([])
    with pytest.raises(ValueError, match="no sample"):
        decompose(torch.empty(0, 2, 2))
