"""Engines side by side: each in its own process, one picture in turns."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

from smokescope.benchmark.process import Worker
from smokescope.benchmark.turns import quiet_medians, take_turns, was_busy
from smokescope.benchmark.worker import Task
from smokescope.errors import SmokescopeError

PAUSE = 0.02  # seconds: engines' threads look out for more work for some milliseconds, at others' cost


@dataclass(frozen=True)
class Candidate:
    """Something to measure.

    Attributes:
        name: For people.
        task: For the worker.
        command: That runs a model so; None where no command does.
    """

    name: str
    task: Task
    command: str | None


class Measured(NamedTuple):
    """What came out."""

    rows: "list[Measurement]"
    busy: bool
    """Whether the machine did other things meanwhile."""


@dataclass(frozen=True)
class Measurement:
    """What came out of one candidate.

    Attributes:
        candidate: It.
        seconds: Median of a picture, over the quiet rounds.
        startup: Seconds from the process' start to its first answer.
        peak_bytes: The most memory that the process had; None where the system does not say.
    """

    candidate: Candidate
    seconds: float
    startup: float
    peak_bytes: int | None


def measure(
    candidates: Sequence[Candidate],
    rounds: int,
    threads: int | None,
    show: Callable[[int, int], None],
    complain: Callable[[SmokescopeError], None],
) -> Measured:
    """Measure candidates against each other.

    Args:
        candidates: In their order.
        rounds: In each of which all of them take their turn.
        threads: For each; by default as many as its engine likes.
        show: Told how many rounds are done, and of how many.
        complain: Told of a candidate that does not work; the others go on.

    Raises:
        SmokescopeError: None works, or one stops working half-way.
    """
    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        for each in candidates:
            try:
                workers[each.name] = stack.enter_context(Worker(each.task, threads))
            except SmokescopeError as error:
                complain(SmokescopeError(f"{each.name} is left out: {error}"))
        if not workers:
            raise SmokescopeError("nothing to measure: no engine here can run the model")
        asked = {name: worker.ask for name, worker in workers.items()}
        times = take_turns(asked, rounds, pause=PAUSE, show=show)
        seconds = quiet_medians(times)
        rows = [
            Measurement(each, seconds[each.name], worker.startup, worker.peak_bytes)
            for each in candidates
            if (worker := workers.get(each.name))
        ]
        return Measured(rows, was_busy(times))
