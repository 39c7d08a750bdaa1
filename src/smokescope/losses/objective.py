"""The whole objective of the Bayesian latent variable model (Eq. 11).

    L_gen = structure + KL + lambda_1 * transmission + lambda_2 * calibrated entropy

The uncertainty net has its own loss, Eq. 6, and its own optimiser; see consistency.py.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from smokescope.losses.entropy import calibrated_entropy_loss, entropy_loss
from smokescope.losses.kl import kl_loss
from smokescope.losses.structure import Edges
from smokescope.losses.supervision import supervision_loss
from smokescope.losses.transmission import transmission_loss
from smokescope.precision import at_least_float32
from smokescope.settings.ranges import refuse_other_choices, refuse_outside, refuse_up_to_zero


@dataclass(frozen=True, kw_only=True)
class ObjectiveSettings:
    """Weights and settings of the objective; the defaults are the paper's.

    Attributes:
        edges: which edge weight the structure loss uses; see `edge_weight`.
        kl: weight of the KL divergence.
        free_nats: nats of the KL divergence, in each dimension of z, that cost nothing.
        transmission: weight lambda_1 of the transmission loss.
        entropy: weight of the plain entropy loss, the ablation's third row.
        calibrated_entropy: weight lambda_2 of the calibrated entropy loss.
        temperature_scale: scale of the calibrated entropy's temperature.
        epistemic: weight of the epistemic map in the uncertainty net's own loss; see `consistency_loss`.
        window: side of the transmission loss's window.
        sigma_p: bandwidth of distance in that loss.
        sigma_t: bandwidth of transmission in that loss.
        shrink: factor by which its maps are shrunk first, by averaging.
    """

    edges: Edges = "surround"
    kl: float = 1.0
    free_nats: float = 0.0
    transmission: float = 0.3
    entropy: float = 0.0
    calibrated_entropy: float = 0.01
    temperature_scale: float = 1.0
    epistemic: float = 0.0
    window: int = 5
    sigma_p: float = 3.0
    sigma_t: float = 0.1
    shrink: int = 4

    def __post_init__(self) -> None:
        refuse_other_choices(self)
        weights = ("kl", "free_nats", "transmission", "entropy", "calibrated_entropy", "epistemic")
        refuse_outside(self, 0, math.inf, *weights)
        refuse_up_to_zero(self, "temperature_scale", "window", "sigma_p", "sigma_t", "shrink")
        if self.window % 2 == 0:
            raise ValueError(f"window must be odd, to have a middle, not {self.window}")


class Terms(NamedTuple):
    """The objective and its terms, unweighted, as scalars; a term of weight 0 is 0 and was not computed."""

    total: Tensor
    structure: Tensor
    kl: Tensor
    transmission: Tensor
    entropy: Tensor
    calibrated_entropy: Tensor


def objective(
    logits: Tensor,
    mask: Tensor,
    mean: Tensor,
    log_variance: Tensor,
    transmission: Tensor,
    total_uncertainty: Tensor,
    settings: ObjectiveSettings,
) -> Terms:
    """Eq. 11 for a batch.

    Args:
        logits: one stochastic prediction of each picture [N, 1, H, W].
        mask: ground truth in [0, 1], [N, 1, H, W]; or strokes of smoke and of background [N, 2, H, W].
        mean: mean of the posterior of z [N, latent].
        log_variance: log-variance of the posterior of z [N, latent].
        transmission: transmission T of the pictures [N, 1, H, W].
        total_uncertainty: the uncertainty net's U_p [N, 1, H, W].
        settings: weights and settings of the terms.
    """
    logits, s = at_least_float32(logits), settings
    nothing = torch.zeros((), dtype=logits.dtype, device=logits.device)
    structure = supervision_loss(logits, mask, s.edges)
    kl = kl_loss(mean, log_variance, s.free_nats) if s.kl else nothing
    coherence = (
        transmission_loss(logits.sigmoid(), transmission, s.window, s.sigma_p, s.sigma_t, s.shrink)
        if s.transmission
        else nothing
    )
    plain = entropy_loss(logits) if s.entropy else nothing
    calibrated = (
        calibrated_entropy_loss(logits, total_uncertainty, s.temperature_scale)
        if s.calibrated_entropy
        else nothing
    )
    total = (
        structure
        + s.kl * kl
        + s.transmission * coherence
        + s.entropy * plain
        + s.calibrated_entropy * calibrated
    )
    return Terms(total, structure, kl, coherence, plain, calibrated)


class Objective(nn.Module):
    """Module of `objective`."""

    def __init__(self, settings: ObjectiveSettings | None = None) -> None:
        super().__init__()
        self.settings = settings or ObjectiveSettings()

    def forward(
        self,
        logits: Tensor,
        mask: Tensor,
        mean: Tensor,
        log_variance: Tensor,
        transmission: Tensor,
        total_uncertainty: Tensor,
    ) -> Terms:
        """Call `objective`."""
        return objective(logits, mask, mean, log_variance, transmission, total_uncertainty, self.settings)
