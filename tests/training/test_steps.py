"""Steps: what they minimise, and what of it reaches the optimisers."""

from pathlib import Path

import pytest
import torch
from tests.training.small import MODEL, Watcher, make_data, run_training, small_settings
from torch import Tensor, nn
from torch.distributions import Bernoulli
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from smokescope.chance import make_keys
from smokescope.errors import SmokescopeError
from smokescope.losses.consistency import consistency_loss
from smokescope.losses.kl import kl_loss
from smokescope.losses.objective import ObjectiveSettings
from smokescope.models.bvm import SmokeBVM
from smokescope.models.resnet import ResNet
from smokescope.training.feed import Examples
from smokescope.training.run_folder import RunFolder
from smokescope.training.settings import TrainingSettings
from smokescope.training.stages import uncertainty_alone, whole_objective
from smokescope.training.step import GenerativeStep, UncertaintyStep, follow_samples
from smokescope.uncertainty import LN2


def examples(count: int = 2) -> Examples:
    torch.manual_seed(0)
    pictures = torch.rand(count, 3, 32, 48)
    masks = (torch.rand(count, 1, 32, 48) > 0.7).float()
    return Examples(pictures, masks, torch.rand(count, 1, 32, 48), make_keys(0, torch.arange(count)))


def test_each_loss_reaches_its_own_network_only() -> None:
    """One backward pass of the sum is two of its parts: the two optimisers share nothing."""
    model = SmokeBVM(MODEL).train()
    step = GenerativeStep(model, ObjectiveSettings(), samples=2)
    losses = step(examples())
    (losses["loss"] - losses["consistency"]).backward(retain_graph=True)
    assert all(p.grad is None or not p.grad.any() for p in model.uncertainty.parameters())
    assert model.decoder.head.weight.grad is not None
    model.zero_grad(set_to_none=True)
    losses["consistency"].backward()
    assert model.decoder.head.weight.grad is None
    assert any(p.grad is not None and p.grad.any() for p in model.uncertainty.parameters())


def test_what_is_not_computed_is_not_told() -> None:
    """A 0 would read as a net that follows the samples perfectly."""
    model = SmokeBVM(MODEL).eval()
    alone = GenerativeStep(model, ObjectiveSettings(), samples=0)(examples())
    assert "consistency" not in alone
    both = GenerativeStep(model, ObjectiveSettings(), samples=2)(examples())
    assert set(both) == {*alone, "consistency"}


def test_the_targets_are_drawn_in_mc_mode_and_leave_the_model_as_it_was() -> None:
    model = SmokeBVM(MODEL).train()
    assert isinstance(model.encoder, ResNet)
    model.encoder.bn1.eval()
    before = {name: t.clone() for name, t in model.state_dict().items() if "uncertainty" not in name}
    UncertaintyStep(model, samples=3, temperature=2.0)(examples())
    after = model.state_dict()
    torch.testing.assert_close({name: after[name] for name in before}, before, rtol=0, atol=0)
    assert model.training
    assert not model.encoder.bn1.training


def lively_model() -> SmokeBVM:
    """A model whose samples differ, as those of a trained one do."""
    torch.manual_seed(0)
    model = SmokeBVM(MODEL).eval()
    model.decoder.head.weight.data *= 10
    return model


def consistency_by_hand(
    model: SmokeBVM, given: Examples, samples: int, temperature: float, epistemic: float
) -> Tensor:
    """Eq. 6 of samples that are all kept, with the entropies of a public library and their bias undone."""
    pictures, keys = given.pictures, given.keys
    drawn = torch.cat(list(model.sample_blocks(model.encode(pictures), keys, samples))) / temperature
    total = Bernoulli(drawn.sigmoid().mean(0)).entropy()
    aleatoric = Bernoulli(logits=drawn).entropy().mean(0)
    total = (aleatoric + (total - aleatoric) * samples / max(samples - 1, 1)).clamp(max=LN2)
    estimate = model.estimate_uncertainty(pictures, model(pictures).logits / temperature)
    return consistency_loss(*estimate, total, aleatoric, epistemic)


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("samples", [1, 5])
def test_the_uncertainty_net_follows_all_samples_at_the_temperature(temperature: float, samples: int) -> None:
    model, given = lively_model(), examples()
    _, found = follow_samples(model, given.pictures, given.keys, samples, temperature)
    expected = consistency_by_hand(model, given, samples, temperature, 0.0)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=0)


def test_each_stage_has_the_epistemic_weight_and_the_temperature_it_is_given(tmp_path: Path) -> None:
    settings = small_settings(tmp_path, "objective.epistemic=1000", "samples=3")
    model, given = lively_model(), examples()
    first = whole_objective(model, settings, 1).module
    model.eval()
    losses = first(given)
    expected = consistency_by_hand(model, given, 3, 1.0, 1000.0)
    torch.testing.assert_close(losses["consistency"], expected, rtol=1e-4, atol=0)
    second = uncertainty_alone(model, settings, 0, 1, 2.5).module
    model.eval()
    expected = consistency_by_hand(model, given, 3, 2.5, 1000.0)
    torch.testing.assert_close(second(given)["loss"], expected, rtol=1e-4, atol=0)


@pytest.mark.parametrize(("frozen", "moves"), [("encoder", True), ("all", False)])
def test_in_the_last_stage_nothing_moves_but_the_uncertainty_net(
    tmp_path: Path, frozen: str, moves: bool
) -> None:
    model, settings = lively_model(), small_settings(tmp_path, f"freeze_batch_norm={frozen}")
    uncertainty_alone(model.train(), settings, 0, 1, 1.0)
    for name, part in model.named_modules():
        if isinstance(part, nn.BatchNorm2d):
            assert part.training == (moves and name.startswith("uncertainty."))
    for name, parameter in model.named_parameters():
        assert parameter.requires_grad == name.startswith("uncertainty.")


def test_the_weight_of_the_divergence_rises() -> None:
    step = GenerativeStep(SmokeBVM(MODEL).eval(), ObjectiveSettings(kl=0.5), samples=0)
    whole, half = step(examples(), 1.0), step(examples(), 0.5)
    torch.testing.assert_close(whole["loss"] - half["loss"], 0.25 * whole["kl"])


def test_the_divergence_warms_up_over_its_share_of_the_first_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smokescope.training.trainer.LOG_EVERY", 1)
    only = ("objective.kl=10", "objective.transmission=0", "objective.calibrated_entropy=0")
    settings, watcher = small_settings(tmp_path, "kl_warmup=0.5", *only), Watcher()
    run_training(settings, make_data(tmp_path / "data"), tmp_path / "run", observer=watcher)
    told = [each.losses for each in watcher.steps if "kl" in each.losses]
    factors = [(losses["loss"] - losses["structure"]) / (10 * losses["kl"]) for losses in told]
    assert factors == pytest.approx([1 / 3, 2 / 3, 1, 1, 1, 1], rel=1e-3)


def gradient_norms(settings: TrainingSettings, data: Path, out: Path) -> list[float]:
    """Of each step of each optimiser of a run, as the optimiser sees them."""
    norms: list[float] = []

    def watch(optimiser: Optimizer, *_: object) -> None:
        gradients = [p.grad for group in optimiser.param_groups for p in group["params"]]
        norms.append(float(torch.cat([g.flatten() for g in gradients if g is not None]).norm()))

    hook = register_optimizer_step_pre_hook(watch)
    try:
        run_training(settings, data, out)
    finally:
        hook.remove()
    return norms


def test_gradients_are_clipped_for_each_optimiser_where_asked(tmp_path: Path) -> None:
    data, clip = make_data(tmp_path / "data"), 1e-3
    clipped = gradient_norms(small_settings(tmp_path, f"optimiser.clip={clip}"), data, tmp_path / "clipped")
    assert clipped == pytest.approx([clip] * (6 * 2 + 2), rel=1e-2)  # two optimisers, then one
    free = gradient_norms(small_settings(tmp_path, "optimiser.clip=0"), data, tmp_path / "free")
    assert min(free) > 2 * clip


def test_a_gradient_that_is_no_number_stops_the_run_though_its_loss_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter(range(100))

    def spoilt(mean: Tensor, log_variance: Tensor, free: float) -> Tensor:
        if next(steps) == 2:
            mean.register_hook(lambda gradient: gradient * torch.nan)
        return kl_loss(mean, log_variance, free)

    monkeypatch.setattr("smokescope.losses.objective.kl_loss", spoilt)
    settings, data = small_settings(tmp_path, "save_every=1"), make_data(tmp_path / "data")
    with pytest.raises(SmokescopeError, match="the loss or a gradient became NaN or infinite by step 3: no"):
        run_training(settings, data, tmp_path / "run")
    assert not RunFolder(tmp_path / "run").states.steps()
