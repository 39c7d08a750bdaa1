"""The inference network P(z given x): from a picture to a Gaussian over the latent variable (Eq. 2).

>>> posterior = InferenceNet()(torch.rand(2, 3, 480, 480))
>>> posterior.mean.shape
torch.Size([2, 8])
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from smokescope.models.narrow import NarrowConv2d

LOG_VARIANCE_BOUND = 10.0  # exp of it stays calm in half precision; 10 is a sigma of 148


class Posterior(NamedTuple):
    """A diagonal Gaussian over z, [N, latent] each."""

    mean: Tensor
    log_variance: Tensor

    def sample(self, noise: Tensor) -> Tensor:
        """Reparameterise: z = mean + sigma * noise. Noise [..., N, latent] is standard normal."""
        return self.mean + torch.exp(0.5 * self.log_variance) * noise


class InferenceNet(nn.Module):
    """Five 4x4 convolutions of stride 2 with batch norm and leaky ReLU, averaged over the picture.

    The paper gives the five convolutions and z; the channels, the average over the picture (so that any size
    works) and the bound on the log-variance are decided here.

    Args:
        latent: dimensions of z.
        width: channels of the first convolution; the others have 2, 4, 8 and 8 times as many.
    """

    def __init__(self, latent: int = 8, width: int = 32) -> None:
        super().__init__()
        channels = (3, width, 2 * width, 4 * width, 8 * width, 8 * width)
        self.layers = nn.Sequential(*map(_halve, channels[:-1], channels[1:]))
        self.mean = nn.Linear(channels[-1], latent)
        self.log_variance = nn.Linear(channels[-1], latent)

    def forward(self, x: Tensor) -> Posterior:
        """Turn normalised pictures [N, 3, H, W] into the posterior of z."""
        pooled = self.layers(x).mean((-2, -1))
        bound = LOG_VARIANCE_BOUND
        return Posterior(self.mean(pooled), self.log_variance(pooled).clamp(-bound, bound))


def _halve(inputs: int, outputs: int) -> nn.Sequential:
    """One layer; padded so that a side of n becomes ceil(n / 2), even where n is 1."""
    return nn.Sequential(
        nn.ZeroPad2d((1, 2, 1, 2)),
        NarrowConv2d(inputs, outputs, 4, stride=2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.LeakyReLU(0.2, inplace=True),
    )
