"""What others build on does not change by accident: a name added or gone is a line changed here."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import fields
from types import ModuleType

import pytest

import smokescope
from smokescope.data.sets import PictureName
from smokescope.inference import Prediction, Region
from smokescope.inference.evaluation import Evaluator

NAMES = {
    "smokescope": {"SmokescopeError", "__version__", "load"},
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


CALLS: dict[Callable[..., object], str] = {
    smokescope.load: "model=None, device='auto', tiles='auto', engine=None",
    Evaluator.__init__: "self, segmenter, samples=0, *, scenes=None",
    Evaluator.add: "self, name, picture, mask, scene=None",
    Evaluator.finish: "self",
}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)
def test_what_the_docs_call_is_frozen(call: Callable[..., object]) -> None:
    named = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in inspect.signature(call).parameters.values()
    ]
    assert str(inspect.Signature(named)) == f"({CALLS[call]})"


def test_the_fields_of_what_comes_out_are_frozen() -> None:
    assert PictureName._fields == ("set", "name")
    assert [field.name for field in fields(Prediction)] == [
        "probability", "mask", "total", "aleatoric", "epistemic", "verdicts"
    ]  # fmt: skip
    assert [field.name for field in fields(Region)] == [
        "verdict", "box", "area", "share", "probability", "peak", "total", "aleatoric", "epistemic", "doubt",
        "polygon",
    ]  # fmt: skip


def test_the_version_is_one() -> None:
    from importlib.metadata import version

    assert version("smokescope") == smokescope.__version__
