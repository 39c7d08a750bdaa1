"""ResNet-50 as an encoder of four features, under torchvision's parameter names.

He et al., "Deep Residual Learning for Image Recognition", CVPR 2016. The paper's backbone.

    >>> features = ResNet()(torch.rand(1, 3, 480, 480))
    >>> [tuple(f.shape[1:]) for f in features]
    [(256, 120, 120), (512, 60, 60), (1024, 30, 30), (2048, 15, 15)]
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from smokescope.settings.choices import Stride


@runtime_checkable
class Encoder(Protocol):
    """What any encoder must offer to be plugged into the model: four features, finest first."""

    channels: tuple[int, int, int, int]
    strides: tuple[int, int, int, int]

    def __call__(self, x: Tensor) -> list[Tensor]:
        """Turn pictures [N, 3, H, W] into features f1..f4 [N, channels[i], ceil(H/s), ceil(W/s)]."""
        ...


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 with a shortcut; v1 strides in the first convolution, v1.5 in the second."""

    expansion = 4

    def __init__(self, inputs: int, width: int, step: int, stride: Stride) -> None:
        super().__init__()
        outputs = width * self.expansion
        first, second = (step, 1) if stride == "v1" else (1, step)
        self.conv1 = nn.Conv2d(inputs, width, 1, stride=first, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=second, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Sequential | None = None
        if step != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=step, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Add the bottleneck's correction to its input."""
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        result: Tensor = self.relu(y + (x if self.downsample is None else self.downsample(x)))
        return result


class ResNet(nn.Module):
    """ResNet of bottlenecks without its classifier.

    Args:
        stride: where a stage strides: "v1" as in the original weights, "v1.5" as in torchvision's.
        layers: bottlenecks in each of the four stages; the default is ResNet-50.
        width: channels of the stem; a stage's output has 4, 8, 16 and 32 times as many.
    """

    strides = (4, 8, 16, 32)

    def __init__(self, stride: Stride = "v1", layers: Sequence[int] = (3, 4, 6, 3), width: int = 64) -> None:
        super().__init__()
        self.stride: Stride = stride
        self.channels = (4 * width, 8 * width, 16 * width, 32 * width)
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._stage(width, width, layers[0], 1)
        self.layer2 = self._stage(4 * width, 2 * width, layers[1], 2)
        self.layer3 = self._stage(8 * width, 4 * width, layers[2], 2)
        self.layer4 = self._stage(16 * width, 8 * width, layers[3], 2)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def _stage(self, inputs: int, width: int, blocks: int, step: int) -> nn.Sequential:
        first = Bottleneck(inputs, width, step, self.stride)
        rest = [Bottleneck(width * Bottleneck.expansion, width, 1, self.stride) for _ in range(blocks - 1)]
        return nn.Sequential(first, *rest)

    def forward(self, x: Tensor) -> list[Tensor]:
        """Turn pictures [N, 3, H, W], normalised, into features f1..f4 at strides 4, 8, 16, 32."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        features = []
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
            features.append(x)
        return features
