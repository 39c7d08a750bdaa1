"""What is said of figures: columns, a sentence, JSON."""

import json

from smokescope.benchmark.measure import Candidate, Measured, Measurement
from smokescope.benchmark.report import advice, as_document, as_table
from smokescope.benchmark.worker import Task

TASK = Task(model="m.safetensors", engine=None, height=480, width=640)


def row(name: str, seconds: float, command: str | None, peak: int | None = 3 * 2**20) -> Measurement:
    return Measurement(Candidate(name, TASK, command), seconds, 1.25, peak)


TORCH, FAST = row("PyTorch", 0.4, "run torch"), row("OpenVINO", 0.1, "run openvino", None)
COMPILED = row("PyTorch, compiled", 0.05, None)


def test_columns_stand_below_each_other() -> None:
    header, first, second = as_table([TORCH, FAST]).splitlines()
    assert header.split()[0] == "engine"
    assert len(header) == len(first) == len(second)
    assert first.split() == ["PyTorch", "400.0", "2.5", "3", "1.2"]
    assert second.split() == ["OpenVINO", "100.0", "10.0", "-", "1.2"]


def test_the_fastest_that_can_be_run_is_advised() -> None:
    told = "Use OpenVINO, 4.0 times as fast as PyTorch here: run openvino"
    assert advice([TORCH, COMPILED, FAST]) == told
    assert advice([TORCH, row("onnxruntime", 0.2, "run onnx"), FAST]) == told
    int8 = row("int8", 0.05, "smokescope export --int8 && smokescope serve")
    limited = ": smokescope export --int8 && OMP_NUM_THREADS=2 smokescope serve"
    assert advice([TORCH, int8], 2).endswith(limited)
    slow = row("OpenVINO", 0.8, "run openvino")
    assert advice([TORCH, slow]) == "Use PyTorch, 2.0 times as fast as OpenVINO here: run torch"
    assert advice([TORCH]) == "PyTorch is the one engine here that runs it: run torch"


def test_programs_get_the_same() -> None:
    told = json.loads(json.dumps(as_document(Measured([TORCH, FAST], True), TASK, 20, 2)))
    assert (told["best"], told["busy"], told["threads"], told["rounds"]) == ("OpenVINO", True, 2, 20)
    assert (told["model"], told["width"], told["height"]) == ("m.safetensors", 640, 480)
    assert told["engines"][1] == {
        "name": "OpenVINO",
        "milliseconds": 100.0,
        "pictures_per_second": 10.0,
        "peak_bytes": None,
        "startup_seconds": 1.25,
        "command": "run openvino",
    }
