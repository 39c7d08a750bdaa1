"""Do the sampling-free maps agree with Monte Carlo's? Pearson's r of each, and their mean squared difference.

Moments are kept about the mean and merged by Chan's formula, so a small spread about a large mean survives:
with n_k, mean_k and M_k = sum of (x - mean_k)^2 of part k,

    M = sum over k of M_k + n_k (mean_k - mean)^2.
"""

from typing import TypedDict

import torch
from torch import Tensor

from smokescope.metrics.base import StreamingMetric
from smokescope.metrics.checks import UncertaintyMaps, check_maps

# a deviation under this share of the mean is rounding, not a spread; SciPy's pearsonr draws the same line
_NO_SPREAD = 1e-13


class AgreementFigures(TypedDict):
    """Pearson's r of each map over all pixels, None where one is constant; `mse` is the three maps' mean."""

    total_r: float | None
    aleatoric_r: float | None
    epistemic_r: float | None
    mse: float | None


def moments(pairs: Tensor) -> Tensor:
    """Moments of paired values, float64 [2, P]: n, mean x, mean y, M_xx, M_yy, M_xy, as float64 [6]."""
    mean = pairs.mean(1, keepdim=True)
    centred = pairs - mean
    products = centred @ centred.T
    count = mean.new_full((1,), pairs.shape[1])
    return torch.cat((count, mean[:, 0], products.diagonal(), products[0, 1:]))


def merge_moments(parts: Tensor) -> Tensor:
    """Moments of parts together: [parts, K, 6] to [K, 6]; a part with n = 0 adds nothing."""
    count, means, products = parts[..., :1], parts[..., 1:3], parts[..., 3:]
    total = count.sum(0)
    mean = (count * means).sum(0) / total.clamp(min=1)
    x, y = (means - mean).unbind(-1)
    spread = torch.stack((x * x, y * y, x * y), dim=-1)
    return torch.cat((total, mean, (products + count * spread).sum(0)), dim=-1)


def pearson(of: Tensor) -> float | None:
    """Pearson's r from one row of moments [6]; None where x or y has no spread."""
    count, mean_x, mean_y, xx, yy, xy = of.tolist()
    deviation_x, deviation_y = xx**0.5, yy**0.5
    floor = _NO_SPREAD * count**0.5
    if deviation_x <= floor * abs(mean_x) or deviation_y <= floor * abs(mean_y):
        return None
    return float(min(max(xy / deviation_x / deviation_y, -1.0), 1.0))


class SamplingAgreement(StreamingMetric):
    """Agreement of the maps of one pass with those of Monte Carlo samples, pixels pooled."""

    joint: Tensor  # moments [map, 6]
    squared: Tensor

    def __init__(self) -> None:
        super().__init__()
        empty = torch.zeros(3, 6, dtype=torch.float64)
        self.add_state("joint", empty, dist_reduce_fx=merge_moments)
        self.add_sum("squared")

    def update(self, maps: UncertaintyMaps, sampled: UncertaintyMaps) -> None:
        """Take in pictures: the three maps of one pass and of sampling, each [N, H, W] in nats."""
        shape = maps.total.shape
        batch = []
        for x, y in zip(check_maps(maps, shape), check_maps(sampled, shape, "sampled "), strict=True):
            pairs = torch.stack((x.flatten(), y.flatten())).double()
            batch.append(moments(pairs))
            self.squared += (pairs[0] - pairs[1]).square().sum()
        self.joint = merge_moments(torch.stack((self.joint, torch.stack(batch))))

    def compute(self) -> AgreementFigures:
        """Return the four figures."""
        count = float(self.joint[:, 0].sum())
        total_r, aleatoric_r, epistemic_r = (pearson(row) for row in self.joint)
        return {
            "total_r": total_r,
            "aleatoric_r": aleatoric_r,
            "epistemic_r": epistemic_r,
            "mse": float(self.squared) / count if count else None,
        }
