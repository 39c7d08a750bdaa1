"""Every figure of a model, from pictures with masks and pictures without smoke.

Pictures go through the same `Segmenter` that people use, and all is measured at the masks' own size.
"""

import os
from collections import defaultdict, deque
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from smokescope.chance import make_keys
from smokescope.data.comparison import Status
from smokescope.data.layouts import Pair
from smokescope.data.pairs import read_pair
from smokescope.data.pictures import without_warnings
from smokescope.data.scenes import SceneFinder
from smokescope.data.sets import PictureName
from smokescope.inference.rows import PictureFigures, measure_row
from smokescope.inference.segmenter import BATCH, BATCH_PIXELS, Segmenter
from smokescope.inference.tiles import wants_tiles
from smokescope.metrics import Draws, Interval, Reliability, Report, RiskCoverage, SmokeMetrics, draw_scenes
from smokescope.uncertainty import Decomposition

AHEAD = 32  # pictures decoded before they are asked for
WAITING = 4 * BATCH  # pictures that may wait for others of their size


@dataclass(frozen=True)
class Evaluation:
    """Results of an evaluation.

    Attributes:
        report: Figures over all pictures.
        scenes: Figures over pictures of scenes "seen" in training, and of "unseen" ones; may be empty.
        draws: Figures when scenes are redrawn at random; None if not asked for, or if all pictures are of
            one scene.
        rows: One row for each picture, by set and name.
        reliability: Reliability of all pixels, for a diagram.
        risk_coverage: Risk and coverage of all pixels, for a curve.
    """

    report: Report
    scenes: Mapping[str, Report]
    draws: Draws | None
    rows: Sequence[PictureFigures]
    reliability: Reliability
    risk_coverage: RiskCoverage

    def interval(self, against: "Evaluation | None" = None) -> Interval | None:
        """How far other scenes might move the figures, or their difference from another model's.

        Args:
            against: Evaluation of the other model, on the same pictures.
        """
        if self.draws is None:
            return None
        if against is None:
            return self.draws.interval()
        return self.draws.difference(against.draws) if against.draws else None

    def to_document(self, speed: float, against: "Evaluation | None" = None) -> dict[str, object]:
        """What `evaluate --json` writes: the figures by name, as plain values.

        Args:
            speed: Pictures a second.
            against: Evaluation of the other model, as for `interval`.
        """
        document = {**self.report, "speed": {"images_per_second": speed}, **self.scenes}
        if against is not None:
            document["against"] = against.report
        if (ends := self.interval(against)) is not None:
            document["interval" if against is None else "difference"] = asdict(ends)
        return document


class _Waiting(NamedTuple):
    """A picture that is to be predicted together with others of its size."""

    number: int
    name: PictureName
    picture: NDArray[np.uint8]
    smoke: NDArray[np.bool_]
    scene: Status | None


_Part = tuple[Status | None, PictureName | None]
"""Pictures that are counted together: of one status, and each by itself where scenes are to be drawn anew."""


class Evaluator:
    """Takes in pictures one by one and predicts them in batches.

    Args:
        segmenter: The model.
        samples: Number of Monte Carlo samples to compare its uncertainties with, those of one pass over whole
            pictures; 0 for no comparison.
        scenes: Finder of scenes, for intervals: how far other scenes might move the figures. Models that see
            the same pictures share one, so that they are drawn alike; None for no intervals.
    """

    def __init__(self, segmenter: Segmenter, samples: int = 0, *, scenes: SceneFinder | None = None) -> None:
        self.segmenter, self.samples, self.scenes = segmenter, samples, scenes
        # float64 is unknown to Apple's GPUs
        self._device = torch.device("cpu") if segmenter.device.type == "mps" else segmenter.device
        self._parts = defaultdict[_Part, SmokeMetrics](self._metrics)
        self._waiting: dict[tuple[int, ...], list[_Waiting]] = {}
        self._rows: list[PictureFigures] = []
        self._count = 0

    def add(
        self,
        name: PictureName,
        picture: NDArray[np.uint8],
        mask: NDArray[np.float32],
        scene: Status | None = None,
    ) -> None:
        """Take in a picture, H x W x 3, and its mask, H x W; all 0 for a picture without smoke."""
        if self.scenes is not None:
            self.scenes.add(name, picture)
        group = self._waiting.setdefault(mask.shape, [])
        group.append(_Waiting(self._count, name, picture, mask > 0.5, scene))
        self._count += 1
        if len(group) >= max(1, min(BATCH, BATCH_PIXELS // mask.size)):
            self._predict(self._waiting.pop(mask.shape))
        elif sum(map(len, self._waiting.values())) >= WAITING:
            self._predict(self._waiting.pop(max(self._waiting, key=lambda size: len(self._waiting[size]))))

    def finish(self) -> Evaluation:
        """Predict the pictures still waiting, and return the results."""
        while self._waiting:
            self._predict(self._waiting.popitem()[1])
        whole, by_status = self._metrics(), defaultdict[Status, SmokeMetrics](self._metrics)
        for (scene, _), metrics in self._parts.items():
            whole.merge(metrics)
            if scene:
                by_status[scene].merge(metrics)
        single = {name: metrics for (_, name), metrics in self._parts.items() if name}
        return Evaluation(
            whole.compute(),
            {str(scene): metrics.compute() for scene, metrics in sorted(by_status.items())},
            _draw(single, self.scenes.find()) if self.scenes and single else None,
            sorted(self._rows, key=lambda row: (row.set, row.name)),
            whole.calibration.reliability(),
            whole.uncertainty.risk_coverage(),
        )

    def _predict(self, batch: Sequence[_Waiting]) -> None:
        pictures = [each.picture for each in batch]
        smoke = torch.from_numpy(np.stack([each.smoke for each in batch]))
        maps = self._as_maps(self.segmenter.maps(pictures))
        sampled = one_pass = None
        if self.samples and smoke.any():  # others are not compared
            # by the order of pictures, not of batches: which ones happen to wait together changes nothing
            keys = make_keys(0, torch.tensor([each.number for each in batch]))
            sampled = self._as_maps(self.segmenter.sample(pictures, self.samples, keys))
            height, width, _ = pictures[0].shape
            if wants_tiles(self.segmenter.tiles, height, width, self.segmenter.input):
                one_pass = self._as_maps(self.segmenter.engine.tensors(pictures, "never"))
        smoke = smoke.to(self._device)
        parts = defaultdict[_Part, list[int]](list)
        for number, each in enumerate(batch):
            parts[each.scene, each.name if self.scenes is not None else None].append(number)
            self._rows.append(measure_row(each.name, each.scene, _select(maps, [number]), smoke[[number]]))
        for part, numbers in parts.items():
            own = _select(maps, numbers)
            compared = (drawn and _select(drawn, numbers) for drawn in (sampled, one_pass))
            self._parts[part].update(own.probability, smoke[numbers], own, *compared)

    def _as_maps(self, maps: Decomposition) -> Decomposition:
        return Decomposition(*(values.squeeze(1).to(self._device) for values in maps))

    def _metrics(self) -> SmokeMetrics:
        return SmokeMetrics(self.segmenter.threshold).to(self._device)


def _draw(single: Mapping[PictureName, SmokeMetrics], scenes: Mapping[PictureName, int]) -> Draws | None:
    names = sorted(single)  # what is drawn must not depend on the order in which pictures came
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on tensors this small, two wait for each other: up to 60 s, not 2
    try:
        return draw_scenes([single[name] for name in names], [scenes[name] for name in names])
    finally:
        torch.set_num_threads(threads)


def _select(maps: Decomposition, pictures: Sequence[int]) -> Decomposition:
    return Decomposition(*(values[pictures] for values in maps))


Reading = Future[tuple[NDArray[np.uint8], NDArray[np.float32]]]
"""A picture, H x W x 3, and its mask, H x W, to come."""


def read_ahead(pairs: Sequence[Pair]) -> Generator[Reading, None, None]:
    """Read pictures and masks in the background, in their order, a few ahead of the caller.

    Close it, or go through to its end: its threads are there until then.

    Yields:
        For each pair what it will be; its `result()` raises the pair's `SmokescopeError`.
    """
    with without_warnings(), ThreadPoolExecutor(os.cpu_count()) as pool:  # as in `for_each_pair`
        waiting = deque[Reading]()
        try:
            for pair in pairs:
                waiting.append(pool.submit(read_pair, pair))
                if len(waiting) > AHEAD:
                    yield waiting.popleft()
            while waiting:
                yield waiting.popleft()
        finally:
            pool.shutdown(cancel_futures=True)
