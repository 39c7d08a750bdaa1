"""The structure loss against F3Net's formula, written out pixel by pixel."""

import numpy as np
import pytest
import torch
from torch import Tensor

from smokescope.losses.structure import StructureLoss, edge_weight, structure_loss


def batch(*shape: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(shape, generator=generator, dtype=torch.float64)
    mask = (torch.rand(shape, generator=generator) > 0.6).double()
    return logits, mask


def brute_force_weight(mask: np.ndarray) -> np.ndarray:
    """w = 1 + 5 |avgpool31(y) - y|, zeros beyond the border counted, as F3Net's pooling does."""
    height, width = mask.shape
    padded = np.pad(mask, 15)
    around = np.array(
        [[padded[i : i + 31, j : j + 31].sum() / 31**2 for j in range(width)] for i in range(height)]
    )
    return 1 + 5 * np.abs(around - mask)


def brute_force(logits: Tensor, mask: Tensor) -> float:
    losses = []
    for s, y in zip(logits[:, 0].numpy(), mask[:, 0].numpy(), strict=True):
        w, p = brute_force_weight(y), 1 / (1 + np.exp(-s))
        cross_entropy = -(y * np.log(p) + (1 - y) * np.log(1 - p))
        intersection, union = (p * y * w).sum(), ((p + y) * w).sum()
        iou = 1 - (intersection + 1) / (union - intersection + 1)
        losses.append((w * cross_entropy).sum() / w.sum() + iou)
    return float(np.mean(losses))


@pytest.mark.parametrize("shape", [(3, 1, 40, 50), (1, 1, 7, 5), (2, 1, 1, 1)])
def test_is_eq_4(shape: tuple[int, ...]) -> None:
    logits, mask = batch(*shape)
    assert StructureLoss()(logits, mask).item() == pytest.approx(brute_force(logits, mask), abs=1e-12)


def test_edge_weight_is_f3nets() -> None:
    _, mask = batch(1, 1, 45, 38, seed=1)
    np.testing.assert_allclose(edge_weight(mask)[0, 0], brute_force_weight(mask[0, 0].numpy()), atol=1e-12)


def test_edges_weigh_more_than_what_lies_inside_and_far_off() -> None:
    mask = torch.zeros(1, 1, 120, 120)
    mask[..., 30:90, 30:90] = 1
    weight = edge_weight(mask)[0, 0]
    assert weight[60, 30] > 2
    assert weight[60, 60] == pytest.approx(1, abs=1e-5)
    assert weight[5, 5] == pytest.approx(1)


def test_a_band_weighs_the_same_on_both_sides_of_an_edge() -> None:
    """Written out pixel by pixel: 6 wherever a window of 31 sees smoke and its absence, else 1."""
    _, mask = batch(1, 1, 45, 38, seed=1)
    mask[..., :20, :] = 0
    mask[..., 20:, 10:] = 1
    y = mask[0, 0].numpy()
    expected = np.empty_like(y)
    for i, j in np.ndindex(*y.shape):
        seen = y[max(0, i - 15) : i + 16, max(0, j - 15) : j + 16]
        expected[i, j] = 1 + 5 * (seen.max() - seen.min())
    np.testing.assert_array_equal(edge_weight(mask, "band")[0, 0], expected)
    assert {1.0, 6.0} == set(expected.flat)


def test_small_smoke_weighs_no_more_than_what_lies_beside_it_in_a_band_alone() -> None:
    mask = torch.zeros(1, 1, 100, 100)
    mask[..., 48:52, 48:52] = 1
    surround, band = (edge_weight(mask, edges)[0, 0] for edges in ("surround", "band"))
    assert surround[50, 50] > 5 * surround[50, 56]
    assert band[50, 50] == band[50, 56] == 6


def test_module_and_function_share_their_edges() -> None:
    logits, mask = batch(2, 1, 40, 40, seed=5)
    mask[..., 20:, :] = 0
    banded = structure_loss(logits, mask, "band")
    assert StructureLoss("band")(logits, mask) == banded
    assert banded != structure_loss(logits, mask)


def test_each_picture_counts_the_same() -> None:
    """A mean over the batch's pixels would let the picture with more smoke drown the other."""
    logits, mask = batch(2, 1, 20, 20, seed=2)
    mask[0] *= torch.arange(20) < 2
    alone = [structure_loss(logits[i : i + 1], mask[i : i + 1]).item() for i in range(2)]
    assert structure_loss(logits, mask).item() == pytest.approx(sum(alone) / 2, abs=1e-12)


def test_passes_gradcheck() -> None:
    logits, mask = batch(2, 1, 6, 5, seed=3)
    assert torch.autograd.gradcheck(lambda s: structure_loss(s, mask), logits.requires_grad_())


def test_sure_and_right_costs_nothing_also_on_an_empty_mask() -> None:
    _, mask = batch(2, 1, 16, 16, seed=4)
    mask[1] = 0
    assert structure_loss(100 * (2 * mask - 1), mask).item() == pytest.approx(0, abs=1e-12)
