"""The loop: steps, average, validation, states; two stages follow each other under one count of steps."""

import copy
import math
import time

import torch
from lightning.fabric import Fabric
from torch import nn

from smokescope.errors import SmokescopeError, StoppedError
from smokescope.models.build import SmokeModel, shift_logits
from smokescope.models.bvm import SmokeBVM
from smokescope.models.pipeline import Pipeline
from smokescope.training.devices import mean_over_processes, share_batch_norm
from smokescope.training.ema import Average
from smokescope.training.feed import Examples, Feed
from smokescope.training.observers import Observer, Progress
from smokescope.training.optimisers import set_rates
from smokescope.training.run_folder import HandedOn, RunFolder
from smokescope.training.schedule import rate_factor, rise
from smokescope.training.settings import TrainingSettings
from smokescope.training.sources import Data
from smokescope.training.stages import Stage, uncertainty_alone, whole_objective
from smokescope.training.step import Losses
from smokescope.training.stopping import Stop
from smokescope.training.temperature import fit_temperature
from smokescope.training.validation import validate

LOG_EVERY = 20  # steps; to read a loss, the CPU waits for the device


class Trainer:
    """Trains a model into a run's folder.

    Args:
        settings: Settings of the run.
        model: With its first weights.
        data: In memory.
        run: Where states and log go.
        fabric: Launched.
        observer: Told how it goes.
        handed_on: What is kept of the model that the weights came from, if any.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        model: SmokeModel,
        data: Data,
        run: RunFolder,
        fabric: Fabric,
        observer: Observer,
        handed_on: HandedOn | None = None,
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
                f"an epoch of {len(self.feed)} pictures does not fill a batch of {settings.batch}: "
                f"add pictures, give them more weight, or lower it (--set batch={len(self.feed)})"
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
        self._about = {"pictures": data.fingerprint(), "settings": settings.fingerprint()}
        self._handed_on = handed_on or HandedOn()
        self.temperature = settings.temperature or self._handed_on.temperature
        self._spoilt = torch.zeros((), device=fabric.device)  # losses and gradients that were not finite

    def fit(self, resume: bool = False) -> None:
        """Train to the end. A signal ends it early, with its state saved.

        Raises:
            SmokescopeError: It cannot go on from its state, a loss was not finite, a file could not be
                written, or a signal came.
        """
        step, stage = self._begin(resume)
        batches = self.feed.batches(step)
        clock = _Clock(step)
        with Stop() as stop:
            try:
                while step < self.steps:
                    if step == self.turn:
                        self._end_first_stage()
                        stage = self._enter(step + 1)
                    losses = self._step(stage, step, next(batches))
                    step += 1
                    due = self._due(step, self.settings.save_every)
                    trying = self._due(step, self.settings.validate_every) and step < self.steps
                    asked = self._asked(stop, step)
                    if due or trying or asked or step == 1 or step % LOG_EVERY == 0:
                        self._log(step, losses, stage, clock)
                    if trying:  # before saving: what is saved need not be tried again
                        self._validate(step)
                    if due or asked:
                        self._save(step, stage)
                    if asked:
                        said = f"stopped after {step} of {self.steps} steps: continue with --resume"
                        raise StoppedError(said, stop.number)
                    if trying:
                        clock.restart(step)
            finally:
                batches.close()
        if self.steps == self.turn:
            self._end_first_stage()
            self._fit_temperature()
        self.model.eval()

    def pipeline(self, *, averaged: bool = False) -> Pipeline:
        """The model as it is used: a copy, whose parts are not compiled for training's size of pictures.

        Args:
            averaged: With the average of its weights so far, where the settings want one.
        """
        network = copy.deepcopy(self.model)
        if averaged and self.average is not None:
            self.average.put_into(network)
        # on CPUs, each process has statistics of its own part of the batches
        if self.fabric.world_size > 1 and self.fabric.device.type == "cpu":
            for buffer in network.buffers():
                buffer.copy_(self.fabric.broadcast(buffer))
        kept = self._handed_on
        return Pipeline(network, self.settings.input, self.temperature, kept.threshold, kept.verdicts).eval()

    def _begin(self, resume: bool) -> tuple[int, Stage]:
        """How many steps are done, and the stage that goes on from there.

        Raises:
            SmokescopeError: The state is of another run, or the run's pictures or settings have changed.
        """
        state = self.run.states.read() if resume else None
        step = state.step if state else 0
        if self.fabric.broadcast(step) != step:
            raise SmokescopeError(
                "the processes see different states of this run: give them one shared folder"
            )
        if state and state.about.get("pictures") != self._about["pictures"]:
            raise SmokescopeError(
                "the data has changed since this run began: restore its pictures, or start a new run"
            )
        if state and state.about.get("settings") != self._about["settings"]:
            raise SmokescopeError(
                f"{self.run.settings_file} has changed since this run began: put the original back"
            )
        if state:
            state.restore_model(self.model, self.average)
        stage = self._enter(step)
        if state:
            state.restore_optimisers(stage.optimisers, self.model)
        if self.fabric.is_global_zero:
            self.run.forget_after(step)
        return step, stage

    def _enter(self, step: int) -> Stage:
        """The stage that goes on after a step."""
        if step <= self.turn:
            stage = whole_objective(self.model, self.settings, self.turn)
        else:
            assert isinstance(self.model, SmokeBVM)  # noqa: S101 (a model without such a net has no such steps)
            temperature = self._fit_temperature()
            stage = uncertainty_alone(self.model, self.settings, self.turn, self.steps, temperature)
        stage.module = self.fabric.setup_module(stage.module)
        return stage

    def _fit_temperature(self) -> float:
        """Fit the temperature, unless it is given or no smoke was kept apart; the last stage needs it."""
        if self.settings.temperature is None and self.data.validation:
            self.temperature = 1.0
            found = validate(self.pipeline(), self.data.validation, self.fabric)
            fitted = fit_temperature(found.logits)
            self.temperature = self._handed_on.temperature if fitted is None else fitted
        return self.temperature

    def _end_first_stage(self) -> None:
        """Make the model what the first stage ends with."""
        if self.average is not None:
            self.average.put_into(self.model)
        shift_logits(self.model, self.settings.offset)

    def _step(self, stage: Stage, step: int, examples: Examples) -> Losses:
        done, length = stage.progress(step)
        losses: Losses = stage.module(examples, rise(done + 1, length, self.settings.kl_warmup))
        self.fabric.backward(losses["loss"])
        self._spoilt += ~losses["loss"].detach().isfinite()
        factor = rate_factor(done, length, done // self.feed.steps, stage.rates)
        for optimiser in stage.optimisers:
            set_rates(optimiser, factor)
            parameters = [p for group in optimiser.param_groups for p in group["params"]]
            norm = nn.utils.clip_grad_norm_(parameters, stage.rates.clip or math.inf)
            self._spoilt += ~norm.isfinite()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        if self.average is not None and step < self.turn:
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
                f"the loss or a gradient became NaN or infinite by step {step}: {after}; "
                "try a lower learning rate, or clipping (optimiser.clip)"
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
            self.run.states.save(step, self.model, self.average, stage.optimisers, self._about)
        self.fabric.barrier()

    def _validate(self, step: int) -> None:
        if not self.data.validation:
            return
        found = validate(self.pipeline(averaged=step <= self.turn), self.data.validation, self.fabric)
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
        asked = torch.tensor(float(stop.asked), device=self.fabric.device)
        return bool(mean_over_processes(self.fabric, asked))


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
