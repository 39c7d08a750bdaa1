"""coherence.py on CUDA: two kernels, a thread a pixel, each neighbour read from the cache.

Symmetry does not pay here: it would halve the arithmetic, which is free, for atomic writes, which are not.
"""

import torch
import triton
from torch import Tensor
from triton import language as tl

BLOCK = 256


def coherence(p: Tensor, t: Tensor, radius: int, sigma_p: float, sigma_t: float) -> tuple[Tensor, Tensor]:
    """Loss and gradient as in coherence.py."""
    p, t = p.contiguous(), t.contiguous()
    c, terms, gradient = torch.empty_like(p), torch.empty_like(p), torch.empty_like(p)
    height, width = p.shape[-2:]
    grid = (triton.cdiv(height * width, BLOCK), p.numel() // (height * width))
    settings = (height, width, radius, 0.5 / sigma_p**2, 0.5 / sigma_t**2, BLOCK)
    with torch.cuda.device(p.device if p.is_cuda else -1):  # Triton launches on the current device
        _normalise_and_sum[grid](p, t, c, terms, p.numel(), *settings)
        _differentiate[grid](p, t, c, gradient, *settings)
    return terms.sum(), gradient


@triton.jit  # type: ignore[untyped-decorator]  # Triton ships no types
def _similarity(  # type: ignore[no-untyped-def]
    t_m, t_n, dy, dx, inside, near: tl.constexpr, alike: tl.constexpr
):
    """K(m, n) of Eq. 8, 0 outside the picture."""
    difference = t_m - t_n
    k = tl.exp(-near * (dy * dy + dx * dx) - alike * difference * difference)
    return tl.where(inside, k, 0.0)


@triton.jit  # type: ignore[untyped-decorator]  # Triton ships no types
def _normalise_and_sum(  # type: ignore[no-untyped-def]
    p, t, c, terms, pixels, height, width,
    radius: tl.constexpr, near: tl.constexpr, alike: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """c(m) = (1 - T(m)) / Z(m) / pixels, and m's term of the loss."""
    i = tl.program_id(0) * block + tl.arange(0, block)
    start = tl.program_id(1) * height * width
    valid = i < height * width
    y, x = i // width, i % width
    p_m = tl.load(p + start + i, mask=valid, other=0.0)
    t_m = tl.load(t + start + i, mask=valid, other=0.0)
    z, coherent = tl.zeros_like(t_m), tl.zeros_like(t_m)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            inside = valid & (y + dy >= 0) & (y + dy < height) & (x + dx >= 0) & (x + dx < width)
            n = start + i + dy * width + dx
            p_n = tl.load(p + n, mask=inside, other=0.0)
            t_n = tl.load(t + n, mask=inside, other=0.0)
            k = _similarity(t_m, t_n, dy, dx, inside, near, alike)
            z += k
            coherent += k * tl.abs(p_m - p_n)
    weight = (1 - t_m) / (z * pixels)
    tl.store(c + start + i, weight, mask=valid)
    tl.store(terms + start + i, weight * coherent, mask=valid)


@triton.jit  # type: ignore[untyped-decorator]  # Triton ships no types
def _differentiate(  # type: ignore[no-untyped-def]
    p, t, c, gradient, height, width,
    radius: tl.constexpr, near: tl.constexpr, alike: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """dL/dp(m), from all c."""
    i = tl.program_id(0) * block + tl.arange(0, block)
    start = tl.program_id(1) * height * width
    valid = i < height * width
    y, x = i // width, i % width
    p_m = tl.load(p + start + i, mask=valid, other=0.0)
    t_m = tl.load(t + start + i, mask=valid, other=0.0)
    c_m = tl.load(c + start + i, mask=valid, other=0.0)
    total = tl.zeros_like(p_m)
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            inside = valid & (y + dy >= 0) & (y + dy < height) & (x + dx >= 0) & (x + dx < width)
            n = start + i + dy * width + dx
            p_n = tl.load(p + n, mask=inside, other=0.0)
            t_n = tl.load(t + n, mask=inside, other=0.0)
            c_n = tl.load(c + n, mask=inside, other=0.0)
            push = _similarity(t_m, t_n, dy, dx, inside, near, alike) * (c_m + c_n)
            total += tl.where(p_m > p_n, push, tl.where(p_m < p_n, -push, 0.0))
    tl.store(gradient + start + i, total, mask=valid)
