"""What others build on does not change by accident: a name added or gone is a line changed here."""

import importlib
from types import ModuleType

import pytest

import smokescope

NAMES = {
    "smokescope.models": {
        "DEFAULT", "PAPER", "UNET", "BayesianDecoder", "Encoder", "InferenceNet", "InputSettings",
        "ModelSettings", "Pipeline", "ResNet", "SmokeBVM", "SmokeModel", "UNet", "UncertaintyNet",
        "VerdictSettings", "build_model",
    },
    "smokescope.inference": {
        "Picture", "Prediction", "Region", "Segmenter", "choose_device", "devices", "find_regions",
    },
    "smokescope.losses": {
        "CalibratedEntropyLoss", "ConsistencyLoss", "EntropyLoss", "KLLoss", "Objective",
        "ObjectiveSettings", "PartialCrossEntropy", "StructureLoss", "TransmissionLoss",
        "calibrated_entropy_loss", "consistency_loss", "entropy_loss", "kl_loss", "partial_cross_entropy",
        "structure_loss", "supervision_loss", "transmission_loss",
    },
    "smokescope.metrics": {
        "Alarm", "Bins", "CalibrationError", "Draws", "FBeta", "IntersectionOverUnion", "Interval",
        "MeanSquaredError", "OutOfDistribution", "Reliability", "Report", "RiskCoverage", "SamplingAgreement",
        "SmokeMetrics", "UncertaintyMaps", "UncertaintyQuality", "difference", "draw_scenes",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_public_names_are_frozen(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    assert set(module.__all__) == NAMES[name]
    assert all(hasattr(module, each) for each in module.__all__)


def test_the_version_is_one() -> None:
    from importlib.metadata import version

    assert version("smokescope") == smokescope.__version__
