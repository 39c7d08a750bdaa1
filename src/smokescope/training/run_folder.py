"""A run's folder: its settings, log, states, and what comes of it; enough to resume or repeat it."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from smokescope.data.files import make_folder, plain_reason, write_atomically, write_together
from smokescope.errors import SmokescopeError
from smokescope.settings.plain import from_plain
from smokescope.settings.verdicts import VerdictSettings
from smokescope.training.settings import TrainingSettings, read_settings
from smokescope.training.state import States
from smokescope.training.yaml import naming, read_yaml, to_yaml

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class HandedOn:
    """How a model's answer is read: what stays when a run begins with it.

    Attributes:
        temperature: Where the settings give none and no picture kept apart has smoke to fit one to.
        threshold: Above which a probability is called smoke.
        verdicts: By which regions are called smoke, or handed to a person.
    """

    temperature: float = 1.0
    threshold: float = 0.5
    verdicts: VerdictSettings = field(default_factory=VerdictSettings)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a run was given besides its settings, mostly as paths on this machine.

    Attributes:
        data: The folder that sources are below.
        folds: A folds file of `smokescope data scenes`.
        fold: Which of its folds is kept for validation.
        encoder: Weights for the encoder to begin with.
        models: Whole models to begin with instead, with the mean of their weights, and the last one's
            uncertainty net.
        cache: A folder for decoded pictures, kept there from run to run.
        skip_bad: Go on without files that cannot be used.
        handed_on: What is kept of the last of the models, so that a run goes on without their files.
        commit: Commit of the code that began it, where that is known.
    """

    data: str
    folds: str | None = None
    fold: int = 1
    encoder: str | None = None
    models: tuple[str, ...] = ()
    cache: str | None = None
    skip_bad: bool = False
    handed_on: HandedOn = field(default_factory=HandedOn)
    commit: str | None = None


class RunFolder:
    """Where a run lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings_file = path / "settings.yaml"
        self.inputs_file = path / "inputs.yaml"
        self.log_file = path / "log.jsonl"
        self.model_file = path / "model.safetensors"
        self.figures_file = path / "figures.json"
        self.states = States(path / "states")
        self.samples = path / "samples"

    def begin(self, settings: TrainingSettings, inputs: Inputs) -> None:
        """Start a new run.

        Raises:
            SmokescopeError: There is a run already, or the files cannot be written.
        """
        self.refuse_another()
        write_together({self.inputs_file: to_yaml(inputs), self.settings_file: to_yaml(settings)})

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from training into the folder; however this one ends, the lock goes with it.

        Raises:
            SmokescopeError: Another process does so now, or the folder cannot be written to.
        """
        make_folder(self.path)
        if fcntl is None:
            yield
            return
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(folder)
            raise SmokescopeError(
                f"another process is training into {self.path}: name another folder, or wait for it to end"
            ) from None
        except OSError:  # a file system without locks
            pass
        try:
            yield
        finally:
            os.close(folder)

    def refuse_another(self) -> None:
        """Raise a `SmokescopeError` if there is a run already."""
        if self.settings_file.exists():
            raise SmokescopeError(
                f"{self.path} already holds a run: continue it with --resume, or name another folder"
            )
        if self.states.steps():
            raise SmokescopeError(f"{self.states.folder} holds another run's states: name another folder")

    def settings(self) -> TrainingSettings:
        """The settings of the run that is there.

        Raises:
            SmokescopeError: There is none.
        """
        if not self.settings_file.exists():
            raise SmokescopeError(f"{self.path} holds no run to resume: it has no {self.settings_file.name}")
        return read_settings(str(self.settings_file))

    def inputs(self) -> Inputs:
        """What the run that is there was given."""
        values = read_yaml(self.inputs_file)
        with naming(self.inputs_file):
            return from_plain(Inputs, values)

    def log(self, entry: Mapping[str, object]) -> None:
        """Add a line to the log.

        Raises:
            SmokescopeError: It cannot be written.
        """
        try:
            with self.log_file.open("a") as stream:
                stream.write(json.dumps({**entry, "time": round(time.time(), 1)}) + "\n")
        except OSError as error:
            raise SmokescopeError(f"{self.log_file} cannot be written: {plain_reason(error)}") from error

    def history(self) -> Iterator[dict[str, object]]:
        """Lines of the log; what is none, as one that was cut short by a killed process, is left out."""
        if not self.log_file.exists():
            return
        for line in self.log_file.read_text(errors="replace").splitlines():
            with suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict) and isinstance(entry.get("step"), int):
                    yield entry

    def sheet(self, step: int) -> Path:
        """Where a step's sheet of samples is."""
        return self.samples / f"{step:08}.png"

    def sheets(self) -> dict[int, Path]:
        """Sheets of samples, by the step that they show."""
        return {int(path.stem): path for path in self.samples.glob("*.png") if path.stem.isdecimal()}

    def forget_after(self, step: int) -> None:
        """Drop what was logged and drawn after a step, since a resumed run will come by there again."""
        kept = [entry for entry in self.history() if int(str(entry["step"])) <= step]
        write_atomically(self.log_file, "".join(json.dumps(entry) + "\n" for entry in kept).encode())
        for drawn, sheet in self.sheets().items():
            if drawn > step:
                sheet.unlink(missing_ok=True)
        # a state's leftovers, of a process that was killed while it wrote
        for part in self.states.folder.glob(".*.part"):
            part.unlink(missing_ok=True)
