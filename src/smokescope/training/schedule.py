"""Rates as functions of the step: nothing to save, nothing to get out of step with."""

import math

from smokescope.training.settings import OptimiserSettings


def rate_factor(step: int, total: int, epoch: int, settings: OptimiserSettings) -> float:
    """What learning rates are multiplied by.

    Args:
        step: Number of the step, from 0, of `total`.
        total: Steps of the run.
        epoch: From 0.
        settings: Which schedule.
    """
    factor = rise(step + 1, total, settings.warmup)
    if settings.schedule == "step":
        return factor * (settings.step_factor if epoch >= settings.step_epoch else 1.0)
    if settings.schedule == "cosine":
        return factor * (1 + math.cos(math.pi * step / total)) / 2
    return factor


def rise(step: int, total: int, share: float) -> float:
    """From 0 to 1, evenly over the first share of the steps."""
    return min(1.0, step / (share * total)) if share > 0 else 1.0
