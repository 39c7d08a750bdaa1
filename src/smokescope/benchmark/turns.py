"""Timing that a busy machine does not fool: candidates take turns, and the quieter half of rounds counts."""

import statistics
import time
from collections.abc import Callable, Mapping

BUSY = 1.25  # on a quiet machine, medians were within a tenth of the quickest

Timed = Callable[[], float]
"""Does the work once, and says how many seconds it took."""


def take_turns(
    candidates: Mapping[str, Timed],
    rounds: int,
    warm_up: int = 2,
    pause: float = 0.0,
    show: Callable[[int, int], None] = lambda done, of: None,
) -> dict[str, list[float]]:
    """Seconds of each candidate in each round, all of them once in a round.

    Args:
        candidates: By name.
        rounds: That count.
        warm_up: Rounds before, that do not.
        pause: Seconds before each turn, for threads of the one before to go to sleep.
        show: Told how many rounds are done, and of how many.
    """
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(-warm_up, rounds):
        for name, work in candidates.items():
            time.sleep(pause)
            seconds = work()
            if turn >= 0:
                times[name].append(seconds)
        show(turn + warm_up + 1, rounds + warm_up)
    return times


def quiet_medians(times: Mapping[str, list[float]]) -> dict[str, float]:
    """Median seconds of each candidate, over the half of the rounds in which all together were quickest.

    They are the same rounds for all: nobody's lucky moment is compared with another's bad one.
    """
    totals = [sum(each) for each in zip(*times.values(), strict=True)]
    order = sorted(range(len(totals)), key=totals.__getitem__)
    quiet = order[: (len(order) + 1) // 2]
    return {name: statistics.median([values[i] for i in quiet]) for name, values in times.items()}


def was_busy(times: Mapping[str, list[float]]) -> bool:
    """Whether the machine did other things meanwhile: even quiet rounds took far longer than the quickest."""
    return any(seconds > BUSY * min(times[name]) for name, seconds in quiet_medians(times).items())
