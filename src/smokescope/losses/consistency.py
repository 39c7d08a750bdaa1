"""Uncertainty consistency: the uncertainty net's maps against those of sampling (Eq. 6)."""

from torch import Tensor, nn
from torch.nn import functional

from smokescope.precision import at_least_float32


def consistency_loss(
    total: Tensor, aleatoric: Tensor, sampled_total: Tensor, sampled_aleatoric: Tensor
) -> Tensor:
    """Mean of the two mean squared differences, all maps of one shape.

    Args:
        total: the net's estimate of U_p.
        aleatoric: the net's estimate of U_a.
        sampled_total: U_p of Monte Carlo samples; no gradient flows to it.
        sampled_aleatoric: U_a of Monte Carlo samples; no gradient flows to it.
    """
    pairs = ((total, sampled_total), (aleatoric, sampled_aleatoric))
    errors = [functional.mse_loss(at_least_float32(a), at_least_float32(b.detach())) for a, b in pairs]
    return (errors[0] + errors[1]) / 2


class ConsistencyLoss(nn.Module):
    """Module of `consistency_loss`."""

    def forward(
        self, total: Tensor, aleatoric: Tensor, sampled_total: Tensor, sampled_aleatoric: Tensor
    ) -> Tensor:
        """Call `consistency_loss`."""
        return consistency_loss(total, aleatoric, sampled_total, sampled_aleatoric)
