"""Residual channel attention block.

Zhang et al., "Image Super-Resolution Using Very Deep Residual Channel Attention Networks", ECCV 2018.

    >>> RCAB(32)(torch.rand(2, 32, 60, 60)).shape
    torch.Size([2, 32, 60, 60])
"""

from torch import Tensor, nn

REDUCTION = 16  # by how much the gate's hidden layer is narrower


class ChannelAttention(nn.Module):
    """Weigh each channel by a gate computed from all channels' averages.

    Args:
        channels: channels of the input.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        hidden = max(1, channels // REDUCTION)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, hidden, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(hidden, channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Scale the channels of x [N, C, H, W]."""
        gate: Tensor = self.gate(x)
        return x * gate


class RCAB(nn.Module):
    """Two 3x3 convolutions and channel attention, added to the input. No batch norm, as published.

    Args:
        channels: channels of input and output.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, padding=1),
            ChannelAttention(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Refine features [N, C, H, W]."""
        correction: Tensor = self.body(x)
        return x + correction
