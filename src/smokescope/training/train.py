"""A whole run: from settings and a data folder to a model file with its figures."""

import json
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path

import torch
from lightning.fabric import Fabric

from smokescope.checkpoints.encoder import load_encoder
from smokescope.checkpoints.model import load_model, save_model
from smokescope.data.files import write_atomically
from smokescope.data.json_files import encode_json
from smokescope.errors import SmokescopeError
from smokescope.metrics.calibration import Bins
from smokescope.models.build import SmokeModel, build_model
from smokescope.models.bvm import SmokeBVM
from smokescope.models.pipeline import Pipeline
from smokescope.models.resnet import ResNet
from smokescope.training.commit import code_commit
from smokescope.training.ema import mean_state
from smokescope.training.latent import LatentFigures, measure_latent
from smokescope.training.observers import Observer
from smokescope.training.run_folder import HandedOn, Inputs, RunFolder
from smokescope.training.settings import TrainingSettings
from smokescope.training.sources import Data
from smokescope.training.trainer import Trainer
from smokescope.training.validation import Validation, validate


def train(
    settings: TrainingSettings,
    data: Data,
    run: RunFolder,
    fabric: Fabric,
    observer: Observer,
    inputs: Inputs,
    *,
    resume: bool = False,
) -> Validation | None:
    """Train, fit the temperature, measure, and write the model.

    Args:
        settings: Settings of the run.
        data: Its pictures.
        run: Its folder.
        fabric: Launched.
        observer: Told how it goes.
        inputs: What else the run was given: the weights that it begins with.
        resume: Go on from the run's last state.

    Returns:
        What validation found at the end; None where no pictures were kept for it.
    """
    if not settings.epochs and not inputs.models:
        raise SmokescopeError(
            "with epochs: 0 only the uncertainty net is trained: name its model with --model"
        )
    torch.manual_seed(settings.seed)  # of the first weights; all later chance is keyed
    model = build_model(settings.model)
    if not (resume and run.states.steps()):  # a run that was stopped before its first state has no weights
        inputs = replace(inputs, handed_on=_load_first_weights(model, inputs))
    if not resume:
        inputs = replace(inputs, commit=code_commit())  # now: a checkout may move on while it trains
    trainer = Trainer(settings, model, data, run, fabric, observer, inputs.handed_on)
    with run.held() if fabric.is_global_zero else nullcontext():
        if fabric.is_global_zero and not resume:  # now that nothing of it was refused
            run.begin(settings, inputs)
        fabric.barrier()
        trainer.fit(resume)
        return _finish(trainer, inputs)


def _finish(trainer: Trainer, inputs: Inputs) -> Validation | None:
    """Measure the trained model, and write it with its figures."""
    settings, data, run, fabric = trainer.settings, trainer.data, trainer.run, trainer.fabric
    pipeline, found = trainer.pipeline(), None
    figures: dict[str, object] = {"temperature": pipeline.temperature}
    if data.validation:
        samples = settings.validation_samples if isinstance(pipeline.network, SmokeBVM) else 0
        found = validate(pipeline, data.validation, fabric, samples)
        figures |= {
            "validation": found.report,
            "reliability": {kind: _plain(bins) for kind, bins in found.reliability._asdict().items()},
        }
    if isinstance(pipeline.network, SmokeBVM):
        figures["latent"] = _measure_latent(pipeline, pipeline.network, data, fabric)
    if fabric.is_global_zero:
        # null for NaN, of a run that diverged
        figures = json.loads(json.dumps(figures), parse_constant=lambda _: None)
        notes = {
            "data": json.dumps([asdict(source) for source in settings.data]),
            "figures": json.dumps(figures),
        }
        if inputs.commit:
            notes["commit"] = inputs.commit
        save_model(pipeline, run.model_file, notes)
        write_atomically(run.figures_file, encode_json(figures))
        if found is not None:
            if not any(each["step"] == trainer.steps and "validation" in each for each in run.history()):
                note = unfitted(settings, found)
                told = {"step": trainer.steps, "validation": found.report}
                run.log(told | ({"note": note} if note else {}))
            trainer.observer.validated(trainer.steps, found.report, found.samples)
    fabric.barrier()
    return found


def unfitted(settings: TrainingSettings, found: Validation) -> str | None:
    """Why a temperature was not fitted though pictures were kept apart, in a sentence; None if it was."""
    if settings.temperature is not None or found.report["images"]:
        return None
    return "no held-out picture has smoke: the temperature was not fitted, and stays unchanged"


def _load_first_weights(model: SmokeModel, inputs: Inputs) -> HandedOn:
    """Give a new model the weights that the run was given, of the encoder or of everything.

    Returns:
        What of the last of the models given stays.

    Raises:
        SmokescopeError: There are no such weights, or they are of another network.
    """
    if inputs.models:
        given = [_read_like(model, Path(path)) for path in inputs.models]
        states, last = [each.network.state_dict() for each in given], given[-1]
        # an uncertainty net follows one model's predictions: the mean of two nets would follow nobody's
        own = {name: t for name, t in states[-1].items() if name.startswith("uncertainty.")}
        model.load_state_dict(mean_state(states) | own)
        return HandedOn(temperature=last.temperature, threshold=last.threshold, verdicts=last.verdicts)
    if inputs.encoder is not None and isinstance(model.encoder, ResNet):
        load_encoder(model.encoder, Path(inputs.encoder))
    return HandedOn()


def _read_like(model: SmokeModel, path: Path) -> Pipeline:
    """The model in a file, if it is of the same network as another."""
    given = load_model(path)
    if given.network.settings != model.settings:
        raise SmokescopeError(
            f"{path} has another network than the configuration: make the settings under model: the same"
        )
    return given


def _plain(bins: Bins) -> dict[str, list[float | None]]:
    """Bins of calibration as a file keeps them: pixels, mean confidence, and how often it was right."""
    mean, accuracy = bins.means()
    return {"count": bins.pixels.tolist(), "mean": mean, "accuracy": accuracy}


def _measure_latent(pipeline: Pipeline, model: SmokeBVM, data: Data, fabric: Fabric) -> LatentFigures:
    """What chance does to a few pictures, with smoke if there are any: kept apart, else trained on."""
    sources = [each for each in data.validation or data.training if each.numbers]
    source = min(sources, key=lambda each: each.cache.pairs[each.numbers[0]].mask is None)
    chosen = source.numbers[:: max(1, len(source.numbers) // 4)][:4]
    pictures = [source.cache[number][0].permute(2, 0, 1)[None].to(fabric.device) for number in chosen]
    found = [measure_latent(model, pipeline.prepare(picture)) for picture in pictures]
    return LatentFigures(
        kl=sum(each["kl"] for each in found) / len(found),
        latent_share=sum(each["latent_share"] for each in found) / len(found),
        dropout_share=sum(each["dropout_share"] for each in found) / len(found),
    )
