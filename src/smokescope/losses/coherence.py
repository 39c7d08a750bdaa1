"""The sums behind the transmission loss, and their gradient, without ever unfolding a window.

With c(m) = (1 - T(m)) / Z(m) / M, M the number of pixels, the sum over ordered pairs in Eq. 7 is one over
unordered pairs, since K and |p(m) - p(n)| are symmetric even though c is not:

    L = sum over {m, n} of K(m, n) * (c(m) + c(n)) * |p(m) - p(n)|
    dL/dp(m) = sum over n of K(m, n) * (c(m) + c(n)) * sign(p(m) - p(n))

So half the offsets suffice, each a few operations on two shifted views; loss and gradient come out of one
sweep, and nothing but the gradient, one map, need be kept for the backward pass.

On CUDA one kernel of coherence_triton.py replaces those several hundred small ones: there it is the launches
that cost, 13 ms of them against 0.6 (forward and backward, 6 x 480 x 480, radius 5, one H200; the same code
compiled by inductor takes 4.2 ms, after two minutes of compiling).
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

try:
    from smokescope.losses import coherence_triton
except ImportError:  # Triton is on Linux only, and not beside every build of torch
    coherence_triton = None  # type: ignore[assignment]


@torch.library.custom_op("smokescope::coherence", mutates_args=())
def coherence(p: Tensor, t: Tensor, radius: int, sigma_p: float, sigma_t: float) -> tuple[Tensor, Tensor]:
    """Loss of Eq. 7, a scalar, and its gradient by p [N, 1, H, W]. Opaque to torch.compile.

    Args:
        p: probability [N, 1, H, W], float32 or float64.
        t: transmission [N, 1, H, W], of p's kind.
        radius: radius of the window, in pixels.
        sigma_p: bandwidth of distance.
        sigma_t: bandwidth of transmission.
    """
    scaled = t * (math.sqrt(0.5) / sigma_t)

    def kernels() -> Iterator[tuple[int, int, Tensor]]:
        for dy, dx in _half_window(radius):
            near, far = _shifted(scaled, dy, dx)
            distance = (dy * dy + dx * dx) / (2 * sigma_p * sigma_p)
            yield dy, dx, (near - far).square_().neg_().sub_(distance).exp_()

    z = torch.ones_like(t)  # K(m, m)
    for dy, dx, k in kernels():
        for view in _shifted(z, dy, dx):
            view += k
    c = (1 - t) / z.mul_(t.numel())

    terms, gradient = torch.zeros_like(p), torch.zeros_like(p)
    for dy, dx, k in kernels():
        c_near, c_far = _shifted(c, dy, dx)
        p_near, p_far = _shifted(p, dy, dx)
        g_near, g_far = _shifted(gradient, dy, dx)
        difference = p_near - p_far
        push = k.mul_(c_near + c_far).mul_(difference.sign())
        g_near += push
        g_far -= push
        _shifted(terms, dy, dx)[0].addcmul_(push, difference)
    return terms.sum(), gradient


@coherence.register_fake
def _(p: Tensor, t: Tensor, radius: int, sigma_p: float, sigma_t: float) -> tuple[Tensor, Tensor]:
    return p.new_empty(()), torch.empty_like(p)


if coherence_triton is not None:
    coherence.register_kernel("cuda")(coherence_triton.coherence)


def _half_window(radius: int) -> Iterator[tuple[int, int]]:
    """One offset (dy, dx) of each opposite pair of a window's offsets."""
    for dy in range(radius + 1):
        for dx in range(-radius if dy else 1, radius + 1):
            yield dy, dx


def _shifted(x: Tensor, dy: int, dx: int) -> tuple[Tensor, Tensor]:
    """Views of all pixels m that have a neighbour m + (dy, dx), and of those neighbours; dy >= 0."""
    height, width = x.shape[-2:]
    rows, columns = max(height - dy, 0), max(width - abs(dx), 0)
    left = max(-dx, 0)
    near = x[..., :rows, left : left + columns]
    far = x[..., dy : dy + rows, left + dx : left + dx + columns]
    return near, far
