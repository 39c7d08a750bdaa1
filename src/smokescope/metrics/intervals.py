"""How far other scenes might move each figure: a bootstrap over scenes.

Frames of one view are no independent witnesses: a hundred pictures of one fire say about as much as one does
of how a model fares on the next. So scenes are drawn, with replacement and as many as there are, every
figure is computed of each draw as of the pictures themselves, and the interval holds the middle 95 % of what
comes out (a cluster bootstrap; Field and Welsh, "Bootstrapping clustered data", JRSS B 2007). Of few scenes
it is too narrow rather than too wide.

What a draw comes to needs no picture again: the states of a metric merge as those of many processes do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from smokescope.chance import make_keys, uniform
from smokescope.metrics.base import StreamingMetric
from smokescope.metrics.suite import Report, SmokeMetrics

DRAWS = 1000
SHARE = 0.95


@dataclass(frozen=True)
class Interval:
    """Between which values figures lie; what has no meaning in most of the draws is None.

    Attributes:
        scenes: That were drawn from.
        low: The lower ends.
        high: The upper ends.
    """

    scenes: int
    low: Report
    high: Report


def scene_interval(pictures: Sequence[SmokeMetrics], scenes: Sequence[int]) -> Interval | None:
    """The intervals of all figures.

    Args:
        pictures: The metrics of each picture by itself, of one shipped threshold.
        scenes: The scene of each, by any number that is its own.

    Returns:
        None where there are fewer than two scenes, which say nothing of others.
    """
    members: dict[int, list[int]] = {}
    for picture, scene in enumerate(scenes):
        members.setdefault(scene, []).append(picture)
    if len(members) < 2:
        return None
    by_picture = _Parts(pictures)
    by_scene = _Parts([by_picture.put(each, _like(pictures[0])) for each in members.values()])
    chance = uniform(make_keys(0, torch.arange(DRAWS)), len(members)).double()
    whole = _like(pictures[0])
    images, negatives = by_scene.put(range(len(members)), whole).alarm.pictures()
    reports = [by_scene.put(drawn, whole).compute() for drawn in (chance * len(members)).long().tolist()]

    def end(share: float) -> Report:
        figures = cast("Report", _quantiles(reports, share))
        return {**figures, "images": images, "negatives": negatives}  # known, not estimated

    return Interval(len(members), end((1 - SHARE) / 2), end((1 + SHARE) / 2))


class _Parts:
    """The states of many metrics side by side, on the CPU."""

    def __init__(self, parts: Sequence[SmokeMetrics]) -> None:
        self._states = [
            {name: _stack([getattr(metric, name) for metric in same]) for name in same[0].reductions()}
            for same in zip(*map(_metrics, parts), strict=True)
        ]

    def put(self, numbers: Sequence[int], whole: SmokeMetrics) -> SmokeMetrics:
        """Make a metric what some of the parts come to, those named twice counting twice."""
        for metric, states in zip(_metrics(whole), self._states, strict=True):
            for name, reduce in metric.reductions().items():
                state = states[name]
                if isinstance(state, Tensor):
                    setattr(metric, name, reduce(state[numbers]))
                else:  # scores, picture by picture
                    setattr(metric, name, [score for number in numbers for score in state[number]])
        return whole


def _like(metrics: SmokeMetrics) -> SmokeMetrics:
    """Another that has seen nothing yet."""
    return SmokeMetrics(metrics.alarm.shipped_threshold)


def _metrics(suite: SmokeMetrics) -> Iterator[StreamingMetric]:
    return (each for each in suite.children() if isinstance(each, StreamingMetric))


def _stack(states: Sequence[Tensor | list[Tensor]]) -> Tensor | list[list[Tensor]]:
    """One state of all parts: a tensor [parts, ...], or lists as they are."""
    tensors = [state.cpu() for state in states if isinstance(state, Tensor)]
    lists = [[score.cpu() for score in state] for state in states if isinstance(state, list)]
    return torch.stack(tensors) if tensors else lists


def _quantiles(values: Sequence[object], share: float) -> object:
    """That quantile of each figure of many reports, nested as they are."""
    first = values[0]
    if isinstance(first, Mapping):
        reports = cast("Sequence[Mapping[str, object]]", values)
        return {name: _quantiles([report[name] for report in reports], share) for name in first}
    known = [value for value in values if isinstance(value, float)]
    if 2 * len(known) < len(values):
        return None
    return float(torch.tensor(known, dtype=torch.float64).quantile(share))
