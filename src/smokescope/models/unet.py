"""A plain U-Net on the same encoder: a peer to measure the Bayesian model against, like with like.

Ronneberger et al., "U-Net: Convolutional Networks for Biomedical Image Segmentation", MICCAI 2015.

    >>> model = UNet(UNET).eval()
    >>> model(torch.rand(1, 3, 480, 480)).probability.shape
    torch.Size([1, 1, 480, 480])
"""

import torch
from torch import Tensor, nn

from smokescope.models.bvm import Output
from smokescope.models.enlarge import enlarge
from smokescope.models.normalise import Normalise
from smokescope.models.resnet import Encoder, ResNet
from smokescope.models.settings import UNET, ModelSettings
from smokescope.precision import at_least_float32
from smokescope.uncertainty import binary_entropy


class UNet(nn.Module):
    """Encoder, and a decoder that meets its features on the way up to one logit map at stride 4.

    It stops at stride 4 as the Bayesian decoder does, so that a difference between the two is not one of
    resolution. It gives a single prediction, whose entropy is all its uncertainty, none of it epistemic.

    Args:
        settings: UNET or your own.
        encoder: another network to replace the ResNet of the settings.
    """

    def __init__(self, settings: ModelSettings = UNET, encoder: Encoder | None = None) -> None:
        super().__init__()
        if settings.architecture != "unet":
            raise ValueError(f"these settings describe a {settings.architecture}, not a unet")
        s = self.settings = settings
        self.encoder = encoder or ResNet(s.encoder_stride, s.encoder_layers, s.encoder_width)
        self.normalise = Normalise(s.mean, s.std)
        *skips, deepest = self.encoder.channels
        widths = [s.unet_width * factor for factor in (8, 4, 2, 1)]
        self.bottom = _two_layers(deepest, widths[0])
        self.levels = nn.ModuleList(
            _two_layers(below + skip, width)
            for below, skip, width in zip(widths[:-1], reversed(skips), widths[1:], strict=True)
        )
        self.head = nn.Conv2d(widths[-1], 1, 1)

    def forward(self, pictures: Tensor, temperature: float = 1.0) -> Output:
        """Predict.

        Args:
            pictures: RGB in [0, 1], [N, 3, H, W].
            temperature: divisor of the logits.

        Returns:
            Logits, and their entropy in nats as both total and aleatoric uncertainty.
        """
        *skips, deepest = self.encoder(self.normalise(pictures))
        x = self.bottom(deepest)
        for level, skip in zip(self.levels, reversed(skips), strict=True):
            x = level(torch.cat((enlarge(x, skip.shape[-2:]), skip), 1))
        logits = enlarge(at_least_float32(self.head(x)), pictures.shape[-2:]) / temperature
        entropy = binary_entropy(logits)
        return Output(logits, entropy, entropy)


def _two_layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(*_layer(inputs, outputs), *_layer(outputs, outputs))


def _layer(inputs: int, outputs: int) -> tuple[nn.Module, nn.Module, nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
