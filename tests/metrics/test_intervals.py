"""Intervals: a draw is what its pictures come to, and scenes count, not pictures."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from smokescope.metrics import Interval, SmokeMetrics, difference, draw_scenes
from smokescope.metrics.intervals import _Parts
from smokescope.uncertainty import Decomposition

Picture = tuple[Tensor, Tensor, Decomposition, Decomposition]


def make_picture(number: int, *, smoke: bool = True) -> Picture:
    """Probability and mask [1, 20, 30], maps, and maps as if of samples."""
    generator = torch.Generator().manual_seed(number)
    doubt = torch.rand(2, 1, 20, 30, generator=generator) * 0.3
    probability = torch.rand(1, 20, 30, generator=generator) ** (1 + number % 3)
    mask = (torch.rand(1, 20, 30, generator=generator) < probability) & smoke
    maps, sampled = (Decomposition(probability, 2 * d, d, d) for d in doubt)
    return probability, mask, maps, sampled


def fed(*pictures: Picture) -> SmokeMetrics:
    metrics = SmokeMetrics(0.3)
    for picture in pictures:
        metrics.update(*picture)
    return metrics


def scene_interval(pictures: list[SmokeMetrics], scenes: Sequence[int]) -> Interval | None:
    drawn = draw_scenes(pictures, scenes)
    return drawn.interval() if drawn else None


def figures_of(report: object) -> list[float | None]:
    if isinstance(report, dict):
        return [figure for part in report.values() for figure in figures_of(part)]
    return [report]  # type: ignore[list-item]


def test_a_draw_is_what_its_pictures_come_to() -> None:
    pictures = [make_picture(number, smoke=number != 2) for number in range(4)]
    drawn = _Parts([fed(picture) for picture in pictures]).put([0, 0, 2, 3], SmokeMetrics(0.3))
    wanted = fed(*(pictures[number] for number in (0, 0, 2, 3))).compute()
    assert None not in figures_of(wanted)
    assert figures_of(drawn.compute()) == pytest.approx(figures_of(wanted), rel=1e-9)


def test_merged_metrics_have_seen_what_each_has() -> None:
    pictures = [make_picture(number, smoke=number != 2) for number in range(4)]
    parts, whole = [fed(pictures[1]), fed(), fed(pictures[3], pictures[2])], fed(pictures[0])
    before = parts[0].compute()
    for part in parts:
        whole.merge(part)
    wanted = fed(*pictures).compute()
    assert None not in figures_of(wanted)
    assert figures_of(whole.compute()) == pytest.approx(figures_of(wanted), rel=1e-12)
    assert parts[0].compute() == before


def test_of_pictures_by_themselves_it_is_the_bootstrap_of_a_mean() -> None:
    metrics = [fed(make_picture(number)) for number in range(40)]
    errors = [each.compute()["mse"] for each in metrics]
    found = scene_interval(metrics, range(40))
    wanted = stats.bootstrap((errors,), np.mean, method="percentile", n_resamples=20_000, rng=0)
    low, high = wanted.confidence_interval
    assert found is not None
    assert found.scenes == 40
    width = high - low
    assert found.low["mse"] == pytest.approx(low, abs=0.1 * width)
    assert found.high["mse"] == pytest.approx(high, abs=0.1 * width)
    assert (found.low["images"], found.high["negatives"]) == (40, 0)  # known, not estimated


def test_more_pictures_of_the_same_scenes_are_no_more_certain() -> None:
    metrics = [fed(make_picture(number)) for number in range(12)]
    once = scene_interval(metrics, range(12))
    often = scene_interval(metrics * 3, [*range(12)] * 3)
    apart = scene_interval(metrics * 3, range(36))
    assert once is not None
    assert often is not None
    assert apart is not None
    means = [
        (each.low["f_beta"]["mean"] or 0, each.high["f_beta"]["mean"] or 0) for each in (once, often, apart)
    ]
    assert means[1] == pytest.approx(means[0])
    assert means[2][1] - means[2][0] < 0.75 * (means[0][1] - means[0][0])


def test_what_most_draws_do_not_have_is_left_out() -> None:
    metrics = [fed(make_picture(number)) for number in range(5)]
    assert scene_interval(metrics, [7] * 5) is None
    found = scene_interval(metrics, range(5))
    assert found is not None
    assert found.high["alarm"]["false_alarm_rate"] is None
    assert found.high["alarm"]["detection_rate"] == 1
    assert found.low["alarm"]["shipped"]["detection_rate"] == 1  # at the threshold of the pictures' metrics


def blunt(picture: Picture, by: float) -> Picture:
    """The same picture, predicted a little worse."""
    probability, mask, maps, sampled = picture
    return probability * (1 - by) + by * 0.5, mask, maps, sampled


def test_a_difference_is_of_the_same_draws() -> None:
    pictures = [make_picture(number) for number in range(30)]
    pairs = [(fed(each), fed(blunt(each, 0.1))) for each in pictures]
    ours, theirs = (draw_scenes(metrics, range(30)) for metrics in zip(*pairs, strict=True))
    assert ours is not None
    assert theirs is not None
    found = ours.difference(theirs)
    less = [(one.compute()["mse"] or 0) - (two.compute()["mse"] or 0) for one, two in pairs]
    wanted = stats.bootstrap((less,), np.mean, method="percentile", n_resamples=20_000, rng=0)
    low, high = wanted.confidence_interval
    assert found.low["mse"] == pytest.approx(low, abs=0.1 * (high - low))
    assert found.high["mse"] == pytest.approx(high, abs=0.1 * (high - low))
    alone = ours.interval()
    assert high - low < 0.3 * ((alone.high["mse"] or 0) - (alone.low["mse"] or 0))
    assert set(figures_of(ours.difference(ours).high)) == {30, 0, None}
    with pytest.raises(ValueError, match="draws of different pictures"):
        ours.difference(replace(theirs, scenes=29))


def test_reports_are_subtracted_figure_by_figure() -> None:
    one, two = (fed(make_picture(number), make_picture(9, smoke=False)).compute() for number in (0, 1))
    two["alarm"]["auroc"] = None
    found = difference(one, two)
    assert found["images"] == 1
    assert found["negatives"] == 1
    assert found["mse"] == (one["mse"] or 0) - (two["mse"] or 0)
    assert found["f_beta"]["max"] == (one["f_beta"]["max"] or 0) - (two["f_beta"]["max"] or 0)
    assert found["alarm"]["auroc"] is None
