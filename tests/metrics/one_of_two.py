"""One of two processes of test_processes.py: feeds its share of the pictures, writes what it computes.

Arguments: rank, the folder that holds `shares.pt` and takes the answers.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, distributed

from smokescope.metrics import SmokeMetrics


class Maps(NamedTuple):
    total: Tensor
    aleatoric: Tensor
    epistemic: Tensor


def main(rank: int, folder: Path) -> None:
    distributed.init_process_group("gloo", f"file://{folder / 'store'}", rank=rank, world_size=2)
    answers = []
    for shares in torch.load(folder / "shares.pt", weights_only=True):
        suite = SmokeMetrics(shipped_threshold=0.7).to("cpu")
        for probability, mask, maps, sampled in shares[rank]:
            suite.update(probability, mask, Maps(*maps), Maps(*sampled))
            own = suite.alarm.smoke + suite.alarm.negatives
        report = suite.compute()
        reliability = [[part.tolist() for part in bins] for bins in suite.calibration.reliability()]
        if shares[rank]:  # gathering must leave a process with its own pictures, to go on with
            assert torch.equal(suite.alarm.smoke + suite.alarm.negatives, own)
        answers.append({"report": report, "again": suite.compute(), "reliability": reliability})
    (folder / f"{rank}.json").write_text(json.dumps(answers, allow_nan=False))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
