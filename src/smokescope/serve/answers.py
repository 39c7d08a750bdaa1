"""What is answered: the JSON of a prediction, and its schema for the OpenAPI document."""

import base64
import json
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from smokescope.inference import Prediction
from smokescope.serve.engine import Timings
from smokescope.serve.maps import all_pngs

Share = Annotated[float, Field(ge=0, le=1)]
Nats = Annotated[float, Field(ge=0, le=0.7, description="Mean uncertainty in nats, at most 0.693 (ln 2).")]
Png = Annotated[str, Field(description="An 8-bit grey PNG in base64.")]


class RegionAnswer(BaseModel):
    """A connected area that may be smoke; pixels are the picture's own, upright."""

    verdict: Literal["smoke", "unsure"]
    box: Annotated[
        list[int], Field(min_length=4, max_length=4, description="Left, top, right and bottom, in pixels.")
    ]
    area: Annotated[int, Field(ge=1, description="Area in pixels.")]
    share: Share
    probability: Annotated[Share, Field(description="Mean probability over the region.")]
    peak: Share
    total: Nats
    aleatoric: Nats
    epistemic: Nats
    doubt: Annotated[Nats, Field(description="Epistemic uncertainty at the peak, which the verdict uses.")]
    polygon: Annotated[list[tuple[int, int]], Field(min_length=3, description="Outline as x and y pairs.")]


class Means(BaseModel):
    """Means over the whole picture."""

    probability: Share
    total: Nats
    aleatoric: Nats
    epistemic: Nats


class Milliseconds(BaseModel):
    """Where the time went."""

    upload: float
    wait: Annotated[float, Field(description="Time in the queue and waiting for the model.")]
    decode: float
    predict: Annotated[float, Field(description="Time of the whole batch in the model.")]
    batch: Annotated[int, Field(ge=1, description="Number of pictures in the batch.")]


class Maps(BaseModel):
    """White stands for a probability of 1, for ln 2 nats, and for 0.1 nats and more of epistemic."""

    probability: Png
    total: Png
    aleatoric: Png
    epistemic: Png


class ModelName(BaseModel):
    """Which model answered."""

    name: str
    sha256: str | None
    threshold: Share


class Answer(BaseModel):
    """What is said of a picture."""

    width: Annotated[int, Field(ge=1)]
    height: Annotated[int, Field(ge=1)]
    verdict: Literal["smoke", "unsure", "nothing"]
    share: Annotated[Share, Field(description="Share of the picture that the mask covers.")]
    mean: Means
    regions: list[RegionAnswer]
    model: ModelName
    timings: Milliseconds
    maps: Annotated[Maps | None, Field(description="Given with ?maps=all only.")] = None


def json_answer(
    prediction: Prediction, timings: Timings, upload: float, model: ModelName, *, maps: bool, side: int | None
) -> bytes:
    """The JSON of a prediction, as `Answer` describes it.

    Args:
        prediction: What to tell.
        timings: Times that the engine took.
        upload: Seconds that the picture took to arrive.
        model: Which made the prediction.
        maps: Whether all maps are to be in it.
        side: The longest that a map's longer side may be.
    """
    told = prediction.to_dict() | {
        "model": model.model_dump(),
        "timings": {
            "upload": _milliseconds(upload),
            "wait": _milliseconds(timings.wait),
            "decode": _milliseconds(timings.decode),
            "predict": _milliseconds(timings.predict),
            "batch": timings.batch,
        },
    }
    if maps:
        pngs = all_pngs(prediction, side)
        told["maps"] = {name: base64.b64encode(png).decode() for name, png in pngs.items()}
    return json.dumps(told, allow_nan=False, separators=(",", ":")).encode()


def _milliseconds(seconds: float) -> float:
    return round(1000 * seconds, 2)
