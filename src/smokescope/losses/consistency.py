"""Uncertainty consistency: the uncertainty net's maps against those of sampling (Eq. 6)."""

from torch import Tensor, nn
from torch.nn import functional

from smokescope.precision import at_least_float32


def consistency_loss(
    total: Tensor,
    aleatoric: Tensor,
    sampled_total: Tensor,
    sampled_aleatoric: Tensor,
    epistemic: float = 0.0,
) -> Tensor:
    """Mean of the two mean squared differences, all maps of one shape; and of their difference's, weighted.

    Epistemic uncertainty is the small difference of two large maps: an error that is nothing to either can be
    all of it, so it needs a term of its own. Its spread is about a fortieth of the total's.

    Args:
        total: the net's estimate of U_p.
        aleatoric: the net's estimate of U_a.
        sampled_total: U_p of Monte Carlo samples; no gradient flows to it.
        sampled_aleatoric: U_a of Monte Carlo samples; no gradient flows to it.
        epistemic: weight of the mean squared difference of U_p - U_a; 0 is Eq. 6.
    """
    maps = (total, aleatoric, sampled_total.detach(), sampled_aleatoric.detach())
    total, aleatoric, sampled_total, sampled_aleatoric = (at_least_float32(each) for each in maps)
    loss = (functional.mse_loss(total, sampled_total) + functional.mse_loss(aleatoric, sampled_aleatoric)) / 2
    if epistemic:
        loss = loss + epistemic * functional.mse_loss(total - aleatoric, sampled_total - sampled_aleatoric)
    return loss


class ConsistencyLoss(nn.Module):
    """Module of `consistency_loss`."""

    def __init__(self, epistemic: float = 0.0) -> None:
        super().__init__()
        self.epistemic = epistemic

    def forward(
        self, total: Tensor, aleatoric: Tensor, sampled_total: Tensor, sampled_aleatoric: Tensor
    ) -> Tensor:
        """Call `consistency_loss`."""
        return consistency_loss(total, aleatoric, sampled_total, sampled_aleatoric, self.epistemic)
