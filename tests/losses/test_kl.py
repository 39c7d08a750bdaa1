"""The KL divergence against torch's distributions."""

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from smokescope.losses.kl import KLLoss, kl_loss


def posterior(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    mean, log_variance = torch.randn(
        2, 5, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    return mean, log_variance


def test_is_the_second_term_of_eq_2() -> None:
    mean, log_variance = posterior()
    divergence = kl_divergence(
        Normal(mean, (0.5 * log_variance).exp()), Normal(torch.tensor(0.0), torch.tensor(1.0))
    )
    torch.testing.assert_close(KLLoss()(mean, log_variance), divergence.sum(-1).mean())


def test_is_zero_at_the_prior_and_positive_elsewhere() -> None:
    zeros = torch.zeros(3, 8)
    assert kl_loss(zeros, zeros).item() == 0
    assert kl_loss(zeros + 0.1, zeros).item() == pytest.approx(8 * 0.005)
    assert kl_loss(zeros, zeros - 1).item() > 0


def test_passes_gradcheck() -> None:
    assert torch.autograd.gradcheck(kl_loss, tuple(x.requires_grad_() for x in posterior(1)))
