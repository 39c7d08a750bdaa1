"""What tests of the picture cache share."""

from pathlib import Path

import torch
from torch import Tensor

from smokescope.data.cache import PictureCache
from smokescope.data.layouts import list_pairs

SIDE = 64


def decoded(data: Path, file: Path | None = None) -> tuple[PictureCache, int]:
    """A cache, and how many pairs had to be decoded for it."""
    calls: list[int] = []
    cache = PictureCache(list_pairs(data), SIDE, file, progress=lambda done, total: calls.append(done))
    return cache, len(calls)


def content(cache: PictureCache) -> list[tuple[Tensor, Tensor]]:
    return [cache[i] for i in range(len(cache))]


def assert_same(one: PictureCache, other: PictureCache) -> None:
    assert one.pairs == other.pairs
    for ours, theirs in zip(content(one), content(other), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
