"""Whole runs: they learn, they end with a model that says what it is, and nothing of it is empty."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning.fabric import Fabric
from PIL import Image
from tests.training.small import MODEL, Watcher, make_data, run_training, small_settings, weights

from smokescope.checkpoints.files import summarise
from smokescope.checkpoints.model import load_model, save_model
from smokescope.errors import SmokescopeError
from smokescope.models.build import build_model
from smokescope.models.bvm import SmokeBVM
from smokescope.models.pipeline import Pipeline
from smokescope.models.unet import UNet
from smokescope.settings.verdicts import VerdictSettings
from smokescope.training.latent import measure_latent
from smokescope.training.optimisers import model_optimiser, uncertainty_optimiser
from smokescope.training.settings import OptimiserSettings
from smokescope.training.sources import load_data
from smokescope.training.validation import validate


def test_a_run_learns_and_says_what_it_is(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data", pairs=16, negatives=8)
    settings = small_settings(tmp_path, "epochs=30", "optimiser.learning_rate=0.01", "uncertainty_steps=60")
    watcher = Watcher()
    run = run_training(settings, data, tmp_path / "run", observer=watcher, validate=True)
    structure = [p.losses["structure"] for p in watcher.steps if "structure" in p.losses]
    assert structure[-1] < 0.8 * structure[0]
    follow = [p.losses["consistency"] for p in watcher.steps if "structure" not in p.losses]
    assert follow[-1] < follow[0]
    pipeline = load_model(run.model_file)
    assert isinstance(pipeline.network, SmokeBVM)
    assert pipeline.input == settings.input
    figures = json.loads(run.figures_file.read_text())
    assert figures["temperature"] == pipeline.temperature
    assert figures["validation"]["images"] == 16
    assert figures["validation"]["uncertainty"]["total_r"] is not None
    assert sum(figures["reliability"]["top"]["count"]) == 16 * 36 * 54
    assert set(figures["latent"]) == {"kl", "latent_share", "dropout_share"}
    assert watcher.reports[-1]["f_beta"] == figures["validation"]["f_beta"]
    assert str(data) not in run.model_file.read_bytes()[:20_000].decode(errors="replace")


@pytest.mark.parametrize("architecture", ["smoke-bvm", "unet"])
def test_an_offset_is_added_to_the_logits_once(tmp_path: Path, architecture: str) -> None:
    data = make_data(tmp_path / "data")
    kind = f"model.architecture={architecture}"
    first = run_training(small_settings(tmp_path, kind, "epochs=1"), data, tmp_path / "first").model_file
    settings = small_settings(tmp_path, kind, "epochs=0", "uncertainty_steps=3", "offset=-0.75")
    shifted = run_training(settings, data, tmp_path / "shifted", models=[first]).model_file
    before, after = (load_model(file).network.eval() for file in (first, shifted))
    x = torch.rand(1, 3, 32, 48)
    torch.testing.assert_close(after(x).logits, before(x).logits - 0.75)


def test_a_temperature_that_is_given_is_not_fitted(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    found = [
        load_model(run_training(settings, data, tmp_path / name, validate=True).model_file).temperature
        for name, settings in {
            "fitted": small_settings(tmp_path),
            "given": small_settings(tmp_path, "temperature=1.4"),
        }.items()
    ]
    assert found[0] not in (1.0, 1.4)
    assert found[1] == 1.4


def test_what_a_model_says_of_its_probabilities_is_handed_on(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    verdicts = VerdictSettings(unsure_above=0.1, smoke_above=0.9)
    for name, temperature in (("one", 2.0), ("two", 0.7)):
        torch.manual_seed(0)
        given = Pipeline(build_model(small_settings(tmp_path).model), None, temperature, 0.3, verdicts)
        save_model(given, tmp_path / name)
    models = [tmp_path / "one", tmp_path / "two"]
    still = small_settings(tmp_path, "epochs=0", "uncertainty_steps=0")
    found = load_model(run_training(still, data, tmp_path / "still", models=models).model_file)
    assert (found.temperature, found.threshold, found.verdicts) == (0.7, 0.3, verdicts)
    steps = small_settings(tmp_path, "epochs=0", "uncertainty_steps=3")
    run = run_training(steps, data, tmp_path / "steps", models=models)
    (tmp_path / "two").rename(tmp_path / "gone")  # a run's folder is enough to go on with it
    again = load_model(run_training(steps, data, run.path, resume=True).model_file)
    assert (again.temperature, again.threshold, again.verdicts) == (0.7, 0.3, verdicts)
    (tmp_path / "gone").rename(tmp_path / "two")
    fitted = run_training(still, data, tmp_path / "fitted", models=models, validate=True).model_file
    assert load_model(fitted).temperature not in (0.7, 1.0)
    assert load_model(fitted).verdicts == verdicts


def test_a_temperature_is_fitted_afresh_whatever_was_handed_on(tmp_path: Path) -> None:
    """A network that says the same everywhere is calibrated where it says how much smoke there is."""
    model = SmokeBVM(MODEL)
    model.decoder.head.weight.data.zero_()
    model.decoder.head.bias = torch.nn.Parameter(torch.tensor([-5.0]))
    save_model(Pipeline(model, temperature=2.0), tmp_path / "given")
    settings = small_settings(tmp_path, "epochs=0", "uncertainty_steps=0")
    data = make_data(tmp_path / "data")
    run = run_training(settings, data, tmp_path / "run", models=[tmp_path / "given"], validate=True)
    share = 8 * 12 * 12 / (12 * 36 * 54)
    expected = -5 / np.log(share / (1 - share))
    assert load_model(run.model_file).temperature == pytest.approx(expected, rel=0.005)


def test_a_temperature_is_not_fitted_where_no_picture_kept_apart_has_smoke(tmp_path: Path) -> None:
    """On pictures without smoke, the surer a model is of everything the better it seems."""
    data = make_data(tmp_path / "data")
    save_model(Pipeline(SmokeBVM(MODEL), temperature=1.7), tmp_path / "model")
    line = "data=[{kind: negatives, folder: negatives}]"
    for name, models, given, expected in (
        ("new", [], [], 1.0),
        ("goes on", [tmp_path / "model"], [], 1.7),
        ("given", [tmp_path / "model"], ["temperature=1.3"], 1.3),
    ):
        settings = small_settings(tmp_path, line, "epochs=1", *given)
        run = run_training(settings, data, tmp_path / name, models=models, validate=True)
        assert load_model(run.model_file).temperature == expected
        notes = [entry["note"] for entry in run.history() if "note" in entry]
        told = "no held-out picture has smoke: the temperature was not fitted, and stays unchanged"
        assert notes == ([] if given else [told])


def test_only_smoke_is_shown_also_where_other_pictures_have_its_name(tmp_path: Path) -> None:
    data, watcher = make_data(tmp_path / "data"), Watcher()
    for number in range(8, 12):
        (data / f"negatives/{number}.png").rename(data / f"negatives/{number - 8}.png")
    settings = small_settings(tmp_path, "epochs=1")
    run_training(settings, data, tmp_path / "run", validate=True, observer=watcher)
    assert [sample.mask.any() for sample in watcher.samples] == [True] * 6


def test_the_peer_trains_in_the_same_engine(tmp_path: Path) -> None:
    settings = small_settings(tmp_path, "model.architecture=unet", "model.unet_width=4")
    run = run_training(settings, make_data(tmp_path / "data"), tmp_path / "run", validate=True)
    assert isinstance(load_model(run.model_file).network, UNet)
    assert run.states.steps() == [3, 6]  # no second stage: there is no uncertainty net


def test_a_run_may_begin_with_a_model(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    first = run_training(settings, data, tmp_path / "first")
    still = small_settings(tmp_path, "epochs=0", "uncertainty_steps=0")
    second = run_training(still, data, tmp_path / "second", models=[first.model_file])
    torch.testing.assert_close(weights(second), weights(first), rtol=0, atol=0)
    other = small_settings(tmp_path, "model.latent=3")
    with pytest.raises(SmokescopeError, match="has another network than the configuration: make"):
        run_training(other, data, tmp_path / "third", models=[first.model_file])


@pytest.mark.parametrize("steps", [0, 20])
def test_a_run_may_begin_with_the_mean_of_models_and_fit_the_last_ones_uncertainty_net_alone(
    tmp_path: Path, steps: int
) -> None:
    data = make_data(tmp_path / "data")
    models = [
        run_training(small_settings(tmp_path, f"epochs={n}"), data, tmp_path / f"run{n}") for n in (1, 2)
    ]
    settings = small_settings(tmp_path, "epochs=0", f"uncertainty_steps={steps}")
    watcher = Watcher()
    run = run_training(
        settings, data, tmp_path / "mean", models=[each.model_file for each in models], observer=watcher
    )
    mine, (one, two) = weights(run), (weights(each) for each in models)
    for name, tensor in mine.items():
        if tensor.is_floating_point() and not name.startswith("uncertainty."):
            torch.testing.assert_close(tensor, (one[name] + two[name]) / 2)
    moved = any((mine[n] != two[n]).any() for n in mine if n.startswith("uncertainty."))
    assert moved == (steps > 0)
    if not steps:
        assert not watcher.steps
        return
    assert watcher.steps[-1].step == 20
    assert {name for step in watcher.steps for name in step.losses} == {"loss", "consistency"}


def test_what_is_not_trained_must_be_given(tmp_path: Path) -> None:
    with pytest.raises(SmokescopeError, match="name its model with --model"):
        run_training(small_settings(tmp_path, "epochs=0"), make_data(tmp_path / "data"), tmp_path / "run")


def test_rates_stay_where_weights_are_averaged_and_fall_where_none_are(tmp_path: Path) -> None:
    settings = small_settings(tmp_path, "optimiser.schedule=constant", "uncertainty_steps=20")
    watcher = Watcher()
    run_training(settings, make_data(tmp_path / "data"), tmp_path / "run", observer=watcher)
    rates = {step.step: step.rate for step in watcher.steps}
    assert rates[6] == settings.optimiser.learning_rate
    assert 0 < rates[26] < 0.1 * settings.optimiser.uncertainty_learning_rate


def test_the_average_is_shipped(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    runs = [
        run_training(
            small_settings(tmp_path, "uncertainty_steps=0", f"ema={ema}"), data, tmp_path / f"run{ema}"
        )
        for ema in (0.0, 0.9)
    ]
    last = [run.states.read() for run in runs]
    assert last[0] is not None
    assert last[1] is not None
    name = "decoder.head.weight"
    torch.testing.assert_close(last[0].tensors[f"model.{name}"], last[1].tensors[f"model.{name}"])
    shipped = [load_model(run.model_file).network.state_dict()[name] for run in runs]
    torch.testing.assert_close(shipped[0], last[0].tensors[f"model.{name}"])
    torch.testing.assert_close(shipped[1], last[1].tensors[f"average.{name}"])
    assert (shipped[0] != shipped[1]).any()


def test_each_part_has_its_own_rate_and_only_weights_decay() -> None:
    model = SmokeBVM(MODEL)
    settings = OptimiserSettings(
        learning_rate=1.0, encoder_factor=0.5, uncertainty_learning_rate=0.1, weight_decay=0.3
    )
    names = {parameter: name for name, parameter in model.named_parameters()}
    seen: dict[str, tuple[float, float]] = {}
    for optimiser in (model_optimiser(model, settings), uncertainty_optimiser(model, settings)):
        for group in optimiser.param_groups:
            seen |= {names[p]: (group["lr"], group["weight_decay"]) for p in group["params"]}
    assert seen.keys() == set(names.values())
    for parameter, name in names.items():
        part = name.split(".")[0]
        rate = {"encoder": 0.5, "uncertainty": 0.1}.get(part, 1.0)
        assert seen[name] == (rate, 0.3 if parameter.ndim > 1 else 0.0), name


def test_batch_norm_is_frozen_where_asked(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    for frozen in ("none", "encoder", "all"):
        settings = small_settings(tmp_path, f"freeze_batch_norm={frozen}", "ema=0", "uncertainty_steps=0")
        state = run_training(settings, data, tmp_path / frozen).states.read()
        assert state is not None
        moved = {
            part: bool(state.tensors[f"model.{part}.running_mean"].any())
            for part in ("encoder.bn1", "decoder.context.layers.0.1")
        }
        assert (
            list(moved.values())
            == {"none": [True, True], "encoder": [False, True], "all": [False, False]}[frozen]
        )


@pytest.mark.parametrize("architecture", ["smoke-bvm", "unet"])
def test_an_encoder_that_does_not_learn_stays_as_it_is(tmp_path: Path, architecture: str) -> None:
    data, before = make_data(tmp_path / "data"), f"model.architecture={architecture}"
    first = run_training(small_settings(tmp_path, before), data, tmp_path / "first")
    settings = small_settings(tmp_path, before, "optimiser.encoder_factor=0", "optimiser.weight_decay=0.1")
    then = run_training(settings, data, tmp_path / "then", models=[first.model_file])
    changed = {name for name, tensor in weights(then).items() if (tensor != weights(first)[name]).any()}
    assert changed
    assert not any(name.startswith("encoder.") for name in changed)


def test_the_average_is_what_is_validated(tmp_path: Path) -> None:
    """The last weights are the same for any decay; what is found of them is not."""
    data, found = make_data(tmp_path / "data"), []
    for ema in (0.0, 0.9):
        watcher = Watcher()
        settings = small_settings(tmp_path, f"ema={ema}", "optimiser.learning_rate=0.05")
        run_training(settings, data, tmp_path / f"run{ema}", observer=watcher, validate=True)
        found.append(watcher.reports[0]["mse"])
    assert found[0] != found[1]


def test_latent_figures_tell_an_unused_z_from_a_used_one() -> None:
    torch.manual_seed(0)
    model = SmokeBVM(MODEL).eval()
    pictures = torch.rand(2, 3, 32, 48)
    model.decoder.reduce_latent.inject.weight.data[:, -2:] *= 30
    used = measure_latent(model, pictures)
    model.decoder.reduce_latent.inject.weight.data[:, -2:] = 0
    unused = measure_latent(model, pictures)
    assert used["latent_share"] > 0.2
    assert unused["latent_share"] == pytest.approx(0, abs=1e-9)
    assert unused["dropout_share"] == pytest.approx(1, abs=1e-6)
    assert used["kl"] > 0


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize(("pairs", "measured"), [(3, [0, 1, 2]), (8, [0, 2, 4, 6])])
def test_latent_figures_are_the_mean_of_up_to_four_pictures_with_smoke(
    tmp_path: Path, pairs: int, measured: list[int], validate: bool
) -> None:
    """Of those that it was trained on, where none were kept apart."""
    data = make_data(tmp_path / "data", pairs=pairs)
    lines = "data=[{kind: negatives, folder: negatives}, {kind: pairs, folder: pairs}]"
    settings = small_settings(tmp_path, lines, "epochs=1", "uncertainty_steps=0")
    run = run_training(settings, data, tmp_path / "run", validate=validate)
    pipeline = load_model(run.model_file)
    assert isinstance(pipeline.network, SmokeBVM)
    found = []
    for number in measured:
        picture = torch.from_numpy(np.array(Image.open(data / f"pairs/img/{number}.png"))).permute(2, 0, 1)
        found.append(measure_latent(pipeline.network.eval(), pipeline.prepare(picture[None])))
    told = json.loads(run.figures_file.read_text())["latent"]
    for name in ("kl", "latent_share", "dropout_share"):
        assert told[name] == pytest.approx(np.mean([dict(each)[name] for each in found]), rel=1e-4), name


def test_figures_are_of_32_bits_whatever_it_is_trained_in(tmp_path: Path) -> None:
    pictures = load_data(small_settings(tmp_path), make_data(tmp_path / "data")).training
    torch.manual_seed(0)
    network = build_model(MODEL)
    pipeline = Pipeline(network, small_settings(tmp_path).input).eval()
    plain, mixed = (
        validate(pipeline, pictures, Fabric(accelerator="cpu", precision=precision), samples=2).report
        for precision in ("32-true", "bf16-mixed")
    )
    assert mixed == plain


def test_figures_of_a_run_that_diverged_are_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = dict.fromkeys(("kl", "latent_share", "dropout_share"), math.nan)
    monkeypatch.setattr("smokescope.training.train.measure_latent", lambda *_: nothing)
    run = run_training(small_settings(tmp_path, "epochs=1"), make_data(tmp_path / "data"), tmp_path / "run")
    assert json.loads(run.figures_file.read_text())["latent"] == dict.fromkeys(nothing)
    assert json.loads(summarise(run.model_file).metadata["figures"])["latent"] == dict.fromkeys(nothing)
