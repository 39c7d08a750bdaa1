"""Every figure of the field but speed, from one stream of pictures.

>>> import torch
>>> metrics = SmokeMetrics()
>>> metrics.update(torch.rand(2, 48, 64), torch.rand(2, 48, 64) > 0.9)
>>> metrics.compute()["images"]
2
"""

from collections.abc import Iterator, Mapping
from typing import Self, TypedDict

from torch import Tensor, nn

from smokescope.metrics.agreement import AgreementFigures, SamplingAgreement
from smokescope.metrics.alarm import Alarm, AlarmFigures
from smokescope.metrics.base import StreamingMetric
from smokescope.metrics.calibration import CalibrationError, CalibrationFigures
from smokescope.metrics.checks import CheckedMaps, UncertaintyMaps, check_maps, check_pictures
from smokescope.metrics.f_beta import FBeta, FBetaFigures
from smokescope.metrics.iou import IntersectionOverUnion, IouFigures
from smokescope.metrics.out_of_distribution import OutOfDistribution
from smokescope.metrics.squared_error import MeanSquaredError
from smokescope.metrics.uncertainty import UncertaintyFigures, UncertaintyQuality
from smokescope.uncertainty import entropy_of_probability


class UncertaintyReport(UncertaintyFigures, AgreementFigures):
    """Figures on uncertainty; `ood_auroc` needs negatives, the last four need sampled maps, else None."""

    ood_auroc: float | None


class Report(TypedDict):
    """What `evaluate --json` writes, except `speed`. An undefined figure is None, never NaN.

    `entropy` holds three of the figures in `uncertainty`, computed with the entropy of the probability in
    place of both maps. It needs no uncertainty net, and so shows what the maps add.
    """

    images: int
    negatives: int
    mse: float | None
    f_beta: FBetaFigures
    iou: IouFigures
    ece: CalibrationFigures
    uncertainty: UncertaintyReport
    entropy: UncertaintyFigures
    alarm: AlarmFigures


Figures = dict[str, float | int | None]


def flatten(report: Report) -> Figures:
    """All figures of a report in one flat dictionary, named like `f_beta/mean`."""

    def walk(values: Mapping[str, object], prefix: str) -> Figures:
        found: Figures = {}
        for name, value in values.items():
            if isinstance(value, Mapping):
                found |= walk(value, f"{prefix}{name}/")
            elif value is None or isinstance(value, int | float):
                found[prefix + name] = value
        return found

    return walk(report, "")


class SmokeMetrics(nn.Module):
    """All figures together.

    A picture whose mask is empty is a negative: it counts in `alarm` and in `ood_auroc` only. `images` is the
    number of pictures with smoke, `negatives` that of the others. Each part is a torchmetrics metric that
    reduces across processes when computed, so every process must call `compute`.

    Args:
        shipped_threshold: Threshold of the model file, for `alarm.shipped`; without it those are None.
    """

    def __init__(self, shipped_threshold: float | None = None) -> None:
        super().__init__()
        self.squared_error = MeanSquaredError()
        self.f_beta = FBeta()
        self.iou = IntersectionOverUnion()
        self.calibration = CalibrationError()
        self.uncertainty = UncertaintyQuality()
        self.entropy = UncertaintyQuality()
        self.out_of_distribution = OutOfDistribution()
        self.agreement = SamplingAgreement()
        self.alarm = Alarm(shipped_threshold)

    def update(
        self,
        probability: Tensor,
        mask: Tensor,
        maps: UncertaintyMaps | None = None,
        sampled: UncertaintyMaps | None = None,
        one_pass: UncertaintyMaps | None = None,
    ) -> None:
        """Take in pictures with and without smoke.

        Args:
            probability: Probability of smoke in [0, 1], [N, H, W].
            mask: Ground truth [N, H, W], smoke where above 0.5; all 0 for a picture without smoke.
            maps: Three uncertainty maps predicted with the probability, each [N, H, W] in nats.
            sampled: The same maps from Monte Carlo samples, to compare `maps` with.
            one_pass: Maps to compare `sampled` with instead, if `maps` come from more than one pass.

        Raises:
            ValueError: Shapes differ, values are out of range, or `sampled` came without `maps`.
        """
        if sampled is not None and maps is None:
            raise ValueError("sampled maps need the sampling-free maps that they are compared with")
        # all of a batch is checked before any of it counts
        probability, mask = check_pictures(probability, mask)
        maps = None if maps is None else check_maps(maps, mask.shape)
        sampled = None if sampled is None else check_maps(sampled, mask.shape, "sampled ")
        one_pass = maps if one_pass is None else check_maps(one_pass, mask.shape, "one pass's ")

        self.alarm.update(probability, mask)
        if maps is not None:
            self.out_of_distribution.update(mask, maps.epistemic)

        smoke = mask.flatten(1).any(1)
        if not smoke.any():
            return
        if not smoke.all():
            probability, mask = probability[smoke], mask[smoke]
            maps, sampled, one_pass = (_select(each, smoke) for each in (maps, sampled, one_pass))
        for metric in (self.squared_error, self.f_beta, self.iou, self.calibration):
            metric.update(probability, mask)
        if maps is not None:
            self.uncertainty.update(probability, mask, maps.total, maps.epistemic)
            entropy = entropy_of_probability(probability)
            self.entropy.update(probability, mask, entropy, entropy)
        if one_pass is not None and sampled is not None:
            self.agreement.update(one_pass, sampled)

    def merge(self, other: Self) -> None:
        """Add what another instance, with the same threshold and device, has seen."""
        for mine, theirs in zip(self.parts(), other.parts(), strict=True):
            mine.merge_state(theirs)

    def compute(self) -> Report:
        """Return every figure, over all processes."""
        images, negatives = self.alarm.pictures()
        return {
            "images": images,
            "negatives": negatives,
            "mse": self.squared_error.compute(),
            "f_beta": self.f_beta.compute(),
            "iou": self.iou.compute(),
            "ece": self.calibration.compute(),
            "uncertainty": {
                **self.uncertainty.compute(),
                "ood_auroc": self.out_of_distribution.compute(),
                **self.agreement.compute(),
            },
            "entropy": self.entropy.compute(),
            "alarm": self.alarm.compute(),
        }

    def reset(self) -> None:
        """Forget every picture."""
        for metric in self.parts():
            metric.reset()

    def parts(self) -> Iterator[StreamingMetric]:
        """The metrics, always in the same order."""
        return (each for each in self.children() if isinstance(each, StreamingMetric))


def _select(maps: CheckedMaps | None, pictures: Tensor) -> CheckedMaps | None:
    return None if maps is None else CheckedMaps(*(values[pictures] for values in maps))
