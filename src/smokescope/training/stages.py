"""The two stages of a run: what is trained in each, by which loss and which optimisers.

First the whole objective; then, where the settings ask for it, the uncertainty net alone, fitted to the
averaged model that is shipped.
"""

from dataclasses import dataclass, replace
from typing import cast

from torch import nn
from torch.optim import Optimizer

from smokescope.models.build import SmokeModel
from smokescope.models.bvm import SmokeBVM
from smokescope.models.unet import UNet
from smokescope.training.optimisers import model_optimiser, uncertainty_optimiser
from smokescope.training.settings import OptimiserSettings, TrainingSettings
from smokescope.training.step import GenerativeStep, PlainStep, UncertaintyStep


@dataclass
class Stage:
    """A part of a run."""

    first: int
    """The step at which it begins."""
    last: int
    """The step before which it ends."""
    module: nn.Module
    """Gives the losses."""
    optimisers: list[Optimizer]
    rates: OptimiserSettings
    """How their learning rates go."""

    def progress(self, step: int) -> tuple[int, int]:
        """How many of its steps are done, and of how many."""
        return step - self.first, self.last - self.first


def whole_objective(model: SmokeModel, settings: TrainingSettings, steps: int) -> Stage:
    """Train everything; of the uncertainty net, what needs training now.

    Nobody needs that net yet if it is fitted at the end and no loss asks it.
    """
    optimisers = [model_optimiser(model, settings.optimiser)]
    if isinstance(model, UNet):
        module: nn.Module = PlainStep(model, settings.objective.edges)
    else:
        watched = settings.objective.calibrated_entropy > 0 or not settings.uncertainty_steps
        model.uncertainty.requires_grad_(watched)
        module = GenerativeStep(model, settings.objective, settings.samples if watched else 0)
        if watched:
            optimisers.append(uncertainty_optimiser(model, settings.optimiser))
    model.train()
    cast(nn.Module, model.encoder).requires_grad_(settings.optimiser.encoder_factor > 0)
    _freeze_batch_norm(model, settings)
    return Stage(0, steps, module, optimisers, settings.optimiser)


def uncertainty_alone(
    model: SmokeBVM, settings: TrainingSettings, first: int, last: int, temperature: float
) -> Stage:
    """Train the uncertainty net of a model that is done otherwise, at the temperature that it is used at."""
    model.requires_grad_(False).eval()
    model.uncertainty.requires_grad_(True).train()
    _freeze_batch_norm(model, settings)
    module = UncertaintyStep(model, settings.samples, temperature, settings.objective.epistemic)
    rates = settings.optimiser
    if rates.schedule == "constant":  # nothing averages this net's weights: it must come to rest itself
        rates = replace(rates, schedule="cosine")
    return Stage(first, last, module, [uncertainty_optimiser(model, rates)], rates)


def _freeze_batch_norm(model: SmokeModel, settings: TrainingSettings) -> None:
    frozen = {"none": None, "encoder": model.encoder, "all": model}[settings.freeze_batch_norm]
    if frozen is None and settings.optimiser.encoder_factor == 0:
        frozen = model.encoder
    for part in frozen.modules() if isinstance(frozen, nn.Module) else ():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.eval()
