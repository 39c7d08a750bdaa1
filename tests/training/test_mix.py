"""The order of pictures: as often as their weight says, shuffled, and a function of the seed alone."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smokescope.training.mix import Mix


def test_each_picture_is_seen_as_often_as_its_weight_says() -> None:
    mix = Mix([10, 8, 4], [1, 0.25, 3], seed=0)
    assert len(mix) == 10 + 2 + 12
    seen = Counter(map(tuple, np.concatenate([mix.epoch(n) for n in range(4)]).tolist()))
    assert {seen[0, i] for i in range(10)} == {4}
    assert {seen[1, i] for i in range(8)} == {1}  # a quarter of them an epoch, and no one twice in four
    assert {seen[2, i] for i in range(4)} == {12}


@given(
    st.lists(st.tuples(st.integers(1, 12), st.floats(0, 3)), min_size=1, max_size=4),
    st.integers(0, 9),
    st.integers(0, 5),
)
def test_any_mix_is_whole_and_repeatable(parts: list[tuple[int, float]], seed: int, epoch: int) -> None:
    counts, weights = zip(*parts, strict=True)
    order = Mix(counts, weights, seed).epoch(epoch)
    np.testing.assert_array_equal(order, Mix(counts, weights, seed).epoch(epoch))
    # one at least, lest a source that somebody named is never seen
    shares = [max(1, round(c * w)) if w else 0 for c, w in parts]
    assert len(order) == sum(shares)
    for source, ((count, _), share) in enumerate(zip(parts, shares, strict=True)):
        mine = order[order[:, 0] == source, 1]
        assert len(mine) == share
        times = Counter(mine.tolist())
        assert all(0 <= number < count for number in times)
        if times:  # whole passes but for the first and the last
            assert max(times.values()) - min(times.get(i, 0) for i in range(count)) <= 2


def test_orders_differ_between_epochs_seeds_and_sources() -> None:
    mix = Mix([50, 50], [1, 1], seed=0)
    first, second = mix.epoch(0), mix.epoch(1)
    assert (first != second).any()
    assert (first[:, 0] != second[:, 0]).any()  # nor do sources always take their turns in one order
    assert (first != Mix([50, 50], [1, 1], seed=1).epoch(0)).any()
    assert (first[first[:, 0] == 0, 1] != first[first[:, 0] == 1, 1]).any()
    places = np.flatnonzero(first[:, 0] == 0)
    assert 30 < places.mean() < 70  # sources are mixed, not one after the other


def test_lines_that_take_from_one_folder_choose_for_themselves() -> None:
    order = Mix([40, 40], [0.5, 0.5], seed=0).epoch(0)
    one, other = (set(order[order[:, 0] == source, 1].tolist()) for source in (0, 1))
    assert len(one) == len(other) == 20
    assert 5 < len(one & other) < 15
