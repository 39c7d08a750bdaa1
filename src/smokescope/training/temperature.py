"""One number that makes a model's confidence honest: the temperature that its logits are divided by.

Guo et al., "On Calibration of Modern Neural Networks", ICML 2017. It is fitted on pictures that the model was
not trained on, every picture weighing the same. Logits are counted into bins by label, so that a thousand
pictures' pixels are read once and any temperature is tried on the counts.
"""

import torch
from torch import Tensor
from torch.nn import functional

REACH = 16.0  # of the logits that are told apart; a float32 probability goes no further
BINS = 3200
LOWEST, HIGHEST = 0.2, 5.0


class LogitCounts:
    """Pixels without and with smoke by their logit, [2, BINS]; of each picture they add up to 1."""

    def __init__(self, device: torch.device) -> None:
        self.counts = torch.zeros(2, BINS, dtype=torch.float64, device=device)

    def update(self, probability: Tensor, mask: Tensor) -> None:
        """Take in pictures: probabilities and booleans [N, H, W]."""
        place = (torch.logit(probability.float()).clamp(-REACH, REACH) + REACH) * (BINS / (2 * REACH))
        level = place.long().clamp(max=BINS - 1) + BINS * mask
        counted = torch.bincount(level.flatten(), minlength=2 * BINS).double().view(2, BINS)
        self.counts += counted / mask[0].numel()


def fit_temperature(counts: Tensor) -> float | None:
    """The temperature of the least negative log-likelihood, by golden section.

    None where no pixel is smoke: the surer a model is of everything, the better it would seem.
    """
    if not counts[1].any():
        return None
    low, high = torch.tensor(LOWEST).log().item(), torch.tensor(HIGHEST).log().item()
    golden = (5**0.5 - 1) / 2
    for _ in range(40):
        one, two = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, two) if _cost(counts, one) < _cost(counts, two) else (one, high)
    return round(float(torch.tensor((low + high) / 2).exp()), 4)


def _cost(counts: Tensor, log_temperature: float) -> float:
    width = 2 * REACH / BINS
    logits = (torch.arange(BINS, dtype=torch.float64, device=counts.device) + 0.5) * width - REACH
    scaled = logits * torch.tensor(-log_temperature).exp()
    return float((counts[0] * functional.softplus(scaled) + counts[1] * functional.softplus(-scaled)).sum())
