"""What the model in use says of itself: nothing of where it lies."""

from importlib.resources import as_file
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from smokescope import __version__
from smokescope.checkpoints.embedded import embedded_weights
from smokescope.checkpoints.files import summarise
from smokescope.inference import Segmenter
from smokescope.serve.answers import ModelName


class Verdicts(BaseModel):
    """By which a region is called smoke, or handed to a person; see docs/predict.md."""

    unsure_above: float
    smoke_above: float
    epistemic_above: float
    least_area: float


class ModelAnswer(ModelName):
    """The model in use."""

    architecture: str
    parameters: int
    temperature: float
    input: Annotated[dict[str, object], Field(description="How a picture is brought to the network.")]
    verdicts: Verdicts
    device: str
    smokescope: Annotated[str, Field(description="The version of the service.")]


def describe(segmenter: Segmenter, file: Path | None) -> ModelAnswer:
    """Describe a model.

    Args:
        segmenter: That holds it.
        file: That it came from; None if it is the embedded one.
    """
    pipeline = segmenter.pipeline
    return ModelAnswer(
        name="embedded" if file is None else file.name,
        sha256=_metadata(file).get("sha256"),
        threshold=pipeline.threshold,
        architecture=pipeline.network.settings.architecture,
        parameters=sum(each.numel() for each in pipeline.parameters()),
        temperature=pipeline.temperature,
        input=pipeline.input.to_dict(),
        verdicts=Verdicts.model_validate(pipeline.verdicts.to_dict()),
        device=str(segmenter.device),
        smokescope=__version__,
    )


def _metadata(file: Path | None) -> dict[str, str]:
    if file is not None:
        return summarise(file).metadata
    embedded = embedded_weights()
    if embedded is None:
        return {}
    with as_file(embedded) as path:
        return summarise(path).metadata
