"""Densely connected atrous spatial pyramid pooling.

Yang et al., "DenseASPP for Semantic Segmentation in Street Scenes", CVPR 2018.

    >>> DenseASPP(128)(torch.rand(2, 128, 120, 120)).shape
    torch.Size([2, 288, 120, 120])
"""

import torch
from torch import Tensor, nn

DILATIONS = (3, 6, 12, 18, 24)


class DenseASPP(nn.Module):
    """Dilated convolutions, each of which sees the input and all results before it.

    Args:
        inputs: channels of the input.
        bottleneck: channels to which a 1x1 convolution narrows before each dilated one.
        growth: channels that each dilated convolution adds.
    """

    def __init__(self, inputs: int, bottleneck: int = 64, growth: int = 32) -> None:
        super().__init__()
        self.outputs = inputs + growth * len(DILATIONS)
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(inputs + i * growth, bottleneck, 1, bias=False),
                nn.BatchNorm2d(bottleneck),
                nn.ReLU(inplace=True),
                nn.Conv2d(bottleneck, growth, 3, padding=dilation, dilation=dilation, bias=False),
                nn.BatchNorm2d(growth),
                nn.ReLU(inplace=True),
            )
            for i, dilation in enumerate(DILATIONS)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Append context to features [N, C, H, W] -> [N, outputs, H, W]."""
        for layer in self.layers:
            x = torch.cat((x, layer(x)), 1)
        return x
