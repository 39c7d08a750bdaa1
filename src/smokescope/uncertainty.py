"""What a set of stochastic predictions says about its own doubt (Eq. 3, Eq. 5 and the definitions below it).

For samples p_b of the probability of smoke, b = 1..B, with H the binary entropy in nats:

    total      U_p = H(mean of p_b)
    aleatoric  U_a = mean of H(p_b)
    epistemic  U_e = U_p - U_a, at or above 0 by Jensen's inequality

    >>> decompose(torch.randn(8, 2, 1, 48, 64)).total.shape
    torch.Size([2, 1, 48, 64])
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from smokescope.precision import at_least_float32

LN2 = math.log(2)  # the largest binary entropy


def binary_entropy(logits: Tensor) -> Tensor:
    """Entropy in nats of a coin whose side has probability sigmoid(logits); any shape, both terms.

    H = log(1 + e^-a) + a * sigmoid(-a) with a = |logits|: no cancellation, and 0 where a is large. Halves are
    computed in float32.
    """
    magnitude = at_least_float32(logits).abs()
    return functional.softplus(-magnitude) + magnitude * torch.sigmoid(-magnitude)


class Decomposition(NamedTuple):
    """Mean prediction and its three uncertainties in [0, ln 2], each of a sample's shape."""

    probability: Tensor
    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor


def decompose(samples: Tensor | Iterable[Tensor], *, unbiased: bool = False) -> Decomposition:
    """Decompose samples [B, ...] of the logits, or an iterable of such blocks taken in one by one.

    Only two sums are kept of all blocks: fifty samples of a picture need no more memory than one block.

    Args:
        samples: Logits.
        unbiased: Estimate what endless samples would give. Their own mean is nearer to B samples than the
            true one is, as in a sample's variance, so U_e, and U_p with it, are low by U_e / B in the mean.

    Raises:
        ValueError: There are no samples.
    """
    count, sums = 0, None
    for block in (samples,) if isinstance(samples, Tensor) else samples:
        logits = at_least_float32(block)
        more = torch.sigmoid(logits).sum(0), binary_entropy(logits).sum(0)
        sums = more if sums is None else (sums[0] + more[0], sums[1] + more[1])
        count += logits.shape[0]
    if sums is None or count == 0:
        raise ValueError("no sample was added: nothing to decompose")
    probability, entropy = sums
    mean = (probability / count).clamp(0, 1)
    total = entropy_of_probability(mean)
    # rounding alone can push the mean entropy above the entropy of the mean
    aleatoric = (entropy / count).minimum(total)
    if unbiased and count > 1:  # one sample knows nothing of how samples differ
        total = (aleatoric + (total - aleatoric) * (count / (count - 1))).clamp(max=LN2)
    return Decomposition(mean, total, aleatoric, total - aleatoric)


def entropy_of_probability(p: Tensor) -> Tensor:
    """Binary entropy of probabilities in [0, 1], 0 at both ends, never above ln 2."""
    negative: Tensor = torch.xlogy(p, p) + torch.special.xlog1py(1 - p, -p)
    return -negative.clamp(min=-LN2, max=0.0)
