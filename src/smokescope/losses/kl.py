"""Kullback-Leibler divergence of the posterior of z from its prior, the second term of Eq. 2."""

import torch
from torch import Tensor, nn

from smokescope.precision import at_least_float32


def kl_loss(mean: Tensor, log_variance: Tensor, free: float = 0.0) -> Tensor:
    """Divergence of N(mean, exp(log_variance)) from N(0, I) in nats: sum over z, mean over the batch.

    Args:
        mean: mean of z, [N, latent].
        log_variance: logarithm of its variance, [N, latent].
        free: nats that a dimension may hold at no cost ("free bits"): it counts as this much, without a
            gradient, until it holds more. Above 0, z is not driven to say nothing.
    """
    mean, log_variance = at_least_float32(mean), at_least_float32(log_variance)
    # expm1(v) - v is exp(v) - 1 - v without the cancellation near v = 0
    divergence = 0.5 * (mean.square() + torch.expm1(log_variance) - log_variance)
    return divergence.clamp(min=free).sum(-1).mean()


class KLLoss(nn.Module):
    """Module of `kl_loss`."""

    def __init__(self, free: float = 0.0) -> None:
        super().__init__()
        self.free = free

    def forward(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        """Call `kl_loss`."""
        return kl_loss(mean, log_variance, self.free)
