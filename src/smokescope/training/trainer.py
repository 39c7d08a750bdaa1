"""The loop: steps, average, validation, states, and at the end the model.

Two stages follow each other under one count of steps: the whole objective; then, where the settings ask for
it, the uncertainty net alone, fitted to the averaged model that is shipped.
"""

import copy
import math
import time
from dataclasses import dataclass

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.optim import Optimizer

from smokescope.errors import SmokescopeError
from smokescope.models.build import SmokeModel
from smokescope.models.bvm import SmokeBVM
from smokescope.models.pipeline import Pipeline
from smokescope.models.unet import UNet
from smokescope.training.devices import mean_over_processes, share_batch_norm
from smokescope.training.ema import Average
from smokescope.training.feed import Examples, Feed
from smokescope.training.observers import Observer, Progress
from smokescope.training.optimisers import model_optimiser, set_rates, uncertainty_optimiser
from smokescope.training.run_folder import RunFolder
from smokescope.training.schedule import rate_factor, rise
from smokescope.training.settings import TrainingSettings
from smokescope.training.sources import Data
from smokescope.training.step import GenerativeStep, Losses, PlainStep, UncertaintyStep
from smokescope.training.stopping import Stop
from smokescope.training.temperature import fit_temperature
from smokescope.training.validation import validate

LOG_EVERY = 20  # steps; to read a loss, the CPU waits for the device


@dataclass
class Stage:
    """A part of the run, with its own loss and optimisers."""

    first: int
    """The step at which it begins."""
    last: int
    """The step before which it ends."""
    module: nn.Module
    """Gives the losses; wrapped for the devices."""
    optimisers: list[Optimizer]


class Trainer:
    """Trains a model into a run's folder.

    Args:
        settings: Of the run.
        model: With its first weights.
        data: In memory.
        run: Where states and log go.
        fabric: Launched.
        observer: Told how it goes.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        model: SmokeModel,
        data: Data,
        run: RunFolder,
        fabric: Fabric,
        observer: Observer,
    ) -> None:
        if settings.batch % fabric.world_size:
            raise SmokescopeError(
                f"a batch of {settings.batch} cannot be shared evenly by {fabric.world_size} processes"
            )
        self.settings, self.data, self.run = settings, data, run
        self.fabric, self.observer = fabric, observer
        self.feed = Feed(data.training, settings, fabric.device, fabric.global_rank, fabric.world_size)
        if not self.feed.steps:
            raise SmokescopeError(
                f"an epoch of {len(self.feed)} pictures does not fill a batch of {settings.batch}"
            )
        self.turn = settings.epochs * self.feed.steps  # where the second stage begins
        self.steps = self.turn + (settings.uncertainty_steps if isinstance(model, SmokeBVM) else 0)
        share_batch_norm(model, fabric)
        self.model = model.to(fabric.device)
        self.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = Average(self.model, settings.ema) if settings.ema else None
        if settings.compile and fabric.device.type == "cuda":
            for part in self.model.children():
                part.compile(dynamic=False)
        self.temperature = settings.temperature
        self._spoilt = torch.zeros((), device=fabric.device)  # losses and gradients that were not finite

    def fit(self, resume: bool = False) -> None:
        """Train to the end. A signal ends it early, with its state saved.

        Raises:
            SmokescopeError: A loss was not finite, a file could not be written, or a signal came.
        """
        state = self.run.states.read() if resume else None
        step = state.step if state else 0
        if state:
            state.restore_model(self.model, self.average)
        stage = self._enter_first() if step <= self.turn else self._enter_second()
        if state:
            state.restore_optimisers(stage.optimisers, self.model)
        if self.fabric.is_global_zero:
            self.run.forget_after(step)
        batches = self.feed.batches(step)
        clock = _Clock(step)
        with Stop() as stop:
            try:
                while step < self.steps:
                    if step == self.turn:
                        self._take_average()
                        stage = self._enter_second()
                    losses = self._step(stage, step, next(batches))
                    step += 1
                    due = self._due(step, self.settings.save_every)
                    asked = self._asked(stop, step)
                    if due or asked or step == 1 or step % LOG_EVERY == 0:
                        self._log(step, losses, stage, clock)
                    if due or asked:
                        self._save(step, stage)
                    if asked:
                        raise SmokescopeError(f"stopped after {step} of {self.steps} steps: --resume goes on")
                    if self._due(step, self.settings.validate_every) and step < self.steps:
                        self._validate(step)
                        clock.restart(step)
            finally:
                batches.close()
        if self.steps == self.turn:
            self._take_average()
            self.model.eval()
            self._fit_temperature()
        self.model.eval()

    def pipeline(self, model: SmokeModel | None = None) -> Pipeline:
        """The model as it is used."""
        return Pipeline(model or self.model, self.settings.input, self.temperature).eval()

    def _enter_first(self) -> Stage:
        s, model = self.settings, self.model
        if isinstance(model, UNet):
            module: nn.Module = PlainStep(model)
            optimisers = [model_optimiser(model, s.optimiser)]
        else:
            assert isinstance(model, SmokeBVM)  # noqa: S101
            # nobody needs the uncertainty net yet if it is fitted at the end and no loss asks it
            watched = s.objective.calibrated_entropy > 0 or not s.uncertainty_steps
            model.uncertainty.requires_grad_(watched)
            module = GenerativeStep(model, s.objective, s.samples if watched else 0)
            optimisers = [model_optimiser(model, s.optimiser)]
            if watched:
                optimisers.append(uncertainty_optimiser(model, s.optimiser))
        model.train()
        self._freeze_batch_norm()
        return Stage(0, self.turn, self.fabric.setup_module(module), optimisers)

    def _enter_second(self) -> Stage:
        assert isinstance(self.model, SmokeBVM)  # noqa: S101
        module = UncertaintyStep(self.model, self.settings.samples, self._fit_temperature())
        self.model.requires_grad_(False).eval()
        self.model.uncertainty.requires_grad_(True).train()
        self._freeze_batch_norm()
        optimiser = uncertainty_optimiser(self.model, self.settings.optimiser)
        return Stage(self.turn, self.steps, self.fabric.setup_module(module), [optimiser])

    def _fit_temperature(self) -> float:
        """Fit the temperature where there are pictures to fit it on; the last stage needs it."""
        if self.data.validation:
            self.temperature = 1.0
            found = validate(self.pipeline(), self.data.validation, self.fabric)
            self.temperature = fit_temperature(found.logits)
        return self.temperature

    def _freeze_batch_norm(self) -> None:
        frozen = {"none": nn.Identity(), "encoder": self.model.encoder, "all": self.model}
        chosen = frozen[self.settings.freeze_batch_norm]
        for part in chosen.modules() if isinstance(chosen, nn.Module) else ():
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.eval()

    def _take_average(self) -> None:
        if self.average is not None:
            self.average.put_into(self.model)

    def _step(self, stage: Stage, step: int, examples: Examples) -> Losses:
        s = self.settings
        done, length = step - stage.first, stage.last - stage.first
        losses: Losses = stage.module(examples, rise(done + 1, length, s.kl_warmup))
        self.fabric.backward(losses["loss"])
        self._spoilt += ~losses["loss"].detach().isfinite()
        factor = rate_factor(done, length, done // self.feed.steps, s.optimiser)
        for optimiser in stage.optimisers:
            set_rates(optimiser, factor)
            parameters = [p for group in optimiser.param_groups for p in group["params"]]
            norm = nn.utils.clip_grad_norm_(parameters, s.optimiser.clip or math.inf)
            self._spoilt += ~norm.isfinite()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        if self.average is not None and stage.first == 0:
            self.average.update(self.model, step)
        return losses

    def _log(self, step: int, losses: Losses, stage: Stage, clock: "_Clock") -> None:
        names = list(losses)
        values = mean_over_processes(self.fabric, torch.stack([losses[n].detach().float() for n in names]))
        spoilt = mean_over_processes(self.fabric, self._spoilt)
        if float(spoilt):
            kept = self.run.states.steps()
            after = f"the state after step {kept[-1]} is kept" if kept else "no state was saved yet"
            raise SmokescopeError(
                f"the loss or a gradient stopped being a number by step {step}: {after}; "
                "a lower learning rate, or clipping (optimiser.clip), may help"
            )
        if not self.fabric.is_global_zero:
            return
        told = dict(zip(names, values.tolist(), strict=True))
        rate = stage.optimisers[0].param_groups[-1]["lr"]
        speed = clock.rate(step) * self.settings.batch
        self.run.log({"step": step, "losses": told, "rate": rate, "pictures_per_second": round(speed, 1)})
        self.observer.progressed(Progress(step, self.steps, told, rate, speed))

    def _save(self, step: int, stage: Stage) -> None:
        if self.fabric.is_global_zero:
            self.run.states.save(step, self.model, self.average, stage.optimisers)
        self.fabric.barrier()

    def _validate(self, step: int) -> None:
        if not self.data.validation:
            return
        model = self.model
        if self.average is not None and step <= self.turn:
            model = copy.deepcopy(self.model)
            self.average.put_into(model)
        was_training = [m for m in self.model.modules() if m.training]
        found = validate(self.pipeline(model), self.data.validation, self.fabric)
        for module in was_training:
            module.training = True
        if self.fabric.is_global_zero:
            self.run.log({"step": step, "validation": found.report})
            self.observer.validated(step, found.report, found.samples)

    def _due(self, step: int, every: int) -> bool:
        return step == self.steps or step == self.turn or step % (every * self.feed.steps) == 0

    def _asked(self, stop: Stop, step: int) -> bool:
        """Whether any process was asked to stop; several agree on it only now and then, as they must wait."""
        if self.fabric.world_size == 1:
            return stop.asked
        if step % LOG_EVERY:
            return False
        return bool(
            mean_over_processes(self.fabric, torch.tensor(float(stop.asked), device=self.fabric.device))
        )


class _Clock:
    """Steps a second since it was last read."""

    def __init__(self, step: int) -> None:
        self.restart(step)

    def restart(self, step: int) -> None:
        self._step, self._time = step, time.perf_counter()

    def rate(self, step: int) -> float:
        steps, seconds = step - self._step, time.perf_counter() - self._time
        self.restart(step)
        return steps / max(seconds, 1e-9)
