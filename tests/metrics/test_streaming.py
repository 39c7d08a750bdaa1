"""What holds for every metric: order, batches and objects do not matter, and a reset forgets."""

import doctest
import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import smokescope.metrics
from smokescope.metrics import (
    Alarm,
    CalibrationError,
    FBeta,
    IntersectionOverUnion,
    MeanSquaredError,
    OutOfDistribution,
    SamplingAgreement,
    SmokeMetrics,
    UncertaintyQuality,
)
from smokescope.metrics.base import StreamingMetric
from smokescope.metrics.checks import CheckedMaps


class Batch(NamedTuple):
    probability: Tensor
    mask: Tensor
    maps: CheckedMaps
    sampled: CheckedMaps

    def take(self, which: list[int]) -> "Batch":
        maps, sampled = (CheckedMaps(*(m[which] for m in kind)) for kind in (self.maps, self.sampled))
        return Batch(self.probability[which], self.mask[which], maps, sampled)


def make_pictures(count: int, height: int = 9, width: int = 13) -> Batch:
    """Pictures with smoke, but for every third."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(count, height, width, generator=generator) < 0.3
    mask[::3] = False
    probability = (torch.rand(mask.shape, generator=generator) * 0.8 + mask * 0.2).clamp(0, 1)
    kinds = []
    for _ in range(2):
        total, share = torch.rand(2, *mask.shape, generator=generator)
        kinds.append(CheckedMaps(total * 0.69, total * share * 0.69, total * (1 - share) * 0.69))
    return Batch(probability, mask, *kinds)


PICTURES = make_pictures(7)
Feed = Callable[[StreamingMetric, Batch], None]
METRICS: dict[type[StreamingMetric], Feed] = {
    MeanSquaredError: lambda metric, b: metric.update(b.probability, b.mask),
    FBeta: lambda metric, b: metric.update(b.probability, b.mask),
    IntersectionOverUnion: lambda metric, b: metric.update(b.probability, b.mask),
    CalibrationError: lambda metric, b: metric.update(b.probability, b.mask),
    Alarm: lambda metric, b: metric.update(b.probability, b.mask),
    UncertaintyQuality: lambda metric, b: metric.update(
        b.probability, b.mask, b.maps.total, b.maps.epistemic
    ),
    OutOfDistribution: lambda metric, b: metric.update(b.mask, b.maps.epistemic),
    SamplingAgreement: lambda metric, b: metric.update(b.maps, b.sampled),
}


def leaves(figures: object) -> list[float | None]:
    """All numbers of a nested report, in order."""
    if isinstance(figures, Mapping):
        return [leaf for value in figures.values() for leaf in leaves(value)]
    assert figures is None or isinstance(figures, int | float)
    assert figures is None or math.isfinite(figures)
    return [figures]


def assert_same(found: object, expected: object) -> None:
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert a == pytest.approx(b, abs=1e-12)


def fed(kind: type[StreamingMetric], batches: Iterable[list[int]]) -> StreamingMetric:
    metric = kind()
    for which in batches:
        METRICS[kind](metric, PICTURES.take(which))
    return metric


orders = st.permutations(range(7))
cuts = st.sets(st.integers(1, 6))


def parts(order: list[int], at: set[int]) -> list[list[int]]:
    edges = [0, *sorted(at), len(order)]
    return [order[low:high] for low, high in zip(edges[:-1], edges[1:], strict=True)]  # noqa: RUF007  # as slices


@pytest.mark.parametrize("kind", METRICS)
@settings(max_examples=15, deadline=None)
@given(order=orders, at=cuts)
def test_order_and_batches_do_not_matter(kind: type[StreamingMetric], order: list[int], at: set[int]) -> None:
    assert_same(fed(kind, parts(order, at)).compute(), fed(kind, [list(range(7))]).compute())


@pytest.mark.parametrize("kind", METRICS)
@settings(max_examples=15, deadline=None)
@given(order=orders, at=st.integers(0, 7))
def test_two_merged_equal_one(kind: type[StreamingMetric], order: list[int], at: int) -> None:
    one, other = (fed(kind, [[i] for i in share]) for share in (order[:at], order[at:]))
    one.compute()  # must not be remembered
    one.merge_state(other)
    assert_same(one.compute(), fed(kind, [list(range(7))]).compute())


@pytest.mark.parametrize("kind", METRICS)
def test_compute_can_be_called_on_the_way_and_reset_forgets(kind: type[StreamingMetric]) -> None:
    metric = kind()
    nothing = metric.compute()
    METRICS[kind](metric, PICTURES.take([1, 3, 5]))
    metric.compute()
    METRICS[kind](metric, PICTURES.take([0, 2, 4, 6]))
    assert_same(metric.compute(), fed(kind, [list(range(7))]).compute())
    metric.reset()
    assert metric.compute() == nothing
    assert set(leaves(nothing)) == {None}


@pytest.mark.parametrize("kind", METRICS)
def test_inputs_are_left_alone(kind: type[StreamingMetric]) -> None:
    before = make_pictures(7)
    fed(kind, [list(range(7))])
    METRICS[kind](kind(), PICTURES)
    assert torch.equal(before.probability, PICTURES.probability)
    assert torch.equal(before.mask, PICTURES.mask)
    assert all(torch.equal(a, b) for a, b in zip(before.maps, PICTURES.maps, strict=True))


@pytest.mark.parametrize("kind", [kind for kind in METRICS if kind not in (Alarm, OutOfDistribution)])
def test_memory_does_not_grow(kind: type[StreamingMetric]) -> None:
    def held(metric: StreamingMetric) -> int:
        states = metric.metric_state.values()
        return sum(
            part.numel() for state in states for part in (state if isinstance(state, list) else [state])
        )

    assert held(fed(kind, [[1, 2, 3]] * 5)) == held(kind())


@pytest.mark.parametrize("kind", [Alarm, OutOfDistribution])
def test_picture_scores_are_one_number_a_picture(kind: type[StreamingMetric]) -> None:
    for state in fed(kind, [[1, 2, 3]] * 5).metric_state.values():
        if isinstance(state, list):
            assert [tensor.shape for tensor in state] == [torch.Size([3])] * 5


@settings(max_examples=10, deadline=None)
@given(order=orders, at=cuts)
def test_the_suite_does_not_mind_either(order: list[int], at: set[int]) -> None:
    one, other = SmokeMetrics(0.3), SmokeMetrics(0.3)
    one.update(*PICTURES)
    for which in parts(order, at):
        other.update(*PICTURES.take(which))
    assert_same(other.compute(), one.compute())


@pytest.mark.parametrize(
    "name", [module.name for module in pkgutil.iter_modules(smokescope.metrics.__path__)]
)
def test_examples_in_docstrings_run(name: str) -> None:
    module = importlib.import_module(f"smokescope.metrics.{name}")
    assert doctest.testmod(module).failed == 0
