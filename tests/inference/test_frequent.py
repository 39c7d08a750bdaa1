"""What is asked for often is made and kept; nothing piles up, and nobody waits."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smokescope.inference.engines.frequent import KEPT, Frequent


class Made(list[int]):
    """Makes texts of numbers, and remembers for which."""

    def __call__(self, key: int) -> str:
        self.append(key)
        return str(key)


def test_the_second_time_is_enough_and_once_made_it_stays() -> None:
    made = Made()
    frequent = Frequent(made)
    assert [frequent.get(7) for _ in range(40)] == [None, *(["7"] * 39)]
    assert made == [7]


def test_nothing_is_made_where_keys_change_all_the_time() -> None:
    made = Made()
    frequent = Frequent(made)
    assert {frequent.get(number % 20) for number in range(200)} == {None}
    assert made == []


def test_keys_that_take_turns_do_not_push_each_other_out() -> None:
    made = Made()
    frequent = Frequent(made)
    for number in range(400):
        frequent.get(number % (KEPT + 1))
    assert len(made) <= KEPT


def test_what_was_not_asked_for_longest_goes_first() -> None:
    made = Made()
    frequent = Frequent(made)
    for key in (0, 1, 2, 0, 3):
        for _ in range(30):
            frequent.get(key)
    assert made == [0, 1, 2, 3]
    assert [frequent.get(key) for key in (0, 2, 3, 1)] == ["0", "2", "3", None]


@given(st.lists(st.integers(0, 6), max_size=200))
def test_no_more_than_a_few_are_kept_whatever_comes(keys: list[int]) -> None:
    frequent = Frequent(str)
    for key in keys:
        assert frequent.get(key) in (None, str(key))
        assert len(frequent._kept) <= KEPT


def test_others_go_on_while_one_makes() -> None:
    begun, done = threading.Event(), threading.Event()

    def make(key: int) -> str:
        begun.set()
        assert done.wait(10)
        return str(key)

    frequent = Frequent(make)
    frequent.get(1)
    thread = threading.Thread(target=frequent.get, args=(1,))
    thread.start()
    assert begun.wait(10)
    assert [frequent.get(key) for key in (1, 2, 2)] == [None, None, None]
    done.set()
    thread.join(10)
    assert frequent.get(1) == "1"


def test_what_could_not_be_made_is_tried_again() -> None:
    luck = iter([False, True])

    def make(key: int) -> str:
        if not next(luck):
            raise MemoryError
        return str(key)

    frequent = Frequent(make)
    frequent.get(1)
    with pytest.raises(MemoryError):
        frequent.get(1)
    assert frequent.get(1) == "1"
