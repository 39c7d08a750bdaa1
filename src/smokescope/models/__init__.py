"""The networks of the paper and a peer, as plain modules; pipeline.py takes pictures to maps with any."""

from smokescope.models.build import SmokeModel, build_model
from smokescope.models.bvm import SmokeBVM
from smokescope.models.decoder import BayesianDecoder
from smokescope.models.inference_net import InferenceNet
from smokescope.models.pipeline import Pipeline
from smokescope.models.resnet import Encoder, ResNet
from smokescope.models.settings import DEFAULT, PAPER, UNET, ModelSettings
from smokescope.models.uncertainty_net import UncertaintyNet
from smokescope.models.unet import UNet
from smokescope.settings.input import InputSettings
from smokescope.settings.verdicts import VerdictSettings

__all__ = [
    "DEFAULT",
    "PAPER",
    "UNET",
    "BayesianDecoder",
    "Encoder",
    "InferenceNet",
    "InputSettings",
    "ModelSettings",
    "Pipeline",
    "ResNet",
    "SmokeBVM",
    "SmokeModel",
    "UNet",
    "UncertaintyNet",
    "VerdictSettings",
    "build_model",
]
