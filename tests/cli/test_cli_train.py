"""`smokescope train` as a user meets it."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from PIL import Image
from tests.training.small import CONFIG, command, environment, make_data

from smokescope.data.folds import Folds
from smokescope.data.sets import PictureName

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text(CONFIG)
    return file


def make_folds(path: Path) -> Path:
    first = [PictureName("pairs", "0"), PictureName("pairs", "1"), PictureName("negatives", "8")]
    second = [PictureName("pairs", str(n)) for n in range(2, 8)]
    second += [PictureName("negatives", str(n)) for n in (9, 10, 11)]
    folds = Folds(0.2, 0, {"pairs": "pairs", "negatives": "negatives"}, [second, first])
    path.write_bytes(folds.encode())
    return path


def test_from_pictures_to_a_report(
    run: Run, tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_data(tmp_path / "data")
    make_folds(tmp_path / "folds.json")
    out = tmp_path / "run"
    monkeypatch.chdir(tmp_path)
    kept = ("--folds", "folds.json", "--fold", 2, "--cache", "decoded")
    done = run("train", "--config", config, "--data", "data", "--out", out, *kept)
    assert done.returncode == 0, done.stderr
    assert f"the model is {out / 'model.safetensors'}" in done.stdout
    assert "on held-out scenes: f_beta mean 0." in done.stdout
    assert "temperature" not in done.stdout
    assert {p.name for p in out.iterdir()} == {
        "settings.yaml", "inputs.yaml", "log.jsonl", "states", "samples", "tensorboard",
        "figures.json", "model.safetensors", "report.html",
    }  # fmt: skip
    assert any((out / "samples").glob("*.png"))
    assert any((out / "tensorboard").glob("events*"))
    report = (out / "report.html").read_text()
    assert str(tmp_path) not in report
    assert json.loads((out / "figures.json").read_text())["validation"]["images"] == 2
    # a finished run is measured again, and nothing more, from wherever that is asked for
    monkeypatch.chdir(out)
    again = run("train", "--out", out, "--resume")
    assert again.returncode == 0, again.stderr
    assert not (out / "decoded").exists()


def test_a_temperature_that_was_not_fitted_is_told(run: Run, tmp_path: Path, config: Path) -> None:
    data, folds = make_data(tmp_path / "data"), make_folds(tmp_path / "folds.json")
    line = "data=[{kind: pairs, folder: pairs, validated: false}, {kind: negatives, folder: negatives}]"
    given = ("--data", data, "--config", config, "--folds", folds, "--fold", 2, "--set", line)
    done = run("train", *given, "--set", "epochs=1", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "no held-out picture has smoke: the temperature was not fitted" in done.stdout
    assert json.loads((tmp_path / "run/figures.json").read_text())["temperature"] == 1.0


def test_what_is_skipped_is_named(run: Run, tmp_path: Path, config: Path) -> None:
    data = make_data(tmp_path / "data")
    (data / "pairs" / "img" / "3.png").write_text("text")
    arguments = ("train", "--data", data, "--config", config, "--out", tmp_path / "run", "--set", "epochs=1")
    assert "3.png" in run(*arguments).stderr
    done = run(*arguments, "--skip-bad")
    assert done.returncode == 0
    assert "3.png" in done.stderr


def test_a_file_that_went_bad_ends_a_run_that_would_go_on(run: Run, tmp_path: Path, config: Path) -> None:
    data, out = make_data(tmp_path / "data"), tmp_path / "run"
    begun = ("train", "--data", data, "--config", config, "--out", out)
    assert run(*begun, "--set", "epochs=1").returncode == 0
    (data / "pairs" / "img" / "3.png").write_text("text")
    done = run("train", "--out", out, "--resume")
    assert done.returncode == 2
    assert "3.png" in done.stderr
    assert "has changed since this run began" in done.stderr
    assert "skip-bad" not in done.stderr  # which would not be taken


def test_a_signal_is_told_by_the_exit_code_and_the_run_goes_on(tmp_path: Path, config: Path) -> None:
    data, out = make_data(tmp_path / "data"), tmp_path / "run"
    given = ("--config", config, "--data", data, "--out", out, "--set", "epochs=100")
    process = subprocess.Popen(command(*given), env=environment(), stderr=subprocess.PIPE, text=True)
    while not (out / "log.jsonl").exists():  # the first step is told
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    _, told = process.communicate(timeout=60)
    assert "steps: continue with --resume" in told
    assert process.returncode == 128 + signal.SIGTERM


def test_no_room_for_a_step_is_told(run: Run, tmp_path: Path, config: Path) -> None:
    data = make_data(tmp_path / "data")
    given = ("train", "--config", config, "--data", data, "--out", tmp_path / "run")
    done = run(*given, "--set", "size=[1000000, 1000000]")
    assert done.returncode == 2
    assert "training does not fit into memory: try a smaller batch, size or side" in done.stderr
    assert "Traceback" not in done.stderr


def test_mistakes_are_told_in_a_sentence(run: Run, tmp_path: Path, config: Path) -> None:
    data = make_data(tmp_path / "data")
    out = tmp_path / "run"
    for arguments, complaint in (
        (["--out", out], "--data DIR is missing"),
        (["--out", out, "--data", data, "--config", "nothing"], "there is no configuration nothing"),
        (["--out", out, "--data", data, "--config", config, "--set", "epoch=3"], "no setting epoch"),
        (["--out", out, "--data", tmp_path / "none", "--config", config], "is not a folder"),
        (["--out", out, "--data", data, "--model", "a", "--encoder", "b"], "choose one"),
        (["--out", out, "--data", data, "--config", config, "--model", tmp_path / "m"], "does not exist"),
        (["--out", out, "--data", data, "--config", config, "--device", "cuda:77"], "there is no device"),
        (["--out", out, "--resume"], "holds no run to resume"),
        (["--out", out, "--resume", "--fold", 2], "give only --out and --device with it"),
        (["--out", out, "--resume", "--cache", out], "give only --out and --device with it"),
        (["--out", out, "--data", data, "--config", config, "--cache", config], "not a directory"),
        (["--out", out, "--data", data, "--config", config, "--fold", 2], "give it with --folds"),
        (["--out", out, "--data", data, "--config", config, "--encoder", tmp_path / "w"], "does not exist"),
    ):
        done = run("train", *arguments)
        assert done.returncode == 2
        assert complaint in done.stderr
        assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_written_to_is_told_before_pictures_are_read(
    run: Run, tmp_path: Path, config: Path
) -> None:
    data = make_data(tmp_path / "data")
    (data / "pairs/img/0.png").write_text("no picture")
    (tmp_path / "taken").touch()
    done = run("train", "--config", config, "--data", data, "--out", tmp_path / "taken" / "run")
    assert done.returncode == 2
    assert "taken" in done.stderr
    assert "0.png" not in done.stderr


def test_a_scheduler_that_ends_it_while_it_reads_leaves_nothing_behind(tmp_path: Path, config: Path) -> None:
    data, cache = make_data(tmp_path / "data"), tmp_path / "cache"
    Image.effect_noise((2000, 1500), 50).convert("RGB").save(tmp_path / "large.jpg")
    Image.new("1", (2000, 1500), 1).save(tmp_path / "large.png")
    for number in range(200):
        (data / f"pairs/img/large{number}.jpg").symlink_to(tmp_path / "large.jpg")
        (data / f"pairs/gt/large{number}.png").symlink_to(tmp_path / "large.png")
    arguments = command("--config", config, "--data", data, "--out", tmp_path / "run", "--cache", cache)
    process = subprocess.Popen(arguments, env=environment())
    while not list(cache.glob(".*.part")):
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM
    assert not list(cache.iterdir())
    assert not (tmp_path / "run").exists()
