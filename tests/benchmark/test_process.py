"""Workers are processes of their own, and when they fail they say why."""

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.models.small import TINY

from smokescope.benchmark.measure import Candidate, measure
from smokescope.benchmark.process import Worker
from smokescope.benchmark.worker import Task
from smokescope.checkpoints.model import save_model
from smokescope.errors import SmokescopeError
from smokescope.models import InputSettings, Pipeline, UNet


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    save_model(Pipeline(UNet(TINY), InputSettings(height=64, width=64)), path)
    return Task(model=str(path), engine="torch", height=48, width=64)


def test_a_worker_answers_until_it_is_let_go(task: Task) -> None:
    with Worker(task, threads=1) as worker:
        assert worker.startup > 0
        assert all(worker.ask() > 0 for _ in range(3))
        worker._process.kill()
        with pytest.raises(SmokescopeError, match="ended unexpectedly, with exit code -9"):
            worker.ask()


CHATTY = """
from smokescope.benchmark import worker

def soft_colours(height, width, draw=worker.soft_colours):
    print("drawing", height, "x", width)
    return draw(height, width)

worker.soft_colours = soft_colours
worker.main()
"""


def test_what_libraries_print_is_no_answer_and_who_is_not_asked_any_more_ends(task: Task) -> None:
    command = [sys.executable, "-c", CHATTY, json.dumps(asdict(task))]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["seconds"] > 0
    assert b"drawing 48 x 64" in done.stderr


@pytest.mark.skipif(not Path("/proc").exists(), reason="what a process was given is read from /proc")
def test_a_worker_has_the_threads_that_it_may_have(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for threads, told in ((3, b"3"), (None, b"1")):
        with Worker(task, threads) as worker:
            given = Path(f"/proc/{worker._process.pid}/environ").read_bytes().split(b"\0")
            assert b"OMP_NUM_THREADS=" + told in given


@pytest.mark.skipif(sys.platform != "linux", reason="others tell memory in other ways")
def test_memory_is_the_workers_own(task: Task) -> None:
    ours = np.ones(2**26)  # half a GiB, which a child that is forked would seem to have too
    with Worker(task, threads=1) as worker:
        assert worker.peak_bytes is not None
        assert 50 * 2**20 < worker.peak_bytes < ours.nbytes


def test_what_goes_wrong_is_a_sentence(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SmokescopeError, match=r"^none\.onnx does not exist$"):
        Worker(replace(task, model="none.onnx", engine=None))
    with pytest.raises(SmokescopeError, match="there is no device 'cuda:77' here"):
        Worker(replace(task, device="cuda:77"))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(SmokescopeError, match="ended unexpectedly, with exit code 1"):
        Worker(task)


def test_who_does_not_work_is_left_out(task: Task, tmp_path: Path) -> None:
    good, bad = (
        Candidate("good", task, "run"),
        Candidate("bad", replace(task, model="none.onnx", engine=None), None),
    )
    told: list[str] = []
    found = measure([bad, good], 1, 1, lambda done, of: None, lambda error: told.append(str(error)))
    assert [each.candidate for each in found.rows] == [good]
    assert told == ["bad is left out: none.onnx does not exist"]
    with pytest.raises(SmokescopeError, match="nothing to measure: no engine"):
        measure([bad], 1, 1, lambda done, of: None, lambda error: None)
