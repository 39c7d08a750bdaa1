"""The networks of the paper, as plain modules; bvm.py composes them."""

from smokescope.models.bvm import SmokeBVM
from smokescope.models.decoder import BayesianDecoder
from smokescope.models.inference_net import InferenceNet
from smokescope.models.resnet import Encoder, ResNet
from smokescope.models.settings import DEFAULT, PAPER, ModelSettings
from smokescope.models.uncertainty_net import UncertaintyNet

__all__ = [
    "DEFAULT",
    "PAPER",
    "BayesianDecoder",
    "Encoder",
    "InferenceNet",
    "ModelSettings",
    "ResNet",
    "SmokeBVM",
    "UncertaintyNet",
]
