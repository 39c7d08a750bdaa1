"""`smokescope train`: from pictures and masks to a model."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smokescope.cli.console import Show, complain, progress_bar
from smokescope.cli.devices import DEVICE_HELP, enough_memory
from smokescope.errors import SmokescopeError

if TYPE_CHECKING:
    from smokescope.metrics.suite import Report
    from smokescope.training.observers import Observer, Progress, Sample
    from smokescope.training.run_folder import Inputs, RunFolder
    from smokescope.training.settings import TrainingSettings
    from smokescope.training.sources import Data


def train(
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="Folder of the run; created if missing.")],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Folder that contains all data sources.")
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            "--config", metavar="F", help="YAML file or shipped configuration: default, paper, unet, ..."
        ),
    ] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Override a setting, e.g. optimiser.clip=1."),
    ] = None,
    encoder: Annotated[
        Path | None, typer.Option("--encoder", metavar="F", help="Initial weights of the encoder.")
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            metavar="F",
            help="Model to start from instead of --encoder; if repeated, the mean of all.",
        ),
    ] = None,
    folds: Annotated[
        Path | None,
        typer.Option("--folds", metavar="F", help="folds.json of `data scenes`; one fold is held out."),
    ] = None,
    fold: Annotated[
        int | None,
        typer.Option("--fold", min=1, help="Fold of --folds to hold out for validation; 1 if not given."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="Keep decoded pictures in this folder, not in memory."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in RUN.")] = False,
    device: Annotated[str, typer.Option("--device", help=DEVICE_HELP)] = "auto",
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out unusable files.")] = False,
) -> None:
    """Train a model.

    RUN gets the settings, a log, states to resume from, sample pictures, and at the end model.safetensors
    and report.html. For several devices or nodes: torchrun --nproc-per-node N -m smokescope train ...
    """
    try:
        from smokescope.training.devices import in_turn, launch
        from smokescope.training.tensorboard import TensorBoard
        from smokescope.training.train import train as train_model
        from smokescope.training.train import unfitted
    except ImportError as error:
        raise SmokescopeError(
            f"training needs {error.name}: install it with pip install 'smokescope[train]'"
        ) from error
    from smokescope.data.files import try_folder
    from smokescope.inference.devices import choose_device
    from smokescope.report.run_page import write_run_page
    from smokescope.training.observers import Observers
    from smokescope.training.run_folder import Inputs, RunFolder
    from smokescope.training.settings import read_settings

    run = RunFolder(out)
    if resume:
        if data or config or override or encoder or models or folds or fold or cache or skip_bad:
            raise SmokescopeError(
                "--resume keeps the run's own settings: give only --out and --device with it"
            )
        settings, inputs = run.settings(), run.inputs()
    elif encoder and models:
        raise SmokescopeError("--encoder and --model both set the initial weights: choose one")
    elif fold and not folds:
        raise SmokescopeError("--fold needs the file that lists the folds: give it with --folds")
    elif data is None:
        raise SmokescopeError(
            "--data DIR is missing: name the folder that contains the configuration's sources"
        )
    else:
        run.refuse_another()
        settings = read_settings(config or "default", override or [])
        inputs = Inputs(
            data=str(data.resolve()),
            folds=str(folds.resolve()) if folds else None,
            fold=fold or 1,
            encoder=str(encoder.resolve()) if encoder else None,
            models=tuple(str(model.resolve()) for model in models or []),
            cache=str(cache.resolve()) if cache else None,
            skip_bad=skip_bad,
        )
    fabric = launch(choose_device(device), settings.precision)
    if fabric.is_global_zero:
        try_folder(out)
    # a state knows its pictures: what has changed since is told by it, and cannot be left out
    skip_bad = inputs.skip_bad or (resume and run.states.last() is not None)
    load = partial(_load, settings, inputs, None if resume else out, skip_bad)
    pictures = in_turn(fabric, load) if inputs.cache else load()  # with a cache, one decodes for all
    if fabric.local_rank == 0:
        for problem in pictures.problems():
            complain(problem)
    with ExitStack() as stack:
        watchers: list[Observer] = []
        if fabric.is_global_zero:
            show = stack.enter_context(progress_bar("training"))
            board = stack.enter_context(closing(TensorBoard(run.path / "tensorboard")))
            watchers = [_Bar(show), _Samples(run), board]
        with enough_memory("training", "try a smaller batch, size or side"):
            found = train_model(settings, pictures, run, fabric, Observers(*watchers), inputs, resume=resume)
    if not fabric.is_global_zero:
        return
    page = write_run_page(run)
    typer.echo(f"the model is {run.model_file}, and its report {page}")
    if found is not None:
        f, alarm = found.report["f_beta"], found.report["alarm"]
        typer.echo(
            f"on held-out scenes: f_beta mean {_short(f['mean'])}, mse {_short(found.report['mse'])}, "
            f"false alarms {_short(alarm['false_alarm_rate'])}"
        )
        if note := unfitted(settings, found):
            typer.echo(note)


def _load(settings: "TrainingSettings", inputs: "Inputs", out: Path | None, skip_bad: bool) -> "Data":
    from smokescope.data.folds import read_folds
    from smokescope.training.sources import Split, load_data

    split = Split(read_folds(Path(inputs.folds)), inputs.fold) if inputs.folds else None
    with progress_bar("reading") as show:
        return load_data(
            settings,
            Path(inputs.data),
            split,
            out=out,
            kept_in=Path(inputs.cache) if inputs.cache else None,
            skip_bad=skip_bad,
            progress=show,
        )


class _Bar:
    """Moves the bar, with the loss beside it."""

    def __init__(self, show: Show) -> None:
        self._show = show

    def progressed(self, progress: "Progress") -> None:
        loss, speed = progress.losses["loss"], progress.pictures_per_second
        self._show(progress.step, progress.steps, f"loss {loss:.4f}, {speed:.0f} pictures/s")

    def validated(self, step: int, report: "Report", samples: "Sequence[Sample]") -> None:
        return


class _Samples:
    """Draws what the model makes of some pictures."""

    def __init__(self, run: "RunFolder") -> None:
        self._run = run

    def progressed(self, progress: "Progress") -> None:
        return

    def validated(self, step: int, report: "Report", samples: "Sequence[Sample]") -> None:
        from smokescope.report.run_samples import write_samples

        write_samples(self._run, step, samples)


def _short(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
