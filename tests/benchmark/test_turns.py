"""Turns are fair, and quiet rounds are the same for all."""

from functools import partial

import pytest

from smokescope.benchmark.turns import quiet_medians, take_turns, was_busy


def test_all_take_their_turn_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr("time.sleep", lambda seconds: called.append("." if seconds == 0.25 else "?"))

    def timed(name: str) -> float:
        called.append(name)
        return float(len(called))

    told: list[tuple[int, int]] = []
    times = take_turns(
        {name: partial(timed, name) for name in "ab"},
        rounds=2,
        warm_up=1,
        pause=0.25,
        show=lambda done, of: told.append((done, of)),
    )
    assert "".join(called) == ".a.b.a.b.a.b"
    assert times == {"a": [6, 10], "b": [8, 12]}  # the first round was for warming up
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_the_quieter_half_is_of_rounds_and_not_of_each() -> None:
    times = {"a": [1.0, 5.0, 1.2, 9.0, 1.1], "b": [2.0, 1.9, 2.2, 9.0, 2.1]}
    # rounds 0, 4 and 2 were quiet; b's own best is of a round in which a was disturbed
    assert quiet_medians(times) == {"a": 1.1, "b": 2.1}
    assert quiet_medians({"a": [3.0]}) == {"a": 3.0}


def test_a_busy_machine_shows_in_the_quiet_rounds() -> None:
    assert not was_busy({"a": [1.0, 1.1, 5.0, 5.0]})  # the other half does not count
    assert was_busy({"a": [1.0, 1.0, 1.0, 1.0], "b": [1.0, 1.7, 1.6, 1.9]})
