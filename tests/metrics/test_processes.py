"""Two real processes give the figures of one, however the pictures are shared out."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from smokescope.metrics import SmokeMetrics


class Maps(NamedTuple):
    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor


Picture = tuple[Tensor, Tensor, Tensor, Tensor]


def make_picture(seed: int, smoke: bool) -> Picture:
    """Probability and mask [1, H, W], maps and sampled maps [3, 1, H, W]; the size depends on the seed."""
    generator = torch.Generator().manual_seed(seed)
    shape = (1, 10 + seed, 14)
    mask = (torch.rand(shape, generator=generator) < 0.3) & smoke
    probability = (0.7 * torch.rand(shape, generator=generator) + 0.3 * mask).clamp(0, 1)
    maps, sampled = 0.69 * torch.rand(2, 3, *shape, generator=generator)
    return probability, mask, maps, sampled


def shares() -> list[tuple[list[Picture], list[Picture]]]:
    smoke = [make_picture(seed, smoke=True) for seed in range(6)]
    negatives = [make_picture(seed, smoke=False) for seed in range(6, 9)]
    return [
        (smoke[:4] + negatives, smoke[4:]),  # uneven, and no negatives in the second process
        (smoke, negatives),  # no smoke in the second process
        (smoke + negatives, []),  # nothing at all in the second process
        ([], smoke),  # nothing in the first, no negatives anywhere
        ([], []),
    ]


def flat(report: object, name: str = "") -> dict[str, float | None]:
    if isinstance(report, dict):
        return {k: v for key, value in report.items() for k, v in flat(value, f"{name}/{key}").items()}
    assert report is None or isinstance(report, int | float)
    return {name: report}


def test_two_processes_give_the_figures_of_one(tmp_path: Path) -> None:
    torch.save(shares(), tmp_path / "shares.pt")
    worker = Path(__file__).with_name("one_of_two.py")
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if Path("/sys/class/net/lo").exists() else {}
    processes = [
        subprocess.Popen(
            [sys.executable, worker, str(rank), tmp_path],
            env={**os.environ, **loopback, "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        errors = [process.communicate(timeout=100)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], "\n".join(errors)

    answers = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    for (first, second), *of_ranks in zip(shares(), *answers, strict=True):
        suite = SmokeMetrics(shipped_threshold=0.7)
        for probability, mask, maps, sampled in first + second:
            suite.update(probability, mask, Maps(*maps), Maps(*sampled))
        expected = flat(suite.compute())
        for answer in of_ranks:
            assert flat(answer["report"]) == pytest.approx(expected, abs=1e-12)
            assert answer["again"] == answer["report"]
            for found, bins in zip(answer["reliability"], suite.calibration.reliability(), strict=True):
                for numbers, tensor in zip(found, bins, strict=True):
                    assert numbers == pytest.approx(tensor.tolist(), abs=1e-9)
