"""What goes wrong in a long run ends in a sentence, with the last good state kept."""

import errno
import shutil
from pathlib import Path

import pytest
import torch
from PIL import Image
from tests.training.small import Watcher, make_data, run_training, small_settings, weights
from torch import Tensor

from smokescope.errors import SmokescopeError
from smokescope.losses.kl import kl_loss
from smokescope.training.observers import Progress
from smokescope.training.run_folder import RunFolder
from smokescope.training.sources import load_data


def test_a_loss_that_is_no_number_stops_the_run_before_it_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path, "save_every=1")
    steps = iter(range(100))

    def spoilt(mean: Tensor, log_variance: Tensor, free: float) -> Tensor:
        return kl_loss(mean, log_variance, free) * (torch.nan if next(steps) == 4 else 1.0)

    monkeypatch.setattr("smokescope.losses.objective.kl_loss", spoilt)
    complaint = r"became NaN or infinite by step 6: the state after step 3 is kept"
    with pytest.raises(SmokescopeError, match=complaint):
        run_training(settings, data, tmp_path / "run", validate=True)
    run = RunFolder(tmp_path / "run")
    state = run.states.read()
    assert state is not None
    assert state.step == 3
    assert all(tensor.isfinite().all() for tensor in state.tensors.values())
    assert not run.model_file.exists()


class FullDiskAt(Watcher):
    def __init__(self, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.step, self.monkeypatch = step, monkeypatch

    def progressed(self, progress: Progress) -> None:
        if progress.step == self.step:

            def full(path: Path, data: bytes) -> None:
                path.write_bytes(data[: len(data) // 2])
                raise OSError(errno.ENOSPC, "No space left on device")

            self.monkeypatch.setattr("smokescope.data.files._write_through", full)


def test_a_full_disk_keeps_the_last_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    whole = run_training(settings, data, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr("smokescope.training.trainer.LOG_EVERY", 1)
        with pytest.raises(SmokescopeError, match="cannot be written: no space left on device"):
            run_training(settings, data, tmp_path / "run", observer=FullDiskAt(4, patch))
    run = RunFolder(tmp_path / "run")
    assert run.states.steps() == [3]
    assert not list(run.states.folder.glob(".*"))
    torch.testing.assert_close(
        weights(run_training(settings, data, run.path, resume=True)), weights(whole), rtol=0, atol=0
    )


class LoseData(Watcher):
    def __init__(self, data: Path) -> None:
        super().__init__()
        self.data = data

    def progressed(self, progress: Progress) -> None:
        shutil.rmtree(self.data, ignore_errors=True)


def test_files_that_vanish_meanwhile_are_not_missed(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    whole = run_training(settings, data, tmp_path / "whole")
    run = run_training(settings, data, tmp_path / "run", observer=LoseData(data))
    assert not data.exists()
    torch.testing.assert_close(weights(run), weights(whole), rtol=0, atol=0)


def test_missing_files_are_named_before_anything_is_written(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    (data / "pairs/gt/3.png").unlink()
    (data / "pairs/img/5.png").write_bytes(b"no picture")
    with pytest.raises(SmokescopeError) as caught:
        run_training(settings, data, tmp_path / "run")
    told = " ".join(map(str, [caught.value, *caught.value.details]))
    assert "3.png has no mask" in told
    assert "5.png" in told


def test_a_batch_larger_than_the_data_is_refused(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    with pytest.raises(
        SmokescopeError, match=r"an epoch of 12 pictures does not fill a batch of 64: .* \(--set batch=12\)"
    ):
        run_training(small_settings(tmp_path, "batch=64"), data, tmp_path / "run")


def test_a_run_is_not_resumed_with_other_pictures(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    run = run_training(settings, data, tmp_path / "run")
    mask = Image.open(data / "pairs/gt/3.png")
    mask.transpose(Image.Transpose.ROTATE_180).save(data / "pairs/gt/3.png")
    with pytest.raises(SmokescopeError, match=r"has changed since this run began: .* or start a new run"):
        run_training(settings, data, run.path, resume=True)
    mask.save(data / "pairs/gt/3.png")  # at another time, with the same pixels
    run_training(settings, data, run.path, resume=True)
    with pytest.raises(SmokescopeError, match="has changed since this run began"):  # validated on others
        run_training(settings, data, run.path, resume=True, validate=True)
    (data / "negatives/9.png").unlink()
    with pytest.raises(SmokescopeError, match="the data has changed since this run began"):
        run_training(settings, data, run.path, resume=True)


def test_a_run_is_not_resumed_with_other_settings(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    run = run_training(small_settings(tmp_path), data, tmp_path / "run")
    for other in ("batch=2", "seed=7", "epochs=3", "model.encoder_width=8"):
        with pytest.raises(SmokescopeError, match=r"settings.yaml has changed since this run began"):
            run_training(small_settings(tmp_path, other), data, run.path, resume=True)
    run_training(small_settings(tmp_path, "save_every=2"), data, run.path, resume=True)


def test_two_processes_do_not_train_into_one_folder(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    run = run_training(settings, data, tmp_path / "run")
    again = RunFolder(run.path)
    with run.held():
        with pytest.raises(SmokescopeError, match="another process is training into"), again.held():
            pass
        with pytest.raises(SmokescopeError, match="another process is training into"):
            run_training(settings, data, run.path, resume=True)
    run_training(settings, data, run.path, resume=True)


def test_a_run_among_the_pictures_is_refused(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    for out in (data / "negatives" / "run", data / "pairs" / "img"):
        with pytest.raises(SmokescopeError, match="among the data: name another output folder"):
            load_data(settings, data, out=out)
    load_data(settings, data, out=data / "runs" / "first")


def test_a_damaged_log_does_not_keep_a_run_from_going_on(tmp_path: Path) -> None:
    data, settings = make_data(tmp_path / "data"), small_settings(tmp_path)
    run = run_training(settings, data, tmp_path / "run", validate=True)
    before = list(run.history())
    with run.log_file.open("ab") as stream:
        stream.write(b'[1]\n{"step": "x"}\n\xff\xfe\n{"step": 3, "loss')
    run_training(settings, data, run.path, resume=True, validate=True)
    assert list(run.history()) == before  # nor is its last validation told twice
