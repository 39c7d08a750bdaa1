"""Schedule, average, temperature: small pieces against closed forms."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from torch import nn
from torch.nn import functional

from smokescope.training.ema import Average
from smokescope.training.schedule import rate_factor, rise
from smokescope.training.settings import OptimiserSettings
from smokescope.training.temperature import LogitCounts, fit_temperature


def test_step_schedule() -> None:
    settings = OptimiserSettings()
    assert [rate_factor(0, 500, epoch, settings) for epoch in (0, 39, 40, 49)] == [1.0, 1.0, 0.8, 0.8]


def test_cosine_schedule_with_warm_up() -> None:
    settings = OptimiserSettings(schedule="cosine", warmup=0.1)
    factors = [rate_factor(step, 100, 0, settings) for step in range(100)]
    assert factors[0] == pytest.approx(0.1)
    assert factors[50] == pytest.approx(0.5)
    assert factors[99] == pytest.approx((1 + math.cos(math.pi * 0.99)) / 2)
    assert int(np.argmax(factors)) == 9
    assert rise(0, 100, 0.0) == 1.0


def test_constant_schedule_with_warm_up() -> None:
    settings = OptimiserSettings(schedule="constant", warmup=0.1)
    factors = [rate_factor(step, 100, 50, settings) for step in range(100)]
    assert factors[:10] == pytest.approx([(step + 1) / 10 for step in range(10)])
    assert factors[10:] == [1.0] * 90


def test_average_follows_weights_and_statistics() -> None:
    norm = nn.BatchNorm1d(2)
    model = nn.Sequential(nn.Linear(2, 2), norm)
    average = Average(model, decay=0.75)
    history = [{k: v.clone() for k, v in model.state_dict().items()}]
    for step in range(60):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(1.0)
        assert norm.running_mean is not None
        assert norm.num_batches_tracked is not None
        norm.running_mean += 2
        norm.num_batches_tracked += 1
        average.update(model, step)
        history.append({k: v.clone() for k, v in model.state_dict().items()})
    expected = history[0]["0.weight"]
    for step, state in enumerate(history[1:]):
        decay = min(0.75, (1 + step) / (4 + step))
        expected = decay * expected + (1 - decay) * state["0.weight"]
    torch.testing.assert_close(average.tensors["0.weight"], expected)
    # far on, the average trails a steady climb by decay / (1 - decay) steps
    assert norm.running_mean is not None
    behind = norm.running_mean - average.tensors["1.running_mean"]
    torch.testing.assert_close(behind, torch.full((2,), 2 * 3.0), rtol=1e-3, atol=1e-3)
    average.put_into(model)
    counter = {"1.num_batches_tracked": torch.tensor(60)}  # the model's own
    torch.testing.assert_close(dict(model.state_dict()), average.tensors | counter)


@pytest.mark.parametrize("true", [0.3, 1.0, 2.3, 4.0])
def test_temperature_is_the_one_of_the_least_negative_log_likelihood(true: float) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(4, 80, 90, generator=generator)
    mask = torch.rand(logits.shape, generator=generator) < torch.sigmoid(logits / true)
    counts = LogitCounts(torch.device("cpu"))
    counts.update(torch.sigmoid(logits[:1]), mask[:1])
    counts.update(torch.sigmoid(logits[1:]), mask[1:])
    found = fit_temperature(counts.counts)

    def cost(temperature: float) -> float:
        return float(
            functional.binary_cross_entropy_with_logits(logits.double() / temperature, mask.double())
        )

    best = minimize_scalar(cost, bounds=(0.2, 5), method="bounded").x
    assert found == pytest.approx(best, rel=0.01)
    assert found == pytest.approx(true, rel=0.1)


def test_pictures_weigh_the_same_whatever_their_size() -> None:
    counts = LogitCounts(torch.device("cpu"))
    counts.update(torch.full((1, 10, 10), 0.9), torch.ones(1, 10, 10, dtype=torch.bool))
    counts.update(torch.full((2, 90, 30), 0.1), torch.zeros(2, 90, 30, dtype=torch.bool))
    assert counts.counts.sum(1).tolist() == pytest.approx([2.0, 1.0])


def test_who_is_certain_is_counted_at_the_ends() -> None:
    counts = LogitCounts(torch.device("cpu"))
    counts.update(torch.tensor([[[0.0, 1.0]]]), torch.tensor([[[False, True]]]))
    assert counts.counts[0, 0] == counts.counts[1, -1] == 0.5
    assert counts.counts.sum() == 1


def test_without_smoke_no_temperature_is_fitted() -> None:
    counts = LogitCounts(torch.device("cpu"))
    assert fit_temperature(counts.counts) is None
    counts.update(
        torch.rand(4, 9, 9, generator=torch.Generator().manual_seed(0)), torch.zeros(4, 9, 9).bool()
    )
    assert fit_temperature(counts.counts) is None
