"""The data mix: which picture of which source comes when, as a function of the seed and nothing else.

An epoch shows each picture of a source `weight` times: 2 twice, 0.25 every fourth epoch; rounded to whole
pictures, and at least one of each source that has a weight. Its order is a shuffle of all sources together.
Nothing is remembered from step to step, so that a run which goes on after a stop, or on more devices, meets
the same pictures.

    >>> Mix([100, 40], [1.0, 0.5], seed=0).epoch(0)[:2]      # (source, picture) each
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Mix:
    """The order in which pictures of several sources are seen.

    Args:
        counts: Pictures of each source.
        weights: How often each picture of a source is seen in an epoch.
        seed: Random seed of all shuffles.
    """

    def __init__(self, counts: Sequence[int], weights: Sequence[float], seed: int) -> None:
        self._counts, self._seed = list(counts), seed
        self._shares = [max(round(c * w), int(c * w > 0)) for c, w in zip(counts, weights, strict=True)]

    def __len__(self) -> int:
        """Pictures an epoch."""
        return sum(self._shares)

    def epoch(self, number: int) -> NDArray[np.int64]:
        """Sources and pictures of an epoch in their order, [len, 2]."""
        rows = [
            np.stack((np.full(share, source), self._draw(source, number * share, share)), 1)
            for source, share in enumerate(self._shares)
        ]
        order = np.random.default_rng((self._seed, number)).permutation(len(self))
        sequence: NDArray[np.int64] = np.concatenate(rows)[order]
        return sequence

    def _draw(self, source: int, start: int, count: int) -> NDArray[np.int64]:
        """Pictures `start` to `start + count` of a source's endless sequence: one shuffle after another."""
        size = self._counts[source]
        if not count:
            return np.empty(0, np.int64)
        first, last = start // size, (start + count - 1) // size
        # a third number tells these streams from those of the epochs' orders
        shuffles = [
            np.random.default_rng((self._seed, n, source + 1)).permutation(size)
            for n in range(first, last + 1)
        ]
        return np.concatenate(shuffles)[start - first * size :][:count]
