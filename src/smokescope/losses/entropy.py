"""Entropy of the prediction, plain and with the learned uncertainty as temperature (Eq. 10)."""

from torch import Tensor, nn

from smokescope.precision import at_least_float32
from smokescope.uncertainty import binary_entropy

FLOOR = 0.05


def entropy_loss(logits: Tensor) -> Tensor:
    """Mean binary entropy of sigmoid(logits) in nats: pushes predictions to 0 or 1 (the ablation's L_en).

    Args:
        logits: prediction s, any shape.
    """
    return binary_entropy(logits).mean()


def calibrated_entropy_loss(
    logits: Tensor, total: Tensor, scale: float = 1.0, floor: float = FLOOR
) -> Tensor:
    """Mean binary entropy of sigmoid(s / temperature), temperature = max(scale * U_p, floor) (Eq. 10).

    Eq. 10 writes one term of the sum over c; both are meant, or it would not be an entropy. U_p never exceeds
    ln 2, so that with the paper's scale of 1 the temperature sharpens everywhere; a scale above 1 / ln 2 lets
    it soften where the uncertainty is high, which is what the paper's text says it does.

    Args:
        logits: prediction s.
        total: U_p in nats, of the same shape; no gradient flows to it.
        scale: factor of U_p in the temperature.
        floor: lowest temperature, since U_p may be 0.
    """
    temperature = (scale * at_least_float32(total.detach())).clamp(min=floor)
    return entropy_loss(at_least_float32(logits) / temperature)


class EntropyLoss(nn.Module):
    """Module of `entropy_loss`."""

    def forward(self, logits: Tensor) -> Tensor:
        """Call `entropy_loss`."""
        return entropy_loss(logits)


class CalibratedEntropyLoss(nn.Module):
    """Module of `calibrated_entropy_loss`, which see for the arguments."""

    def __init__(self, scale: float = 1.0, floor: float = FLOOR) -> None:
        super().__init__()
        self.scale, self.floor = scale, floor

    def forward(self, logits: Tensor, total: Tensor) -> Tensor:
        """Call `calibrated_entropy_loss`."""
        return calibrated_entropy_loss(logits, total, self.scale, self.floor)
