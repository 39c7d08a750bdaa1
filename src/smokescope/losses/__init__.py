"""The losses of the paper, each a function and its thin module."""

from smokescope.losses.consistency import ConsistencyLoss, consistency_loss
from smokescope.losses.entropy import (
    CalibratedEntropyLoss,
    EntropyLoss,
    calibrated_entropy_loss,
    entropy_loss,
)
from smokescope.losses.kl import KLLoss, kl_loss
from smokescope.losses.objective import Objective, ObjectiveSettings
from smokescope.losses.structure import StructureLoss, structure_loss
from smokescope.losses.transmission import TransmissionLoss, transmission_loss

__all__ = [
    "CalibratedEntropyLoss",
    "ConsistencyLoss",
    "EntropyLoss",
    "KLLoss",
    "Objective",
    "ObjectiveSettings",
    "StructureLoss",
    "TransmissionLoss",
    "calibrated_entropy_loss",
    "consistency_loss",
    "entropy_loss",
    "kl_loss",
    "structure_loss",
    "transmission_loss",
]
