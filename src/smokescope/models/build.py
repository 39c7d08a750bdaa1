"""From settings to the network that they describe."""

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
