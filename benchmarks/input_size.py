"""What it is worth how many pixels the network sees: by the smoke's size, and on parts and small pictures.

    python -m benchmarks.input_size --data DIR [--negatives DIR] [--folds F --fold 1] [--match REAL]
        [--model M] [--every N]

Each picture is looked at as it is; a quarter of it, about its smoke, is cut out; and all of it is shrunk to
half its height and width, as a thumbnail is. `smokescope convert --set input.height=...` makes a model of
another size.
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from benchmarks.experiment import as_text, summary
from benchmarks.pictures import chosen, options, quarter
from benchmarks.timing import table
from smokescope import load
from smokescope.data.layouts import Pair
from smokescope.data.pairs import read_pair
from smokescope.metrics import FBeta, SmokeMetrics
from smokescope.models.pipeline import Pipeline, resize

SIZES = ((240, 320), (352, 448), (480, 640), (608, 800))
SHARES = (0.0005, 0.001, 0.002, 0.005, 0.02)  # of the picture that is smoke, between the classes
HEADER = (
    *("input", "F mean", "F max", "ece image", "found", "false alarms", "F mean by smoke's share"),
    *("a quarter: F mean", "F max", "shrunk: F mean", "F max"),
)


def main() -> None:
    given = options(__doc__).parse_args()
    pairs = chosen(given)
    pipeline = load(given.model, tiles="never").pipeline
    rows = []
    for height, width in SIZES:
        pipeline.input = replace(pipeline.input, height=height, width=width)
        rows.append((f"{width} x {height}", *_measured(pipeline, pairs)))
        print(" | ".join(rows[-1]), flush=True)
    table(f"{len(pairs)} pictures", HEADER, rows)


@torch.no_grad()
def _measured(pipeline: Pipeline, pairs: Sequence[Pair]) -> tuple[str, ...]:
    whole, parts, shrunk = SmokeMetrics(), FBeta(), FBeta()
    by_share = [FBeta() for _ in range(len(SHARES) + 1)]
    for pair in pairs:
        picture, mask = read_pair(pair)
        x = torch.from_numpy(picture).permute(2, 0, 1)[None] / 255
        smoke = torch.from_numpy(mask)[None] > 0.5
        seen = _probability(pipeline, x)
        whole.update(seen, smoke)
        if not smoke.any():
            continue
        by_share[bisect(SHARES, float(smoke.float().mean()))].update(seen, smoke)
        rows, columns = quarter(smoke[0])
        parts.update(_probability(pipeline, x[..., rows, columns]), smoke[:, rows, columns])
        height, width = smoke.shape[1:]
        small = _probability(pipeline, resize(x, (height // 2, width // 2)))
        shrunk.update(resize(small[None], (height, width))[0], smoke)
    shares = " ".join(as_text(each.compute()["mean"]) for each in by_share)
    others = [as_text(each.compute()[name]) for each in (parts, shrunk) for name in ("mean", "max")]
    return (*summary(whole.compute()), shares, *others)


def _probability(pipeline: Pipeline, x: Tensor) -> Tensor:
    """Probability of smoke [1, H, W] in a picture [1, 3, H, W]."""
    return pipeline(x.to(next(pipeline.parameters()).device)).probability[:, 0].cpu()


if __name__ == "__main__":
    main()
