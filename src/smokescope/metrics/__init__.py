"""The figures of the field, streaming and exact: counted, not stored, on any device and across processes.

`SmokeMetrics` gives them all. Each part is a pure function (the formula) under a small torchmetrics metric:

- `MeanSquaredError` (Eq. 12), `FBeta` (Eq. 13), `IntersectionOverUnion`, `CalibrationError` (Eq. 14)
- `UncertaintyQuality`, `OutOfDistribution`, `SamplingAgreement`: what the uncertainty maps are worth
- `Alarm`: what a camera's operator would see

`draw_scenes` says how far other scenes might move them, or what two models differ by.
"""

from smokescope.metrics.agreement import SamplingAgreement
from smokescope.metrics.alarm import Alarm
from smokescope.metrics.calibration import Bins, CalibrationError, Reliability
from smokescope.metrics.checks import UncertaintyMaps
from smokescope.metrics.f_beta import FBeta
from smokescope.metrics.intervals import Draws, Interval, difference, draw_scenes
from smokescope.metrics.iou import IntersectionOverUnion
from smokescope.metrics.out_of_distribution import OutOfDistribution
from smokescope.metrics.squared_error import MeanSquaredError
from smokescope.metrics.suite import Report, SmokeMetrics
from smokescope.metrics.uncertainty import RiskCoverage, UncertaintyQuality

__all__ = [
    "Alarm",
    "Bins",
    "CalibrationError",
    "Draws",
    "FBeta",
    "IntersectionOverUnion",
    "Interval",
    "MeanSquaredError",
    "OutOfDistribution",
    "Reliability",
    "Report",
    "RiskCoverage",
    "SamplingAgreement",
    "SmokeMetrics",
    "UncertaintyMaps",
    "UncertaintyQuality",
    "difference",
    "draw_scenes",
]
