"""AdamW for the generative model, and another for the uncertainty net."""

from collections.abc import Iterable

import torch
from torch import nn
from torch.optim import AdamW, Optimizer

from smokescope.models.build import SmokeModel
from smokescope.models.bvm import SmokeBVM
from smokescope.training.settings import OptimiserSettings


def model_optimiser(model: SmokeModel, settings: OptimiserSettings) -> Optimizer:
    """Optimiser of all but the uncertainty net."""
    named = [(name, p) for name, p in model.named_parameters() if not name.startswith("uncertainty.")]
    encoder = [p for name, p in named if name.startswith("encoder.")]
    rest = [p for name, p in named if not name.startswith("encoder.")]
    rate = settings.learning_rate
    return _adam(
        [*_groups(encoder, rate * settings.encoder_factor, settings), *_groups(rest, rate, settings)]
    )


def uncertainty_optimiser(model: SmokeBVM, settings: OptimiserSettings) -> Optimizer:
    """Optimiser of the uncertainty net."""
    return _adam(_groups(model.uncertainty.parameters(), settings.uncertainty_learning_rate, settings))


def set_rates(optimiser: Optimizer, factor: float) -> None:
    """Multiply the rates that an optimiser was made with."""
    for group in optimiser.param_groups:
        group["lr"] = group["full_rate"] * factor


def _groups(
    parameters: Iterable[nn.Parameter], rate: float, settings: OptimiserSettings
) -> list[dict[str, object]]:
    """Weights, which decay, and the rest (biases, batch norm), which do not."""
    parameters = list(parameters)
    shared = {"lr": rate, "full_rate": rate}
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay, **shared},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0, **shared},
    ]


def _adam(groups: list[dict[str, object]]) -> Optimizer:
    on_gpu = all(p.is_cuda for group in groups for p in _parameters(group))
    return AdamW(groups, fused=True) if on_gpu and torch.cuda.is_available() else AdamW(groups)


def _parameters(group: dict[str, object]) -> list[nn.Parameter]:
    parameters = group["params"]
    assert isinstance(parameters, list)  # noqa: S101
    return parameters
