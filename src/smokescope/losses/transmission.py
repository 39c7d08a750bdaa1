"""Transmission-guided local coherence: alike in transmission and near, so alike in prediction (Eq. 7 and 8).

    K(m, n) = exp(-|m - n|^2 / 2 sigma_P^2 - (T(m) - T(n))^2 / 2 sigma_T^2),  W(m, n) = K(m, n) / Z(m)
    L = mean over m of (1 - T(m)) * sum over n of W(m, n) * |p(m) - p(n)|

with n in the k x k window around m, inside the picture, and Z(m) the sum of K there, m itself included.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from smokescope.losses.coherence import coherence
from smokescope.precision import at_least_float32


def transmission_loss(
    probability: Tensor,
    transmission: Tensor,
    window: int = 5,
    sigma_p: float = 3.0,
    sigma_t: float = 0.1,
    shrink: int = 4,
) -> Tensor:
    """Local coherence of the prediction, guided by transmission and weighted by 1 - T (Eq. 7 and 8).

    Args:
        probability: p in [0, 1], [N, 1, H, W].
        transmission: T in [0, 1], [N, 1, H, W]; no gradient flows to it.
        window: odd side k of the window, in shrunken pixels.
        sigma_p: bandwidth of distance, in shrunken pixels.
        sigma_t: bandwidth of transmission.
        shrink: factor by which both maps are shrunk first, by averaging; 1 leaves them as they are.
    """
    if window < 1 or window % 2 == 0:
        raise ValueError(f"the window must be an odd number of pixels, 1 or more, not {window}")
    maps = [at_least_float32(probability), at_least_float32(transmission.detach())]
    if shrink > 1:  # a last block that sticks out is averaged over the pixels it has
        maps = [functional.avg_pool2d(m, shrink, ceil_mode=True) for m in maps]
    p, t = maps
    with torch.no_grad():
        loss, gradient = coherence(p, t, window // 2, sigma_p, sigma_t)
    # adds exactly 0 to the value and hands the closed-form gradient to autograd
    surrogate: Tensor = loss + (gradient * (p - p.detach())).sum()
    return surrogate


class TransmissionLoss(nn.Module):
    """Module of `transmission_loss`, which see for the arguments."""

    def __init__(self, window: int = 5, sigma_p: float = 3.0, sigma_t: float = 0.1, shrink: int = 4) -> None:
        super().__init__()
        self.window, self.sigma_p, self.sigma_t, self.shrink = window, sigma_p, sigma_t, shrink

    def forward(self, probability: Tensor, transmission: Tensor) -> Tensor:
        """Call `transmission_loss`."""
        return transmission_loss(
            probability, transmission, self.window, self.sigma_p, self.sigma_t, self.shrink
        )
