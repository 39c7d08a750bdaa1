"""Where people let smoke end: contrast at the edge of real masks, against rendered ones of several opacities.

    python -m benchmarks.mask_edges PAIRS NEGATIVES

For each mask: e = (in - out) . (core - out) / |core - out|^2, of the mean colours of a thin band inside its
edge, a thin band outside, and its core. 0 is an edge where nothing is left to see, 1 one where the smoke is
as thick as inside.
"""

import re
import sys
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.timing import table
from smokescope.chance import make_keys
from smokescope.data.layouts import list_negatives, list_pairs
from smokescope.data.pairs import read_pair
from smokescope.physics.rendering import smoke

SIZE, BAND = (640, 480), 3.0
OPACITIES = (0.06, 0.1, 0.14, 0.18, 0.24, 0.3)


def edge_contrast(picture: NDArray[np.uint8], mask: NDArray[np.bool_]) -> float | None:
    """Contrast at the edge as a share of the core's; None where smoke is too small or fills the picture."""
    inner = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 3)
    outer = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 3)
    bands = ((inner > 0) & (inner <= BAND), (outer > 0) & (outer <= BAND), inner >= 0.7 * inner.max())
    if inner.max() < 2 * BAND or any(band.sum() < 20 for band in bands):
        return None
    inside, outside, core = (picture[band].astype(np.float64).mean(0) for band in bands)
    full = core - outside
    if full @ full < 6**2:  # grey levels; below it the quotient is noise
        return None
    return float((inside - outside) @ full / (full @ full))


def quartiles(values: list[float]) -> tuple[str, str, str, str]:
    low, middle, high = np.percentile(values, (25, 50, 75))
    return f"{len(values)}", f"{low:.3f}", f"{middle:.3f}", f"{high:.3f}"


def real(folder: Path) -> list[float]:
    pairs = [p for p in list_pairs(folder).pairs if not re.fullmatch(r"\d+_\d+", p.name)]
    read = (read_pair(pair) for pair in pairs)
    return [e for picture, mask in read if (e := edge_contrast(picture, mask > 0.5)) is not None]


def rendered(backgrounds: Tensor, opacity: float) -> list[float]:
    smoke.EDGE_OPACITY = opacity
    values = []
    keys = make_keys(0, torch.arange(len(backgrounds), device=backgrounds.device))
    for some, their in zip(backgrounds.split(16), keys.split(16), strict=True):
        result = smoke.render_smoke(some / 255, their)
        pictures = (result.picture.permute(0, 2, 3, 1) * 255).round().byte().cpu().numpy()
        masks = result.mask[:, 0].bool().cpu().numpy()
        found = (edge_contrast(picture, mask) for picture, mask in zip(pictures, masks, strict=True))
        values += [e for e in found if e is not None]
    return values


def main(pairs: Path, negatives: Path) -> None:
    rows = [("real masks", *quartiles(real(pairs)))]
    found = [read_pair(pair)[0] for pair in list_negatives(negatives).pairs if "hpwren" in pair.name]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    stacked = np.stack([cv2.resize(picture, SIZE, interpolation=cv2.INTER_AREA) for picture in found])
    backgrounds = torch.from_numpy(stacked).permute(0, 3, 1, 2).to(device)
    rows += [(f"rendered, edge at {o:.0%}", *quartiles(rendered(backgrounds, o))) for o in OPACITIES]
    table("Contrast at the edges of masks", ("", "masks", "25 %", "median", "75 %"), rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
