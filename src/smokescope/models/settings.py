"""All that is needed to build a model, as data: it travels in a checkpoint's metadata and in YAML."""

import math
from dataclasses import dataclass
from typing import Literal

from smokescope.models.decoder import Fusion, Injection, Reduction
from smokescope.models.dropout import DropoutUnit
from smokescope.models.uncertainty_net import Base
from smokescope.settings.choices import Stride
from smokescope.settings.ranges import refuse_other_choices, refuse_outside

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

Architecture = Literal["smoke-bvm", "unet"]


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """Settings of a network; the defaults are the paper's Bayesian latent variable model.

    Attributes:
        architecture: kind of network; settings of the other kinds are ignored.
        encoder_stride: ResNet variant by where it strides, "v1" or "v1.5", as its weights were trained.
        encoder_layers: bottlenecks per stage; (3, 4, 6, 3) is ResNet-50.
        encoder_width: channels of its stem.
        latent: dimensions of z.
        inference_width: channels of the inference net's first convolution.
        injection: how z enters the decoder: the paper's "full", or "light" at a sixtieth of the weights.
        decoder_width: channels each feature is reduced to.
        dropout: share of the reduced features that dropout drops.
        dropout_unit: "element" or "channel".
        aspp_bottleneck: channels before each dilated convolution.
        aspp_growth: channels that each dilated convolution adds.
        fusion: size where features meet: "fine", f1's (the paper's); "coarse", f2's, a quarter of the cost.
        reduction: side of the kernels that reduce the features: the paper's 3, or 1 at a ninth of the cost.
        uncertainty_width: channels of the uncertainty net's first convolution.
        uncertainty_base: what that net corrects: "nothing", or the "entropy" of the prediction.
        unet_width: channels of the U-Net's finest level; each level below has twice as many.
        mean: mean of each colour, subtracted from pictures in [0, 1].
        std: standard deviation of each colour, by which the difference is divided.
    """

    architecture: Architecture = "smoke-bvm"
    encoder_stride: Stride = "v1"
    encoder_layers: tuple[int, int, int, int] = (3, 4, 6, 3)
    encoder_width: int = 64
    latent: int = 8
    inference_width: int = 32
    injection: Injection = "full"
    decoder_width: int = 32
    dropout: float = 0.3
    dropout_unit: DropoutUnit = "element"
    aspp_bottleneck: int = 64
    aspp_growth: int = 32
    fusion: Fusion = "fine"
    reduction: Reduction = 3
    uncertainty_width: int = 16
    uncertainty_base: Base = "nothing"
    unet_width: int = 32
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD

    def __post_init__(self) -> None:
        refuse_other_choices(self)
        widths = ("encoder_width", "inference_width", "decoder_width", "uncertainty_width", "unet_width")
        refuse_outside(self, 1, math.inf, *widths, "aspp_bottleneck", "aspp_growth", "latent")
        refuse_outside(self, 1, math.inf, "encoder_layers")
        refuse_outside(self, 0, 0.99, "dropout")


PAPER = ModelSettings()
DEFAULT = ModelSettings(
    injection="light", inference_width=16, fusion="coarse", reduction=1, uncertainty_base="entropy"
)
UNET = ModelSettings(architecture="unet")
