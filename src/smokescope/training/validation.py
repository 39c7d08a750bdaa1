"""Trying a model on pictures that it was not trained on, the way it is used: through its pipeline."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from lightning.fabric import Fabric
from torch import Tensor

from smokescope.metrics.calibration import Reliability
from smokescope.metrics.suite import Report, SmokeMetrics
from smokescope.models.pipeline import Pipeline
from smokescope.training.devices import mean_over_processes
from smokescope.training.observers import Sample
from smokescope.training.sources import Pictures
from smokescope.training.temperature import LogitCounts
from smokescope.uncertainty import Decomposition

BATCH = 8
SHOWN = 6


class Validation(NamedTuple):
    """What came of it."""

    report: Report
    reliability: Reliability
    logits: Tensor
    """Counts to fit a temperature to."""
    samples: list[Sample]


@torch.no_grad()
def validate(
    pipeline: Pipeline, pictures: Sequence[Pictures], fabric: Fabric, samples: int = 0
) -> Validation:
    """Measure a model on pictures in memory, at the size they are kept there.

    Args:
        pipeline: In eval mode, on the fabric's device.
        pictures: With their masks.
        fabric: Processes share the work; all must call this.
        samples: Also compare the uncertainty maps with this many Monte Carlo samples.
    """
    # figures are exact sums of 64-bit numbers, which Apple's GPUs do not have
    place = torch.device("cpu") if fabric.device.type == "mps" else fabric.device
    metrics, counts = SmokeMetrics(pipeline.threshold).to(place), LogitCounts(place)
    batches = _batches(_by_size(pictures))
    # the first process shows pictures, and can show only its own
    smoky = [item for batch in batches[:: fabric.world_size] for item in batch if _smoky(*item)]
    shown = [smoky[i] for i in _spread(len(smoky), SHOWN)]
    kept: list[Sample] = []
    for batch in batches[fabric.global_rank :: fabric.world_size]:
        loaded = [source.cache[number] for source, number in batch]
        x = torch.stack([picture.permute(2, 0, 1) for picture, _ in loaded]).to(fabric.device)
        mask = torch.cat([mask for _, mask in loaded]).to(place) > 127
        # in 32 bits, whatever it is trained in: as it will be used
        maps = _planes(pipeline(x), place)
        sampled = _planes(pipeline.sample(x, samples), place) if samples else None
        metrics.update(maps.probability, mask, maps, sampled)
        counts.update(maps.probability, mask)
        for i, item in enumerate(batch):
            if any(item[0] is source and item[1] == number for source, number in shown):
                kept.append(_sample(item, loaded[i], [m[i] for m in maps]))
    logits = mean_over_processes(fabric, counts.counts)
    return Validation(metrics.compute(), metrics.calibration.reliability(), logits, kept)


Item = tuple[Pictures, int]


def _by_size(pictures: Sequence[Pictures]) -> list[Item]:
    """All pictures, those of one size next to each other."""
    items = [(source, number) for source in pictures for number in source.numbers]
    return sorted(items, key=lambda item: (*_size(item), _name(item)))


def _batches(items: Sequence[Item]) -> list[list[Item]]:
    """Pictures of one size together, a few at a time."""
    batches: list[list[Item]] = []
    for item in items:
        last = batches[-1] if batches else []
        if last and len(last) < BATCH and _size(last[0]) == _size(item):
            last.append(item)
        else:
            batches.append([item])
    return batches


def _smoky(pictures: Pictures, number: int) -> bool:
    return pictures.cache.pairs[number].mask is not None


def _spread(total: int, count: int) -> list[int]:
    """At most `count` of `total` numbers, evenly spaced."""
    count = min(count, total)
    return [i * total // count for i in range(count)]


def _size(item: Item) -> tuple[int, ...]:
    return tuple(item[0].cache[item[1]][1].shape[-2:])


def _name(item: Item) -> str:
    return item[0].cache.pairs[item[1]].name


def _planes(maps: Decomposition, place: torch.device) -> Decomposition:
    """[N, 1, H, W] as [N, H, W]."""
    return Decomposition(*(m[:, 0].to(place) for m in maps))


def _sample(item: Item, loaded: tuple[Tensor, Tensor], maps: Sequence[Tensor]) -> Sample:
    picture, mask = loaded
    arrays = [t.cpu().numpy() for t in maps]
    return Sample(_name(item), picture.contiguous().numpy(), (mask[0] / 255).numpy(), *arrays)
