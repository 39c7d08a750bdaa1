"""What one step minimises, as modules: gradients of many devices meet where their forward is wrapped.

The generative model and the uncertainty net have losses of their own, optimisers of their own, and no
parameter in common; the net sees detached predictions and the entropy loss a detached temperature. So one
backward pass of the sum gives each its own gradient.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from smokescope.losses.consistency import consistency_loss
from smokescope.losses.objective import ObjectiveSettings, objective
from smokescope.losses.structure import Edges
from smokescope.losses.supervision import supervision_loss
from smokescope.models.bvm import SmokeBVM, evaluating
from smokescope.models.unet import UNet
from smokescope.training.feed import Examples
from smokescope.uncertainty import decompose

Losses = dict[str, Tensor]
"""`loss`, to be minimised, and what it is made of, unweighted; scalars."""


class GenerativeStep(nn.Module):
    """Eq. 11 and Eq. 6 together.

    Args:
        model: To be trained.
        settings: Settings of the objective.
        samples: B, for the uncertainty net's targets; 0 leaves the net alone.
    """

    def __init__(self, model: SmokeBVM, settings: ObjectiveSettings, samples: int) -> None:
        super().__init__()
        self.model, self.settings, self.samples = model, settings, samples

    def forward(self, examples: Examples, kl_factor: float = 1.0) -> Losses:
        """Losses of a batch; `kl_factor` multiplies the weight of the KL divergence."""
        pictures, masks, transmission, keys = examples
        encoding = self.model.encode(pictures)
        logits = self.model.draw(encoding, keys)
        total, consistency = torch.zeros_like(logits), None
        if self.samples:
            total, consistency = follow_samples(
                self.model, pictures, keys, self.samples, epistemic=self.settings.epistemic
            )
        terms = objective(
            logits,
            masks,
            encoding.posterior.mean,
            encoding.posterior.log_variance,
            transmission,
            total.detach(),
            replace(self.settings, kl=self.settings.kl * kl_factor),
        )
        named = terms._asdict()
        loss = named.pop("total")
        if consistency is None:  # not computed, so not told: a 0 would be a net that follows perfectly
            return {"loss": loss, **named}
        return {"loss": loss + consistency, **named, "consistency": consistency}


class UncertaintyStep(nn.Module):
    """Eq. 6 alone, for a model that is not trained any more, at the temperature it is used at."""

    def __init__(self, model: SmokeBVM, samples: int, temperature: float, epistemic: float = 0.0) -> None:
        super().__init__()
        self.model, self.samples = model, samples
        self.temperature, self.epistemic = temperature, epistemic

    def forward(self, examples: Examples, kl_factor: float = 1.0) -> Losses:
        """Losses of a batch."""
        pictures, keys = examples.pictures, examples.keys
        _, consistency = follow_samples(
            self.model, pictures, keys, self.samples, self.temperature, self.epistemic
        )
        return {"loss": consistency, "consistency": consistency}


class PlainStep(nn.Module):
    """A network without latent variable or dropout: its structure loss and nothing else."""

    def __init__(self, model: UNet, edges: Edges) -> None:
        super().__init__()
        self.model = model
        self.edges: Edges = edges

    def forward(self, examples: Examples, kl_factor: float = 1.0) -> Losses:
        """Losses of a batch."""
        logits = self.model(examples.pictures).logits
        loss = supervision_loss(logits, examples.masks, self.edges)
        return {"loss": loss, "structure": loss}


def follow_samples(
    model: SmokeBVM,
    pictures: Tensor,
    keys: Tensor,
    samples: int,
    temperature: float = 1.0,
    epistemic: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """The uncertainty net's total, and how far its maps are from those of sampling (Eq. 6).

    The samples are drawn in MC mode, on features that are computed once for all of them. The net is to give
    the uncertainties themselves, not those of so few samples.
    """
    with torch.no_grad(), evaluating(model):
        encoding = model.encode(pictures)
        certain = model.decode(encoding, encoding.posterior.mean, None) / temperature
        blocks = model.sample_blocks(encoding, keys, samples)
        sampled = decompose((logits / temperature for logits in blocks), unbiased=True)
    total, aleatoric = model.estimate_uncertainty(pictures, certain)
    return total, consistency_loss(total, aleatoric, sampled.total, sampled.aleatoric, epistemic)
