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
from smokescope.losses.supervision import PartialCrossEntropy, partial_cross_entropy, supervision_loss
from smokescope.losses.transmission import TransmissionLoss, transmission_loss

__all__ = [
    "CalibratedEntropyLoss",
    "ConsistencyLoss",
    "EntropyLoss",
    "KLLoss",
    "Objective",
    "ObjectiveSettings",
    "PartialCrossEntropy",
    "StructureLoss",
    "TransmissionLoss",
    "calibrated_entropy_loss",
    "consistency_loss",
    "entropy_loss",
    "kl_loss",
    "partial_cross_entropy",
    "structure_loss",
    "supervision_loss",
    "transmission_loss",
]
