"""A run that was stopped goes on as if nothing had happened, wherever it was."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import torch
from tests.training.small import (
    CONFIG,
    Watcher,
    command,
    environment,
    make_data,
    run_training,
    small_settings,
    succeed,
    weights,
)

from smokescope.checkpoints.files import write_tensors
from smokescope.errors import SmokescopeError
from smokescope.models.resnet import ResNet
from smokescope.training.observers import Progress
from smokescope.training.run_folder import Inputs, RunFolder


class StopAt(Watcher):
    """Sends this process a signal once a step was made."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def progressed(self, progress: Progress) -> None:
        super().progressed(progress)
        if progress.step == self.step:
            os.kill(os.getpid(), signal.SIGTERM)


# Heard after the step that follows: within an epoch, at its end, at the turn, in the last stage.
@pytest.mark.parametrize("step", [1, 2, 5, 6])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr("smokescope.training.trainer.LOG_EVERY", 1)
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    whole = run_training(settings, data, tmp_path / "whole", validate=True)
    with pytest.raises(SmokescopeError, match=f"stopped after {step + 1} of 8 steps: continue with --resume"):
        run_training(settings, data, tmp_path / "parts", observer=StopAt(step), validate=True)
    parts = run_training(settings, data, tmp_path / "parts", resume=True, validate=True)
    torch.testing.assert_close(weights(parts), weights(whole), rtol=0, atol=0)
    kept = ("step", "losses", "validation")
    told = [[{k: v for k, v in e.items() if k in kept} for e in run.history()] for run in (whole, parts)]
    assert told[0] == told[1]
    assert sum("losses" in entry for entry in told[0]) == 8
    assert [entry["step"] for entry in told[0] if "validation" in entry] == [3, 6, 8]
    assert parts.figures_file.read_bytes() == whole.figures_file.read_bytes()


def test_a_killed_run_can_always_be_resumed(tmp_path: Path) -> None:
    """SIGKILL at many moments, most of them while a state is being written."""
    data = make_data(tmp_path / "data")
    (tmp_path / "small.yaml").write_text(CONFIG)
    start = command("--config", tmp_path / "small.yaml", "--data", data, "--out", tmp_path / "run")
    slow = ["--set", "epochs=12", "--set", "uncertainty_steps=0"]
    run, kills, complaints = RunFolder(tmp_path / "run"), 0, tmp_path / "complaints"
    while kills < 3 and not run.model_file.exists():
        begun = run.settings_file.exists()
        arguments = command("--out", run.path, "--resume") if begun else [*start, *slow]
        with complaints.open("w") as stream:
            process = subprocess.Popen(arguments, env=environment(), stderr=stream)
        known = set(run.states.steps())
        while process.poll() is None:  # a temporary file is there while a state is being written
            writing = any(run.states.folder.glob(".*.part")) if run.states.folder.exists() else False
            if writing and set(run.states.steps()) - known:
                process.kill()
            time.sleep(0.0005)
        assert process.wait() in (0, -signal.SIGKILL), complaints.read_text()
        kills += process.returncode == -signal.SIGKILL
    assert kills >= 2, "no process was caught writing"
    if not run.model_file.exists():
        succeed(command("--out", run.path, "--resume"))
    assert not list(run.states.folder.glob(".*.part"))  # nothing is left of what was cut short
    whole = tmp_path / "whole"
    succeed([*command("--config", tmp_path / "small.yaml", "--data", data, "--out", whole), *slow])
    torch.testing.assert_close(weights(run), weights(RunFolder(whole)), rtol=0, atol=0)


def test_where_the_newest_state_is_damaged_the_one_before_serves(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    run = run_training(settings, data, tmp_path / "run")
    first = weights(run)
    newest = max(run.states.folder.glob("*.safetensors"))
    newest.write_bytes(newest.read_bytes()[:1000])
    torch.testing.assert_close(weights(run_training(settings, data, run.path, resume=True)), first)
    for state in run.states.folder.glob("*.safetensors"):
        state.write_bytes(b"nothing of ours")
    with pytest.raises(SmokescopeError, match="no state of this run can be read"):
        run_training(settings, data, run.path, resume=True)


def test_a_run_that_was_stopped_before_its_first_state_keeps_its_encoder(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    encoder = tmp_path / "encoder.safetensors"
    torch.manual_seed(7)
    write_tensors(encoder, ResNet("v1", (1, 1, 1, 1), 4).state_dict(), {"stride": "v1"})
    whole = run_training(settings, data, tmp_path / "whole", encoder=encoder)
    RunFolder(tmp_path / "late").begin(settings, Inputs(data=str(data), encoder=str(encoder)))
    late = run_training(settings, data, tmp_path / "late", resume=True, encoder=encoder)
    torch.testing.assert_close(weights(late), weights(whole), rtol=0, atol=0)
    without = run_training(settings, data, tmp_path / "without")
    assert any((weights(without)[name] != tensor).any() for name, tensor in weights(whole).items())


def test_a_run_that_fits_the_uncertainty_net_alone_resumes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smokescope.training.trainer.LOG_EVERY", 1)
    data = make_data(tmp_path / "data")
    first = [run_training(small_settings(tmp_path), data, tmp_path / "first").model_file]
    settings = small_settings(tmp_path, "epochs=0", "uncertainty_steps=5")
    whole = run_training(settings, data, tmp_path / "whole", models=first)
    with pytest.raises(SmokescopeError, match="stopped after 2 of 5 steps"):
        run_training(settings, data, tmp_path / "parts", models=first, observer=StopAt(1))
    parts = run_training(settings, data, tmp_path / "parts", models=first, resume=True)
    torch.testing.assert_close(weights(parts), weights(whole), rtol=0, atol=0)


def test_two_states_are_kept(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path, "epochs=4")
    run = run_training(settings, data, tmp_path / "run")
    assert run.states.steps() == [12, 14]


def test_a_run_is_not_overwritten_and_nothing_is_not_resumed(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    run_training(settings, data, tmp_path / "run")
    with pytest.raises(SmokescopeError, match="already holds a run"):
        run_training(settings, data, tmp_path / "run")
    (tmp_path / "run" / "settings.yaml").unlink()  # then its states would be taken for the new run's
    with pytest.raises(SmokescopeError, match="holds another run's states"):
        run_training(settings, data, tmp_path / "run")
    with pytest.raises(SmokescopeError, match="holds no run to resume"):
        RunFolder(tmp_path / "none").settings()


def test_what_was_drawn_after_the_state_is_forgotten_with_the_log(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.samples.mkdir()
    for name in ("00000003.png", "00000004.png", "mine.png"):
        (run.samples / name).touch()
    for step in (3, 4):
        run.log({"step": step})
    run.forget_after(3)
    assert [entry["step"] for entry in run.history()] == [3]
    assert sorted(path.name for path in run.samples.iterdir()) == ["00000003.png", "mine.png"]
