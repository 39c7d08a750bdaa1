"""Weights in a quarter of the room: whole numbers of 8 bits, with one scale for each output channel.

A channel's largest magnitude becomes 127, and 0 stays 0. Values are rounded to the nearest, w = scale * q to
within scale / 2, but for some of a kernel's that go the other way, so that its sum is kept to within scale/2
as well: what a kernel gives for an even patch is its sum, and thin smoke is nearly even. Only tensors of two
dimensions or more are treated so: they are nearly all of a model's values, while batch norm's statistics and
biases are few and would suffer.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

SCALE = ".scale"  # behind a weight's name: the name of its scales
LEVELS = 127  # symmetric: -128 is not used


def quantise_weight(weight: Tensor, levels: int = LEVELS) -> tuple[Tensor, Tensor]:
    """Quantise a weight [out, ...]: int8 of the same shape, and float32 scales [out].

    Args:
        weight: In floating point.
        levels: What a channel's largest magnitude becomes.

    Raises:
        ValueError: A value is infinite or undefined.
    """
    weight = weight.detach().float()
    if not weight.isfinite().all():
        raise ValueError("infinite or undefined (NaN) values cannot be stored in 8 bits")
    largest = weight.flatten(1).abs().amax(1)
    scale = torch.where(largest > 0, largest / levels, 1.0)  # a channel of zeros needs no scale
    exact = weight / _along(scale, weight)
    rounded = _keep_sums(exact) if weight.ndim > 2 else exact.round()
    return rounded.to(torch.int8), scale


def dequantise_weight(values: Tensor, scale: Tensor) -> Tensor:
    """Inverse of `quantise_weight`, in float32."""
    return values.float() * _along(scale, values)


def quantise(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Quantise every floating-point tensor of two dimensions or more; its scales join as "NAME.scale"."""
    result: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and tensor.ndim >= 2:
            result[name], result[name + SCALE] = quantise_weight(tensor)
        else:
            result[name] = tensor
    return result


def dequantise(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Inverse of `quantise`; tensors that were not quantised are given back as they are.

    Raises:
        ValueError: An 8-bit weight has no scales, or not one for each output channel.
    """
    eight = {name for name, tensor in tensors.items() if tensor.dtype == torch.int8}
    result = {}
    for name, tensor in tensors.items():
        if name in eight:
            scale = tensors.get(name + SCALE)
            if scale is None or scale.shape != tensor.shape[:1]:
                raise ValueError(f"the 8-bit weight {name} lacks its scales")
            result[name] = dequantise_weight(tensor, scale)
        elif name.removesuffix(SCALE) not in eight:
            result[name] = tensor
    return result


def _keep_sums(exact: Tensor) -> Tensor:
    """Round kernels [out, in, ...], so that each one's sum is off by a half at most.

    Those values are moved by one that had been rounded the furthest the wrong way.
    """
    taps = exact.flatten(2)
    rounded = taps.round()
    off = taps - rounded
    short = off.sum(2, keepdim=True).round()
    place = off.argsort(dim=2, descending=True, stable=True).argsort(2)  # 0: rounded down the furthest
    up, down = place < short, place >= taps.shape[2] + short
    return (rounded + up.float() - down.float()).view_as(exact)


def _along(scale: Tensor, weight: Tensor) -> Tensor:
    return scale.view(-1, *[1] * (weight.ndim - 1))
