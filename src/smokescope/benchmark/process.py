"""Workers, seen from outside."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from types import TracebackType

from smokescope.benchmark.worker import Task
from smokescope.errors import SmokescopeError


class Worker:
    """A process that has its first picture done. Use it in a `with`, which ends it.

    Args:
        task: What it is to do.
        threads: That it may compute with; by default as many as its engine likes.

    Attributes:
        startup: Seconds from its start to its first answer.
        peak_bytes: The most memory that it has had so far; None where the system does not say.

    Raises:
        SmokescopeError: It cannot do it; the sentence says why.
    """

    def __init__(self, task: Task, threads: int | None = None) -> None:
        environment = {**os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {})}
        begin = time.perf_counter()
        self._process = subprocess.Popen(  # noqa: S603  # it is ourselves
            [sys.executable, "-P", "-m", "smokescope.benchmark.worker", json.dumps(asdict(task))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.peak_bytes: int | None = None
        try:
            self._answer()
        except BaseException:
            self._end()
            raise
        self.startup = time.perf_counter() - begin

    def ask(self) -> float:
        """Have one more picture done: the seconds it took.

        Raises:
            SmokescopeError: The worker has come to its end.
        """
        assert self._process.stdin is not None  # noqa: S101  # it is a pipe
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it is gone, which the missing answer will tell
        return self._answer()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _answer(self) -> float:
        assert self._process.stdout is not None  # noqa: S101  # it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise SmokescopeError(f"the process ended unexpectedly, with exit code {self._process.wait()}")
        told = json.loads(line)
        if "error" in told:
            raise SmokescopeError(told["error"])
        self.peak_bytes = told["peak_bytes"]
        return float(told["seconds"])

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()
