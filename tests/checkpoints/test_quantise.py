"""Weights in 8 bits: how far off, and back again."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from smokescope.checkpoints.quantise import dequantise, dequantise_weight, quantise, quantise_weight


@settings(deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([(3, 4), (5, 2, 1, 1), (1, 1)]), st.floats(-20, 5))
def test_no_value_is_off_by_more_than_half_a_step(seed: int, shape: tuple[int, ...], exponent: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(shape, generator=generator) * 10.0**exponent
    weight *= 10.0 ** torch.arange(shape[0]).view(-1, *[1] * (len(shape) - 1))  # channels of unlike size
    values, scale = quantise_weight(weight)
    assert (values.dtype, scale.dtype, scale.shape) == (torch.int8, torch.float32, shape[:1])
    assert values.abs().amax() == 127
    off = (dequantise_weight(values, scale) - weight).abs().flatten(1).amax(1)
    assert (off <= scale * (0.5 + 1e-4)).all()
    torch.testing.assert_close(scale, weight.flatten(1).abs().amax(1) / 127)


@settings(deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([(5, 2, 3, 3), (4, 3, 7, 7)]))
def test_a_kernels_sum_is_kept(seed: int, shape: tuple[int, ...]) -> None:
    weight = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    values, scale = quantise_weight(weight)
    assert values.abs().amax() == 127
    off = dequantise_weight(values, scale) - weight
    step = scale.view(-1, 1, 1, 1)
    assert (off.abs() < (1 + 1e-4) * step).all()
    sums = off.sum((2, 3)).abs()
    assert (sums <= (0.5 + 1e-3) * step[..., 0, 0]).all()
    nearest = (weight / scale.view(-1, 1, 1, 1)).round() * scale.view(-1, 1, 1, 1) - weight
    assert sums.mean() < nearest.sum((2, 3)).abs().mean()


def test_a_channel_of_zeros_stays_so() -> None:
    weight = torch.tensor([[0.0, 0.0], [1.0, -2.0]])
    values, scale = quantise_weight(weight)
    assert values.tolist() == [[0, 0], [64, -127]]
    assert dequantise_weight(values, scale)[0].tolist() == [0.0, 0.0]


def test_only_weights_are_touched_and_all_names_come_back() -> None:
    tensors = {
        "conv.weight": torch.randn(4, 3, 3, 3),
        "conv.bias": torch.randn(4),
        "norm.running_var": torch.rand(4),
        "norm.num_batches_tracked": torch.tensor(7),
        "table": torch.arange(6).view(2, 3),
    }
    small = quantise(tensors)
    assert set(small) == {*tensors, "conv.weight.scale"}
    assert small["conv.weight"].dtype == torch.int8
    again = dequantise(small)
    assert list(again) == list(tensors)
    for name in set(tensors) - {"conv.weight"}:
        assert again[name] is tensors[name]
    assert again["conv.weight"].dtype == torch.float32
    twice = dequantise(quantise(again))  # what was on the grid stays on it
    torch.testing.assert_close(twice["conv.weight"], again["conv.weight"], atol=0, rtol=1e-6)
    plain = dict(tensors)
    assert dequantise(plain) == plain


def test_what_cannot_be_is_refused() -> None:
    for bad in (torch.inf, torch.nan):
        with pytest.raises(ValueError, match="infinite or undefined"):
            quantise({"w": torch.tensor([[1.0, bad]])})
    values, scale = quantise_weight(torch.randn(4, 3))
    for tensors in ({"w": values}, {"w": values, "w.scale": scale[:3]}):
        with pytest.raises(ValueError, match="w lacks its scales"):
            dequantise(tensors)
