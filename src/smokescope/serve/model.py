"""What the model in use says of itself: nothing of where it lies."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import BaseModel, Field

from smokescope import __version__
from smokescope.inference import Segmenter
from smokescope.inference.engines.exported import ExportedEngine
from smokescope.inference.identity import weights_checksum
from smokescope.serve.answers import ModelName


class Verdicts(BaseModel):
    """Thresholds by which a region is called smoke, or handed to a person; see docs/predict.md."""

    unsure_above: float
    smoke_above: float
    epistemic_above: float
    least_area: float


class ModelAnswer(ModelName):
    """The model in use."""

    architecture: str
    parameters: Annotated[int | None, Field(description="None for exported models.")]
    temperature: float
    input: Annotated[dict[str, object], Field(description="How pictures are resized for the network.")]
    verdicts: Verdicts
    engine: Annotated[str, Field(description="The inference engine.")]
    device: Annotated[str, Field(description="The device it computes on.")]
    smokescope: Annotated[str, Field(description="The version of the service.")]


def describe(segmenter: Segmenter, file: Path | None) -> ModelAnswer:
    """Describe a model.

    Args:
        segmenter: That holds it.
        file: That it came from; None if it is the embedded one.
    """
    engine = segmenter.engine
    return ModelAnswer(
        name="embedded" if file is None else file.name,
        sha256=weights_checksum(engine, file),
        threshold=engine.threshold,
        input=asdict(engine.input),
        verdicts=Verdicts.model_validate(asdict(engine.verdicts)),
        engine=engine.name,
        device=engine.device,
        smokescope=__version__,
        **_network(segmenter),
    )


class _Network(TypedDict):
    architecture: str
    parameters: int | None
    temperature: float


def _network(segmenter: Segmenter) -> _Network:
    """What only the model itself knows, or its exported file's card."""
    if isinstance(segmenter.engine, ExportedEngine):
        card = segmenter.engine.card
        told = card.metadata.get("architecture", "unknown")
        return _Network(architecture=told, parameters=None, temperature=card.temperature)
    pipeline = segmenter.pipeline
    return _Network(
        architecture=pipeline.network.settings.architecture,
        parameters=sum(each.numel() for each in pipeline.parameters()),
        temperature=pipeline.temperature,
    )
