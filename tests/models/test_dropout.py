"""Keyed dropout against torch's own: what it drops, what it leaves, and its gradient."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from smokescope.chance import make_keys
from smokescope.models.dropout import DropoutUnit, draw_mask, drop

UNITS: tuple[DropoutUnit, ...] = ("element", "channel")


def keys(count: int, seed: int = 0) -> Tensor:
    return make_keys(seed, torch.arange(count))


def keyed_dropout(x: Tensor, keys: Tensor, share: float, unit: DropoutUnit) -> Tensor:
    return drop(x, draw_mask(keys, x.shape[1:], share, unit), share)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_has_the_statistics_of_torchs(unit: DropoutUnit, share: float) -> None:
    torch.manual_seed(0)
    x = 1 + torch.rand(200, 64, 6, 6)
    theirs = (functional.dropout if unit == "element" else functional.dropout2d)(x, share)
    ours = keyed_dropout(x, keys(200), share, unit)
    kept = (ours != 0) & (theirs != 0)
    torch.testing.assert_close(ours[kept], theirs[kept])
    tolerance = 0.01 if unit == "element" else 0.02  # fewer channels than elements
    for statistic in (lambda y: (y == 0).float().mean(), lambda y: y.mean() / 10, lambda y: y.std() / 10):
        assert statistic(ours).item() == pytest.approx(statistic(theirs).item(), abs=tolerance)
    whole = (ours == 0).all((2, 3)) | (ours != 0).all((2, 3))
    assert whole.all() == (unit == "channel" or share == 0)


@pytest.mark.parametrize("unit", UNITS)
def test_a_sample_depends_on_its_key_alone(unit: DropoutUnit) -> None:
    x = torch.rand(5, 8, 4, 6) + 1
    together = keyed_dropout(x, keys(5), 0.3, unit)
    assert torch.equal(keyed_dropout(x[2:4], keys(5)[2:4], 0.3, unit), together[2:4])
    assert not torch.equal(keyed_dropout(x, keys(5, seed=1), 0.3, unit), together)
    assert len((together == 0).flatten(1).float().unique(dim=0)) == 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_keeps_type_and_memory_format_and_lets_gradients_through(dtype: torch.dtype) -> None:
    x = torch.rand(2, 8, 4, 6, dtype=dtype).contiguous(memory_format=torch.channels_last).requires_grad_()
    result = keyed_dropout(x, keys(2), 0.5, "element")
    assert result.dtype == dtype
    assert result.is_contiguous(memory_format=torch.channels_last)
    result.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, 2.0 * (result != 0))
