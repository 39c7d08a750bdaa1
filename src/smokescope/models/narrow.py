"""Convolutions of few channels, such as one logit: quick on a GPU too."""

from torch import Tensor, nn
from torch.nn import functional

TOGETHER = 8  # channels that cuDNN's quick kernels take


class NarrowConv2d(nn.Conv2d):
    """A convolution like any other, with the same weights and the same answer.

    cuDNN's quick kernels take channels in eights; what it has for fewer took a quarter of a whole pass in
    bfloat16. So on a GPU the missing channels are made up of zeros, and left out of the result.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Convolve [N, C, H, W]."""
        narrow = self.in_channels % TOGETHER or self.out_channels % TOGETHER
        return self.widened(x) if narrow and x.is_cuda else super().forward(x)

    def widened(self, x: Tensor) -> Tensor:
        """As on a GPU, wherever x is."""
        inputs, outputs = -self.in_channels % TOGETHER, -self.out_channels % TOGETHER
        weight = functional.pad(self.weight, (0, 0, 0, 0, 0, inputs, 0, outputs))
        bias = None if self.bias is None else functional.pad(self.bias, (0, outputs))
        x = functional.pad(x, (0, 0, 0, 0, 0, inputs))
        y = functional.conv2d(x, weight, bias, self.stride, self.padding, self.dilation)
        return y[:, : self.out_channels]
