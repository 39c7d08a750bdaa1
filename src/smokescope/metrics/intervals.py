"""How far other scenes might move each figure: a bootstrap over scenes.

Frames of one view are no independent witnesses: a hundred pictures of one fire say about as much as one does
of how a model fares on the next. So scenes are drawn, with replacement and as many as there are, every
figure is computed of each draw as of the pictures themselves, and the interval holds the middle 95 % of what
comes out (a cluster bootstrap; Field and Welsh, "Bootstrapping clustered data", JRSS B 2007). Of few scenes
it is too narrow rather than too wide.

Two models on the same pictures share what is easy and what is hard there: of the same draws, their difference
varies less than either, and its interval tells better which of them to take.

What a draw comes to needs no picture again: the states of a metric merge as those of many processes do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from smokescope.chance import make_keys, uniform
from smokescope.metrics.suite import Report, SmokeMetrics

DRAWS = 1000
SHARE = 0.95


@dataclass(frozen=True)
class Interval:
    """Values between which figures lie; None for a figure that is undefined in most of the draws.

    Attributes:
        scenes: Number of scenes drawn from.
        low: Lower ends.
        high: Upper ends.
    """

    scenes: int
    low: Report
    high: Report


@dataclass(frozen=True)
class Draws:
    """Figures of a model when scenes are redrawn at random.

    Attributes:
        scenes: Number of scenes drawn from.
        report: Figures of the pictures themselves.
        drawn: Figures of each draw.
    """

    scenes: int
    report: Report
    drawn: Sequence[Report]

    def interval(self) -> Interval:
        """Values between which the figures lie."""
        return self._around(self.drawn)

    def difference(self, other: "Draws") -> Interval:
        """Values between which the differences from another model's figures lie.

        Raises:
            ValueError: The other model was drawn on different pictures.
        """
        if (self.scenes, *self._counts().values()) != (other.scenes, *other._counts().values()):
            raise ValueError("draws of different pictures cannot be compared")
        return self._around(list(map(difference, self.drawn, other.drawn)))

    def _around(self, drawn: Sequence[Report]) -> Interval:
        def end(share: float) -> Report:
            return cast("Report", {**cast("Report", _quantiles(drawn, share)), **self._counts()})

        return Interval(self.scenes, end((1 - SHARE) / 2), end((1 + SHARE) / 2))

    def _counts(self) -> dict[str, int]:
        """What is known, not estimated."""
        return {"images": self.report["images"], "negatives": self.report["negatives"]}


def draw_scenes(pictures: Sequence[SmokeMetrics], scenes: Sequence[int]) -> Draws | None:
    """Compute all figures of many draws, which are the same whatever the model.

    Args:
        pictures: Metrics of each picture by itself, all with the same shipped threshold.
        scenes: Scene of each picture, as any number unique to it.

    Returns:
        None if there are fewer than two scenes, which say nothing about others.
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
    report = by_scene.put(range(len(members)), whole).compute()
    drawn = [by_scene.put(each, whole).compute() for each in (chance * len(members)).long().tolist()]
    return Draws(len(members), report, drawn)


def difference(report: Report, other: Report) -> Report:
    """Each figure less another report's, None where either has none; counts, of the same pictures, stay."""

    def less(one: object, two: object) -> object:
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            return {name: less(one[name], two[name]) for name in one}
        if isinstance(one, float) and isinstance(two, float):
            return one - two
        return one if isinstance(one, int) else None

    return cast("Report", less(report, other))


class _Parts:
    """The states of many metrics side by side, on the CPU."""

    def __init__(self, parts: Sequence[SmokeMetrics]) -> None:
        self._states = [
            {name: _stack([getattr(metric, name) for metric in same]) for name in same[0].reductions()}
            for same in zip(*(each.parts() for each in parts), strict=True)
        ]

    def put(self, numbers: Sequence[int], whole: SmokeMetrics) -> SmokeMetrics:
        """Set a metric to some parts merged; a part named twice counts twice."""
        for metric, states in zip(whole.parts(), self._states, strict=True):
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
