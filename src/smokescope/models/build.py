"""From settings to the network that they describe."""

from torch import nn

from smokescope.models.bvm import SmokeBVM
from smokescope.models.settings import ModelSettings
from smokescope.models.unet import UNet

SmokeModel = SmokeBVM | UNet
"""Any of the networks: pictures [N, 3, H, W] in [0, 1] to a `models.bvm.Output`. All have `settings` and an
`encoder`; only `SmokeBVM` can be sampled."""


def build_model(settings: ModelSettings) -> SmokeModel:
    """Build the settings' architecture, with freshly drawn weights."""
    match settings.architecture:
        case "smoke-bvm":
            return SmokeBVM(settings)
        case "unet":
            return UNet(settings)


def shift_logits(model: SmokeModel, offset: float) -> None:
    """Add a constant to every logit of a network from now on, also to those of its samples."""
    head = model.decoder.head if isinstance(model, SmokeBVM) else model.head
    if head.bias is not None:  # it always has one
        nn.init.constant_(head.bias, head.bias.item() + offset)
