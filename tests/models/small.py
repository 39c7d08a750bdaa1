"""Networks of some thousand weights, for tests of whatever a model is put into."""

from dataclasses import asdict

import torch

from smokescope.models.bvm import SmokeBVM
from smokescope.models.settings import DEFAULT, ModelSettings
from smokescope.settings.plain import from_plain

TINY = ModelSettings(architecture="unet", encoder_layers=(1, 1, 1, 1), encoder_width=4, unet_width=4)

SMALL = {
    "encoder_layers": [1, 1, 1, 1],
    "encoder_width": 4,
    "inference_width": 4,
    "uncertainty_width": 4,
    "aspp_bottleneck": 8,
    "aspp_growth": 4,
}


def shrunk(settings: ModelSettings) -> ModelSettings:
    """The same model, with fewer channels."""
    return from_plain(ModelSettings, {**asdict(settings), **SMALL})


def small_bvm() -> SmokeBVM:
    """The default model, small and always the same; its batch norm has seen pictures."""
    torch.manual_seed(0)
    network = SmokeBVM(shrunk(DEFAULT))
    network(torch.rand(4, 3, 64, 64))
    return network
