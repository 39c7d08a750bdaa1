"""The whole objective, the consistency loss, and numerical calm of everything at the extremes."""

import itertools
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from smokescope.losses.consistency import ConsistencyLoss, consistency_loss
from smokescope.losses.entropy import calibrated_entropy_loss, entropy_loss
from smokescope.losses.kl import kl_loss
from smokescope.losses.objective import Objective, ObjectiveSettings, Terms, objective
from smokescope.losses.structure import structure_loss
from smokescope.losses.transmission import transmission_loss
from smokescope.uncertainty import LN2

Batch = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def batch(seed: int = 0, height: int = 16, width: int = 20) -> Batch:
    g = torch.Generator().manual_seed(seed)
    shape = (2, 1, height, width)
    logits = 2 * torch.randn(shape, generator=g, dtype=torch.float64)
    mask = (torch.rand(shape, generator=g) > 0.7).double()
    mean, log_variance = torch.randn(2, 2, 8, generator=g, dtype=torch.float64)
    transmission = torch.rand(shape, generator=g, dtype=torch.float64)
    total = LN2 * torch.rand(shape, generator=g, dtype=torch.float64)
    return logits, mask, mean, log_variance, transmission, total


def test_is_eq_11_with_the_papers_weights() -> None:
    logits, mask, mean, log_variance, transmission, total = batch()
    expected = (
        structure_loss(logits, mask)
        + kl_loss(mean, log_variance)
        + 0.3 * transmission_loss(torch.sigmoid(logits), transmission)
        + 0.01 * calibrated_entropy_loss(logits, total)
    )
    terms = Objective()(*batch())
    torch.testing.assert_close(terms.total, expected)
    torch.testing.assert_close(terms.transmission, transmission_loss(torch.sigmoid(logits), transmission))


@pytest.mark.parametrize(
    "s",
    [
        ObjectiveSettings(free_nats=0.5),
        ObjectiveSettings(temperature_scale=2.0),
        ObjectiveSettings(window=3),
        ObjectiveSettings(sigma_p=0.5),
        ObjectiveSettings(sigma_t=0.4),
        ObjectiveSettings(shrink=2),
        ObjectiveSettings(kl=0.4, transmission=0.7, calibrated_entropy=0.2),
    ],
)
def test_every_setting_reaches_its_term(s: ObjectiveSettings) -> None:
    logits, mask, mean, log_variance, transmission, total = batch()
    expected = (
        structure_loss(logits, mask)
        + s.kl * kl_loss(mean, log_variance, free=s.free_nats)
        + s.transmission
        * transmission_loss(
            torch.sigmoid(logits),
            transmission,
            window=s.window,
            sigma_p=s.sigma_p,
            sigma_t=s.sigma_t,
            shrink=s.shrink,
        )
        + s.calibrated_entropy * calibrated_entropy_loss(logits, total, scale=s.temperature_scale)
    )
    torch.testing.assert_close(objective(*batch(), s).total, expected)
    assert abs(expected - objective(*batch(), ObjectiveSettings()).total) > 1e-4


def test_the_ablations_rows_are_settings() -> None:
    logits, mask, mean, log_variance, _, _ = batch()
    base = ObjectiveSettings(transmission=0, calibrated_entropy=0)
    plain = structure_loss(logits, mask) + kl_loss(mean, log_variance)
    torch.testing.assert_close(objective(*batch(), base).total, plain)
    with_entropy = objective(*batch(), replace(base, entropy=0.01)).total
    torch.testing.assert_close(with_entropy, plain + 0.01 * entropy_loss(logits))


def test_edges_are_a_setting() -> None:
    logits, mask, mean, log_variance, transmission, total = batch(height=40)
    mask[:, :, 20:] = 0
    given = logits, mask, mean, log_variance, transmission, total
    banded = objective(*given, ObjectiveSettings(edges="band"))
    torch.testing.assert_close(banded.structure, structure_loss(logits, mask, "band"))
    assert banded.structure != objective(*given, ObjectiveSettings()).structure


def test_passes_gradcheck() -> None:
    logits, mask, mean, log_variance, transmission, total = batch(1, 5, 6)
    inputs = tuple(x.requires_grad_() for x in (logits, mean, log_variance))

    def whole(s: Tensor, m: Tensor, v: Tensor) -> Tensor:
        return objective(s, mask, m, v, transmission, total, ObjectiveSettings(shrink=2)).total

    assert torch.autograd.gradcheck(whole, inputs)


def test_consistency_is_eq_6_and_moves_only_the_estimates() -> None:
    maps = [m.requires_grad_() for m in torch.rand(4, 2, 1, 5, 6, dtype=torch.float64)]
    total, aleatoric, sampled_total, sampled_aleatoric = maps
    expected = (
        functional.mse_loss(total, sampled_total) + functional.mse_loss(aleatoric, sampled_aleatoric)
    ) / 2
    loss = ConsistencyLoss()(*maps)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert total.grad is not None
    assert aleatoric.grad is not None
    assert sampled_total.grad is None
    assert sampled_aleatoric.grad is None
    fixed = [m.detach() for m in (sampled_total, sampled_aleatoric)]
    assert torch.autograd.gradcheck(lambda a, b: consistency_loss(a, b, *fixed), (total, aleatoric))


def test_consistency_may_weigh_the_epistemic_map() -> None:
    maps = torch.rand(4, 2, 1, 5, 6, dtype=torch.float64)
    total, aleatoric, sampled_total, sampled_aleatoric = maps
    own = functional.mse_loss(total - aleatoric, sampled_total - sampled_aleatoric)
    torch.testing.assert_close(ConsistencyLoss(7.0)(*maps), consistency_loss(*maps) + 7 * own)


EXTREMES = list(itertools.product([-100.0, 0.0, 100.0], [0.0, 1.0], [0.0, LN2], [0.0, 1.0]))


@pytest.mark.parametrize(("logit", "smoke", "uncertainty", "transmission"), EXTREMES)
def test_stays_calm_in_bf16_autocast(
    logit: float, smoke: float, uncertainty: float, transmission: float
) -> None:
    shape = (2, 1, 33, 35)
    half = torch.bfloat16
    logits = torch.full(shape, logit, dtype=half, requires_grad=True)
    posterior = torch.full((2, 8), logit, dtype=half).clamp(-10, 10).requires_grad_()
    full = [torch.full(shape, v, dtype=half) for v in (smoke, transmission, uncertainty)]
    settings = ObjectiveSettings(entropy=0.01)
    with torch.autocast("cpu", dtype=half):
        terms = objective(logits, full[0], posterior, posterior, full[1], full[2], settings)
    terms.total.backward()
    assert all(term.dtype == torch.float32 and term.isfinite() for term in terms)
    assert logits.grad is not None
    assert logits.grad.isfinite().all()
    assert posterior.grad is not None
    assert posterior.grad.isfinite().all()


def test_half_precision_changes_little() -> None:
    exact = objective(*batch(), ObjectiveSettings())
    halves = [x.bfloat16() for x in batch()]
    rounded = Objective()(*halves)
    for name in Terms._fields:
        assert getattr(rounded, name).item() == pytest.approx(getattr(exact, name).item(), rel=0.02, abs=1e-4)


def test_compiles_without_breaking_the_graph() -> None:
    """The eager back end captures and runs the graph, with no C++ compiler on the machine."""
    compiled = torch.compile(objective, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(
        compiled(*batch(), ObjectiveSettings()), objective(*batch(), ObjectiveSettings())
    )
