"""Entropy and calibrated entropy against closed forms."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import entropy as scipy_entropy
from torch import Tensor

from smokescope.losses.entropy import (
    CalibratedEntropyLoss,
    EntropyLoss,
    calibrated_entropy_loss,
    entropy_loss,
)
from smokescope.uncertainty import LN2


def maps(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn((2, 1, 6, 5), generator=generator, dtype=torch.float64)
    total = LN2 * torch.rand((2, 1, 6, 5), generator=generator, dtype=torch.float64)
    return logits, total


def expected_entropy(logits: Tensor) -> float:
    p = torch.sigmoid(logits).numpy().ravel()
    return float(np.mean(scipy_entropy([p, 1 - p])))


def test_entropy_is_the_mean_of_both_terms() -> None:
    logits, _ = maps()
    assert EntropyLoss()(logits).item() == pytest.approx(expected_entropy(logits), abs=1e-12)
    assert entropy_loss(torch.zeros(4)).item() == pytest.approx(math.log(2))


def test_calibrated_entropy_is_eq_10_with_the_floor() -> None:
    logits, total = maps()
    temperature = total.clamp(min=0.05)
    assert (total < 0.05).any()
    loss = CalibratedEntropyLoss()(logits, total)
    assert loss.item() == pytest.approx(expected_entropy(logits / temperature), abs=1e-12)


def test_scale_lets_the_temperature_exceed_one() -> None:
    logits, total = maps()
    softened = calibrated_entropy_loss(logits, total, scale=2 / LN2)
    assert softened.item() == pytest.approx(expected_entropy(logits / (2 / LN2 * total).clamp(min=0.05)))
    uncertain = torch.full_like(total, LN2)
    assert calibrated_entropy_loss(logits, uncertain) < entropy_loss(logits)
    assert calibrated_entropy_loss(logits, uncertain, scale=2 / LN2) > entropy_loss(logits)


def test_the_module_hands_its_scale_and_floor_on() -> None:
    logits, total = maps()
    temperature = (2 * total).clamp(min=0.3)
    loss = CalibratedEntropyLoss(scale=2.0, floor=0.3)(logits, total)
    assert loss.item() == pytest.approx(expected_entropy(logits / temperature), abs=1e-12)


def test_pass_gradcheck() -> None:
    logits, total = maps(1)
    assert torch.autograd.gradcheck(entropy_loss, logits.requires_grad_())
    assert torch.autograd.gradcheck(lambda s: calibrated_entropy_loss(s, total), logits)


def test_the_temperature_gets_no_gradient() -> None:
    logits, total = (m.requires_grad_() for m in maps())
    calibrated_entropy_loss(logits, total).backward()
    assert logits.grad is not None
    assert total.grad is None
