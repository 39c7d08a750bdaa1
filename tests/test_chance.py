"""Keyed chance against SplitMix64's published numbers, and by statistical tests over keys and places."""

import shutil

import pytest
import torch
from scipy import stats
from torch import Tensor

from smokescope.chance import fold_in, make_keys, normal, uniform

LEAST = 1e-4  # a p-value below it would be a chance of one in ten thousand: all here is seeded


def series() -> dict[str, Tensor]:
    """Keys that differ as they do in use, 4096 each."""
    numbers, one = torch.arange(4096), make_keys(0, torch.tensor(3))
    return {
        "samples": make_keys(0, numbers),
        "seeds": torch.stack([make_keys(seed, torch.tensor(5)) for seed in range(4096)]),
        "purposes": fold_in(one, numbers),
        "purposes of purposes": fold_in(
            fold_in(make_keys(1, numbers[:64, None]), 1000), numbers[:64]
        ).flatten(),
    }


@pytest.fixture(params=["samples", "seeds", "purposes", "purposes of purposes"])
def keys(request: pytest.FixtureRequest) -> Tensor:
    return series()[str(request.param)]


def test_is_splitmix64() -> None:
    """The first outputs for the seed 1234567, as published with the algorithm; the upper 24 bits are used."""
    published = (6457827717110365317, 3203168211198807973, 9817491932198370423)
    drawn = uniform(torch.tensor([1234567]), 3)[0] * 2**24
    assert drawn.tolist() == [value >> 40 for value in published]


def test_numbers_are_uniform_over_keys_and_over_places(keys: Tensor) -> None:
    over_keys, over_places = uniform(keys)[:, None].T, uniform(keys[:4], 4096)
    for drawn in (*over_keys, *over_places, uniform(keys, 16).flatten()):
        assert drawn.min() >= 0
        assert drawn.max() < 1
        assert stats.kstest(drawn.numpy(), "uniform").pvalue > LEAST


def test_neighbours_are_independent(keys: Tensor) -> None:
    """Of pairs of keys and of pairs of places, every cell of a table of 16 x 16 is as likely."""
    drawn = uniform(keys, 32)
    for one, other in (
        (drawn[:-1], drawn[1:]),
        (drawn[:, :-1], drawn[:, 1:]),
        (drawn[:-1, 1:], drawn[1:, :-1]),
    ):
        cells = torch.bincount(((16 * one).long() * 16 + (16 * other).long()).flatten(), minlength=256)
        assert stats.chisquare(cells.numpy()).pvalue > LEAST


def test_normal_numbers_are_normal_and_independent(keys: Tensor) -> None:
    drawn = normal(keys, 31)
    assert stats.kstest(drawn.flatten().numpy(), "norm").pvalue > LEAST
    assert stats.kstest(drawn[:, 0].numpy(), "norm").pvalue > LEAST
    # cosine and sine of the same angle, too: neither they nor their squares know of each other
    correlation = torch.cat((drawn, drawn.square()), 1).T.corrcoef().fill_diagonal_(0)
    correlation[torch.arange(31), torch.arange(31, 62)] = 0  # a number and its own square
    correlation[torch.arange(31, 62), torch.arange(31)] = 0
    assert correlation.abs().max() < 6 / 4096**0.5


def test_purposes_and_keys_share_no_numbers(keys: Tensor) -> None:
    drawn = torch.stack([uniform(keys), *(uniform(fold_in(keys, i)) for i in range(4))])
    assert drawn.corrcoef().fill_diagonal_(0).abs().max() < 6 / 4096**0.5
    everything = torch.cat([keys, *(fold_in(keys, i) for i in range(64))])
    assert len(everything.unique()) == len(everything)


def test_seeds_share_no_keys() -> None:
    everything = torch.cat([make_keys(seed, torch.arange(4096)) for seed in range(16)])
    assert len(everything.unique()) == len(everything)


def test_a_key_draws_the_same_in_any_batch() -> None:
    keys = make_keys(7, torch.arange(10, 22).view(3, 4))
    assert torch.equal(keys[1:, 2], make_keys(7, torch.tensor([16, 20])))
    for draw in (uniform, normal):
        drawn = draw(keys, 3, 5)
        assert drawn.shape == (3, 4, 3, 5)
        torch.testing.assert_close(draw(keys[1:, 2], 3, 5), drawn[1:, 2])
        assert draw(keys).shape == keys.shape


def test_folding_broadcasts_and_leaves_keys_alone() -> None:
    keys = make_keys(0, torch.arange(3))
    before = keys.clone()
    folded = fold_in(keys, torch.arange(2)[:, None])
    for number in range(2):
        assert torch.equal(folded[number], fold_in(keys, number))
    uniform(keys, 4), normal(keys, 4)
    assert torch.equal(keys, before)


@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")  # torch warns of itself
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles by g++")
def test_compiles_to_the_same() -> None:
    """For sizes, too, that fill no whole number of the processor's registers."""

    def draw(keys: Tensor) -> tuple[Tensor, Tensor]:
        return uniform(fold_in(keys, 2), 5, 7), normal(keys, 69)

    keys = make_keys(0, torch.arange(3))
    for ours, theirs in zip(torch.compile(draw, fullgraph=True)(keys), draw(keys), strict=True):
        torch.testing.assert_close(ours, theirs)
