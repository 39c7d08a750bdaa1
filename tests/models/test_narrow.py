"""What a GPU computes with channels of zeros is what a CPU computes without."""

import pytest
import torch

from smokescope.models import DEFAULT, SmokeBVM
from smokescope.models.narrow import NarrowConv2d


@pytest.mark.parametrize(("inputs", "outputs"), [(4, 16), (32, 1), (3, 5), (8, 8)])
@pytest.mark.parametrize("bias", [True, False])
def test_the_same_answer_and_the_same_gradients(inputs: int, outputs: int, bias: bool) -> None:
    conv = NarrowConv2d(inputs, outputs, 3, stride=2, padding=1, bias=bias).double()
    x = torch.rand(2, inputs, 9, 7, dtype=torch.float64, requires_grad=True)
    wanted, given = conv(x), conv.widened(x)
    torch.testing.assert_close(given, wanted)
    leaves = [x, *conv.parameters()]
    for one, other in zip(
        torch.autograd.grad(wanted.square().sum(), leaves),
        torch.autograd.grad(given.square().sum(), leaves),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_no_narrow_convolution_is_left_to_slow_kernels() -> None:
    """But for the encoder's stem, which cuDNN has kernels for, and attention's gates, of one pixel each."""
    slow = [
        name
        for name, module in SmokeBVM(DEFAULT).named_modules()
        if isinstance(module, torch.nn.Conv2d)
        and not isinstance(module, NarrowConv2d)
        and (module.in_channels % 8 or module.out_channels % 8)
    ]
    assert [name for name in slow if ".gate." not in name] == ["encoder.conv1"]
