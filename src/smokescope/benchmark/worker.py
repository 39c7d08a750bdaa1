"""One engine in a process of its own: what it takes in memory, and to start, is nobody else's.

    python -m smokescope.benchmark.worker TASK

It answers a line of JSON when the first picture is done, and one more for each line that it is sent.
"""

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from smokescope import load
from smokescope.benchmark.picture import soft_colours
from smokescope.settings.choices import EngineName

if TYPE_CHECKING:
    from smokescope.inference import Segmenter


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a worker is to do, as plain values.

    Attributes:
        model: A model file; None is the embedded one.
        engine: As for `smokescope.load`.
        device: As for `smokescope.load`.
        compiled: Have torch compile the model first.
        height: Height of the picture.
        width: Width of the picture.
    """

    model: str | None
    engine: EngineName | None
    device: str = "cpu"
    compiled: bool = False
    height: int
    width: int


def peak_bytes() -> int | None:
    """The most memory that this process has had; None where the system does not say."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent had before it started us
        line = next(each for each in status.read_text().splitlines() if each.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    if sys.platform == "darwin":
        from resource import RUSAGE_SELF, getrusage

        return getrusage(RUSAGE_SELF).ru_maxrss
    return None


def prepare(task: Task) -> "Segmenter":
    """The model that a task asks for."""
    segmenter = load(task.model, task.device, engine=task.engine)
    if task.compiled:
        segmenter.pipeline.compile()
    return segmenter


def main() -> None:
    """Work on the task that the first argument holds as JSON."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    try:
        task = Task(**json.loads(sys.argv[1]))
        segmenter, picture = prepare(task), soft_colours(task.height, task.width)
        while True:
            start = time.perf_counter()
            segmenter(picture)
            seconds = time.perf_counter() - start
            print(json.dumps({"seconds": seconds, "peak_bytes": peak_bytes()}), file=answers)
            if not sys.stdin.readline():
                return
    except Exception as error:  # whatever it is, who asked wants to hear of it
        words = str(error).strip().partition("\n")[0] or type(error).__name__
        print(json.dumps({"error": words}), file=answers)


if __name__ == "__main__":
    main()
