"""The figures of single pictures, a row of a table each: where a model's average comes from."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

import torch
from torch import Tensor

from smokescope.data.comparison import Status
from smokescope.data.sets import PictureName
from smokescope.data.tables import to_csv
from smokescope.metrics.alarm import is_detected, peak_near_smoke, picture_score
from smokescope.metrics.base import DECISION, overlap
from smokescope.metrics.calibration import calibration_error, count_bins
from smokescope.metrics.f_beta import f_beta
from smokescope.metrics.iou import iou
from smokescope.metrics.squared_error import squared_error
from smokescope.uncertainty import Decomposition


@dataclass(frozen=True, kw_only=True)
class PictureFigures:
    """One picture's figures; None where a figure has no meaning for it.

    Attributes:
        set: The data set.
        name: The picture's name in it.
        scene: "seen" or "unseen" in training, where that is known.
        smoke: Share of the picture that is smoke; 0 for a picture without.
        mse: Mean squared error of this picture alone; None without smoke, as are the next three.
        f_beta: F-measure at 0.5.
        iou: Intersection over union at 0.5.
        ece: Expected calibration error of the top label.
        max_probability: Highest probability.
        score: The probability that 0.02 % of the pixels reach.
        flagged: 1 if the score is above 0.5.
        detected: 1 if flagged, with a pixel above 0.5 on or near the smoke; None without smoke.
        total: Mean total uncertainty, nats.
        aleatoric: Mean aleatoric uncertainty, nats.
        epistemic: Mean epistemic uncertainty, nats.
    """

    set: str
    name: str
    scene: Status | None
    smoke: float
    mse: float | None = None
    f_beta: float | None = None
    iou: float | None = None
    ece: float | None = None
    max_probability: float
    score: float
    flagged: int
    detected: int | None = None
    total: float
    aleatoric: float
    epistemic: float


def measure_row(
    picture: PictureName, scene: Status | None, maps: Decomposition, smoke: Tensor
) -> PictureFigures:
    """Measure one picture, from its maps and mask [1, H, W]."""
    probability = maps.probability
    score = picture_score(probability)
    agreement, detected = dict[str, float](), None
    if smoke.any():
        flagged = probability > DECISION
        detected = int(is_detected(score, peak_near_smoke(probability, smoke), DECISION))
        counts = overlap(flagged, smoke)
        top = count_bins(torch.maximum(probability, 1 - probability)[0], (flagged == smoke)[0])
        agreement = {
            "mse": float(squared_error(probability, smoke)),
            "f_beta": float(f_beta(counts)),
            "iou": float(iou(counts)),
            "ece": float(calibration_error(top)),
        }
    return PictureFigures(
        set=picture.set,
        name=picture.name,
        scene=scene,
        smoke=_mean(smoke),
        **agreement,
        max_probability=float(probability.max()),
        score=float(score),
        flagged=int(score > DECISION),
        detected=detected,
        total=_mean(maps.total),
        aleatoric=_mean(maps.aleatoric),
        epistemic=_mean(maps.epistemic),
    )


def rows_to_csv(rows: Sequence[PictureFigures]) -> bytes:
    """A table with one row per picture; a figure without meaning is an empty cell."""
    return to_csv([field.name for field in fields(PictureFigures)], (asdict(row).values() for row in rows))


def _mean(values: Tensor) -> float:
    return float(values.double().mean())
