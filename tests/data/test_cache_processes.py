"""A cache among processes: killed while made, made twice at once, replaced while in use, read by workers."""

import multiprocessing
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tests.data.caches import assert_same, content, decoded
from torch import Tensor
from torch.utils.data import DataLoader

from smokescope.data import cache as module
from smokescope.data.cache import PictureCache
from smokescope.data.cache_file import Place
from smokescope.data.layouts import Pair, list_pairs
from smokescope.errors import SmokescopeError

BUILD = """
import os, signal, sys
from pathlib import Path
from smokescope.data.cache import PictureCache
from smokescope.data.layouts import list_pairs

def progress(done, total):
    if done == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

print(len(PictureCache(list_pairs(Path(sys.argv[1])), 64, Path(sys.argv[2]), progress=progress)))
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Five pairs."""
    folder = tmp_path / "data"
    rng = np.random.default_rng(5)
    for kind in ("img", "gt"):
        (folder / kind).mkdir(parents=True)
    for i in range(5):
        pixels = rng.integers(0, 256, (40, 90, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"img/{i}.png")
        Image.fromarray(pixels[..., 0] > 127).save(folder / f"gt/{i}.png")
    return folder


def build(data: Path, file: Path, die_at: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", BUILD, str(data), str(file), str(die_at)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_killed_in_the_middle(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.cache"
    with build(data, file, die_at=3) as process:
        assert process.wait() == -signal.SIGKILL
    assert not file.exists()
    assert decoded(data, file)[1] == 5


def test_two_processes_at_once(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.cache"
    with build(data, file, die_at=-1) as one, build(data, file, die_at=-1) as other:
        assert [one.communicate()[0], other.communicate()[0]] == ["5\n", "5\n"]
    cache, count = decoded(data, file)
    assert count == 0
    assert_same(cache, decoded(data)[0])
    assert not list(tmp_path.glob(".*.part"))


def test_a_cache_in_use_outlives_its_replacement(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.cache"
    old, _ = decoded(data, file)
    before = [(picture.clone(), mask.clone()) for picture, mask in content(old)]
    PictureCache(list_pairs(data), 8, file)
    for ours, then in zip(content(old), before, strict=True):
        torch.testing.assert_close(ours, then, rtol=0, atol=0)
    with pytest.raises(SmokescopeError, match="changed while in use"):
        pickle.loads(pickle.dumps(old))


def test_a_worker_may_find_the_same_data_in_another_order(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads write in any order, and another process may have made the file anew meanwhile."""
    file = tmp_path / "a.cache"

    def backwards(work: Callable[[Pair], Place], pairs: list[Pair], progress: object) -> list[Place]:
        return [work(pair) for pair in reversed(pairs)][::-1]

    with monkeypatch.context() as patch:
        patch.setattr(module, "for_each_pair", backwards)
        reverse, _ = decoded(data, file)
    pickled = pickle.dumps(reverse)
    file.unlink()
    decoded(data, file)
    assert_same(pickle.loads(pickled), reverse)


def test_a_pickled_cache_does_not_carry_the_pixels(data: Path, tmp_path: Path) -> None:
    on_disk, _ = decoded(data, tmp_path / "a.cache")
    in_memory, _ = decoded(data)
    assert len(pickle.dumps(on_disk)) < 4000
    assert_same(pickle.loads(pickle.dumps(on_disk)), on_disk)
    assert_same(pickle.loads(pickle.dumps(in_memory)), in_memory)


def first(items: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    return items[0][0].clone(), items[0][1].clone()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="nothing forks here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 warns of threads, idle ones too
@pytest.mark.parametrize("on_disk", [True, False])
def test_forked_workers_read_the_same(data: Path, tmp_path: Path, on_disk: bool) -> None:
    check_workers(decoded(data, tmp_path / "a.cache" if on_disk else None)[0], "fork")


def test_fresh_workers_read_the_same(data: Path) -> None:
    check_workers(decoded(data)[0], "spawn")


def check_workers(cache: PictureCache, method: str) -> None:
    loader: DataLoader[tuple[Tensor, Tensor]] = DataLoader(
        cache,  # type: ignore[arg-type]  # all that a loader asks for
        num_workers=1,
        collate_fn=first,
        multiprocessing_context=method,
    )
    for (picture, mask), expected in zip(loader, content(cache), strict=True):
        assert torch.equal(picture, expected[0])
        assert torch.equal(mask, expected[1])
