"""Does the model use its chance? How much of the logits' variance comes from z, how much from dropout.

A z or a dropout that the network has learned to pass over makes the epistemic uncertainty empty. Every
training report shows these figures; near zero is a failure to mend or to state.
"""

from typing import TypedDict

import torch
from torch import Tensor

from smokescope.chance import make_keys
from smokescope.losses.kl import kl_loss
from smokescope.models.bvm import Encoding, SmokeBVM, evaluating

SAMPLES = 8


class LatentFigures(TypedDict):
    """What chance does to the logits."""

    kl: float
    """Nats that z holds about a picture."""
    latent_share: float
    """Share of the logits' variance that z alone brings about, of what z and dropout do together."""
    dropout_share: float
    """Likewise of dropout alone."""


@torch.no_grad()
def measure_latent(model: SmokeBVM, pictures: Tensor) -> LatentFigures:
    """Measure on some pictures as the network sees them [N, 3, H, W]."""
    with evaluating(model):
        encoding = model.encode(pictures)
        count = len(pictures) * SAMPLES
        keys = make_keys(0, torch.arange(count, device=pictures.device))
        z, certain = model.draw_latent(encoding, keys), encoding.posterior.mean.repeat(SAMPLES, 1)
        both, latent, dropout = (
            _variance(model, encoding, *draw) for draw in ((z, keys), (z, None), (certain, keys))
        )
        kl = kl_loss(encoding.posterior.mean, encoding.posterior.log_variance)
    return {
        "kl": float(kl),
        "latent_share": latent / max(both, 1e-12),
        "dropout_share": dropout / max(both, 1e-12),
    }


def _variance(model: SmokeBVM, encoding: Encoding, z: Tensor, keys: Tensor | None) -> float:
    logits = model.decode(encoding, z, keys).float()
    return float(logits.view(SAMPLES, -1).var(0).mean())
