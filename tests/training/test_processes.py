"""Several processes learn what one does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tests.training.small import CONFIG, command, environment, make_data, succeed, weights

from smokescope.data.folds import Folds
from smokescope.data.sets import PictureName
from smokescope.training.run_folder import RunFolder


def by_two(*arguments: object) -> list[str]:
    """The command line of a training by two processes."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    return [*launcher, *command(*arguments)[2:]]


def refused(tmp_path: Path, data: Path, *arguments: object) -> str:
    """What two processes say that do not go on."""
    (tmp_path / "small.yaml").write_text(CONFIG)
    start = ("--config", tmp_path / "small.yaml", "--data", data, "--out", tmp_path / "run")
    done = subprocess.run(
        by_two(*start, *arguments), env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize("extra", [[], ["--set", "data=[{kind: rendered, folder: pairs, weight: 2}]"]])
def test_two_processes_learn_what_one_does(tmp_path: Path, extra: list[str]) -> None:
    """Batch norm is frozen, as each sees half a batch; all chance is keyed by sample."""
    data = make_data(tmp_path / "data")
    (tmp_path / "small.yaml").write_text(CONFIG + "freeze_batch_norm: all\n")
    first = [PictureName("pairs", name) for name in "012"] + [PictureName("negatives", "8")]
    rest = [PictureName("pairs", name) for name in "34567"]
    rest += [PictureName("negatives", name) for name in ("9", "10", "11")]
    folds = Folds(0.2, 0, {"pairs": "pairs", "negatives": "negatives"}, [first, rest])
    (tmp_path / "folds.json").write_bytes(folds.encode())
    start = ["--config", tmp_path / "small.yaml", "--data", data, "--folds", tmp_path / "folds.json", *extra]
    one, two = RunFolder(tmp_path / "one"), RunFolder(tmp_path / "two")
    succeed(command(*start, "--out", one.path))
    told_by_two = succeed(by_two(*start, "--cache", tmp_path / "cache", "--out", two.path))
    assert "Grad strides" not in told_by_two  # a warning of torch's, on CPUs
    ours, theirs = weights(one), weights(two)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)
    told = [[entry["losses"] for entry in run.history() if "losses" in entry] for run in (one, two)]
    assert len(told[0]) == len(told[1]) > 1
    torch.testing.assert_close(told[0], told[1], rtol=1e-4, atol=1e-5)
    figures = [json.loads(run.figures_file.read_text())["validation"] for run in (one, two)]
    assert figures[0]["images"] == figures[1]["images"] == 3
    torch.testing.assert_close(figures[0]["mse"], figures[1]["mse"], rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(figures[0]["alarm"], figures[1]["alarm"])


def test_what_one_refuses_the_others_do_not_repeat(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data")
    (data / "pairs/img/3.png").write_text("no picture")
    told = refused(tmp_path, data, "--cache", tmp_path / "cache")
    assert told.count("3.png") == 1
    assert "another process failed: see its message" in told
    assert "in_turn" not in told  # no traceback of ours
    assert not list((tmp_path / "cache").glob(".*"))


def test_a_batch_that_cannot_be_shared_is_refused(tmp_path: Path) -> None:

    data = make_data(tmp_path / "data")
    told = refused(tmp_path, data, "--set", "batch=3")
    assert "a batch of 3 cannot be shared evenly by 2 processes" in told
