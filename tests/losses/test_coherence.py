"""The two implementations of the sums behind the transmission loss agree, also where there is no GPU."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from smokescope.losses.coherence import coherence

INTERPRETED = """
import torch
from smokescope.losses import coherence_triton
from smokescope.losses.coherence import coherence

for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-12)):
    for shape, radius in (((2, 1, 13, 21), 2), ((1, 1, 3, 4), 5), ((1, 1, 1, 1), 1)):
        p, t = torch.rand((2, *shape), generator=torch.Generator().manual_seed(0), dtype=dtype)
        p[..., :1, :1] = p[..., -1:, -1:]  # a tie has no gradient
        expected = coherence(p, t, radius, 3.0, 0.1)
        for ours, theirs in zip(coherence_triton.coherence(p, t, radius, 3.0, 0.1), expected, strict=True):
            torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=0)
print("agree")
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_the_gpu_kernel_interpreted_on_the_cpu_gives_the_same_sums() -> None:
    run = subprocess.run(
        [sys.executable, "-c", INTERPRETED],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout.strip() == "agree", run.stderr


def test_the_operator_is_well_formed() -> None:
    p, t = torch.rand(2, 1, 1, 9, 8)
    torch.library.opcheck(coherence, (p, t, 2, 3.0, 0.1))
