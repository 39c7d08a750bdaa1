import json

import pytest
import torch
from torch import Tensor

from smokescope.metrics import (
    CalibrationError,
    FBeta,
    IntersectionOverUnion,
    MeanSquaredError,
    SamplingAgreement,
    SmokeMetrics,
    UncertaintyQuality,
)
from smokescope.metrics.checks import CheckedMaps


def random_maps(shape: torch.Size, seed: int) -> CheckedMaps:
    total, share = torch.rand(2, *shape, generator=torch.Generator().manual_seed(seed))
    return CheckedMaps(0.69 * total, 0.69 * total * share, 0.69 * total * (1 - share))


@pytest.fixture
def batch() -> tuple[Tensor, Tensor]:
    """Six pictures, of which the second and the last have no smoke."""
    generator = torch.Generator().manual_seed(0)
    mask = torch.rand(6, 20, 30, generator=generator) < 0.2
    mask[[1, 5]] = False
    return (0.6 * torch.rand(mask.shape, generator=generator) + 0.4 * mask).clamp(0, 1), mask


NAMES = {
    "images": None,
    "negatives": None,
    "mse": None,
    "f_beta": ["mean", "max", "adaptive", "fixed"],
    "iou": ["image", "pooled"],
    "ece": ["image", "pooled", "smoke"],
    "uncertainty": [
        *("error_auroc", "aurc", "false_positive_auroc", "ood_auroc"),
        *("total_r", "aleatoric_r", "epistemic_r", "mse"),
    ],
    "entropy": ["error_auroc", "aurc", "false_positive_auroc"],
    "alarm": ["detection_rate", "false_alarm_rate", "auroc", "fpr95", "shipped"],
}


def test_names_are_those_that_evaluate_writes() -> None:
    report = SmokeMetrics().compute()
    assert {name: list(value) if isinstance(value, dict) else None for name, value in report.items()} == NAMES
    assert list(report["alarm"]["shipped"]) == ["detection_rate", "false_alarm_rate"]


def test_without_pictures_all_is_null() -> None:
    report = SmokeMetrics(0.4).compute()
    assert (report["images"], report["negatives"], report["mse"]) == (0, 0, None)
    groups = (
        report["f_beta"],
        report["iou"],
        report["ece"],
        report["uncertainty"],
        report["entropy"],
        report["alarm"]["shipped"],
    )
    assert all(value is None for group in groups for value in group.values())


def test_pictures_without_smoke_count_in_alarm_and_ood_only(batch: tuple[Tensor, Tensor]) -> None:
    probability, mask = batch
    maps, sampled = random_maps(mask.shape, 1), random_maps(mask.shape, 2)
    suite = SmokeMetrics(shipped_threshold=0.9)
    suite.update(probability, mask, maps, sampled)
    report = suite.compute()
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert (report["images"], report["negatives"]) == (4, 2)

    smoke = [0, 2, 3, 4]
    squared_error, f_beta, iou, calibration = (
        MeanSquaredError(),
        FBeta(),
        IntersectionOverUnion(),
        CalibrationError(),
    )
    for metric in (squared_error, f_beta, iou, calibration):
        metric.update(probability[smoke], mask[smoke])
    assert report["mse"] == squared_error.compute()
    assert report["f_beta"] == f_beta.compute()
    assert report["iou"] == iou.compute()
    assert report["ece"] == calibration.compute()
    quality, agreement = UncertaintyQuality(), SamplingAgreement()
    quality.update(probability[smoke], mask[smoke], maps.total[smoke], maps.epistemic[smoke])
    agreement.update(CheckedMaps(*(m[smoke] for m in maps)), CheckedMaps(*(m[smoke] for m in sampled)))
    means = maps.epistemic.mean((1, 2))
    above = sum((means[n] > means[s]).item() for n in (1, 5) for s in smoke) / 8
    assert report["uncertainty"] == {**quality.compute(), "ood_auroc": above, **agreement.compute()}
    alone = UncertaintyQuality()
    p = probability[smoke].double()
    entropy = -(p * p.log() + (1 - p) * (1 - p).log()).nan_to_num(0)
    alone.update(probability[smoke], mask[smoke], entropy, entropy)
    assert report["entropy"] == pytest.approx(
        alone.compute(), abs=1e-3
    )  # rounding moves some to the next bin

    alarm = report["alarm"]
    assert (alarm["detection_rate"], alarm["false_alarm_rate"]) == (1.0, 1.0)  # 0.6 at most, yet above 0.5
    assert (alarm["shipped"]["detection_rate"], alarm["shipped"]["false_alarm_rate"]) == (1.0, 0.0)
    assert (alarm["auroc"], alarm["fpr95"]) == (1.0, 0.0)


def test_batches_of_negatives_alone(batch: tuple[Tensor, Tensor]) -> None:
    probability, mask = batch
    suite = SmokeMetrics()
    suite.update(probability, torch.zeros_like(mask), random_maps(mask.shape, 1))
    report = suite.compute()
    assert (report["images"], report["negatives"], report["mse"]) == (0, 6, None)
    assert report["alarm"]["false_alarm_rate"] == 1.0
    assert report["alarm"]["detection_rate"] is None
    assert report["uncertainty"]["ood_auroc"] is None


def test_maps_are_optional(batch: tuple[Tensor, Tensor]) -> None:
    suite = SmokeMetrics()
    suite.update(*batch)
    report = suite.compute()
    assert set(report["uncertainty"].values()) == {None}
    assert report["mse"] is not None
    suite.update(*batch, maps=random_maps(batch[1].shape, 1))
    uncertainty = suite.compute()["uncertainty"]
    assert uncertainty["aurc"] is not None
    assert uncertainty["total_r"] is None
    with pytest.raises(ValueError, match="need the sampling-free maps"):
        suite.update(*batch, sampled=random_maps(batch[1].shape, 1))


def test_samples_are_compared_with_one_pass_where_maps_are_of_more(batch: tuple[Tensor, Tensor]) -> None:
    probability, mask = batch
    maps, sampled, one_pass = (random_maps(mask.shape, seed) for seed in (1, 2, 3))
    suite, agreement = SmokeMetrics(), SamplingAgreement()
    suite.update(probability, mask, maps, sampled, one_pass)
    smoke = mask.flatten(1).any(1)
    agreement.update(CheckedMaps(*(m[smoke] for m in one_pass)), CheckedMaps(*(m[smoke] for m in sampled)))
    assert suite.compute()["uncertainty"].items() >= agreement.compute().items()


def test_reset_forgets(batch: tuple[Tensor, Tensor]) -> None:
    suite = SmokeMetrics()
    nothing = suite.compute()
    suite.update(*batch, maps=random_maps(batch[1].shape, 1))
    assert suite.compute() != nothing
    suite.reset()
    assert suite.compute() == nothing


def test_a_bad_batch_leaves_no_trace(batch: tuple[Tensor, Tensor]) -> None:
    suite = SmokeMetrics()
    nothing = suite.compute()
    bad = random_maps(batch[1].shape, 1)._replace(aleatoric=torch.ones(batch[1].shape))
    for maps, sampled in ((random_maps(torch.Size([6, 20, 31]), 1), None), (bad, bad)):
        with pytest.raises(ValueError, match="uncertainty"):
            suite.update(*batch, maps, sampled)
        assert suite.compute() == nothing
