import pytest
import torch

from smokescope.metrics import FBeta, MeanSquaredError, OutOfDistribution
from smokescope.metrics.checks import check_nats, check_pictures

P, Y = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(0)), torch.ones(2, 3, 4)


@pytest.mark.parametrize(
    ("probability", "mask"),
    [
        (P[0], Y[0]),  # no batch
        (P, Y[:1]),
        (P, Y[:, :, :3]),
        (P[:0], Y[:0]),
        (P[:, :0], Y[:, :0]),
        (P.unsqueeze(1), Y.unsqueeze(1)),
    ],
)
def test_odd_shapes_are_named(probability: torch.Tensor, mask: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="same shape"):
        MeanSquaredError().update(probability, mask)


@pytest.mark.parametrize("bad", [float("nan"), -1e-6, 1 + 1e-6, float("inf")])
def test_no_impossible_probability_is_binned(bad: float) -> None:
    probability = P.clone()
    probability[1, 2, 3] = bad
    metric = FBeta()
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        metric.update(probability, Y)
    assert metric.compute()["mean"] is None  # nothing of the batch was taken in


def test_a_probability_is_a_floating_point_number() -> None:
    with pytest.raises(ValueError, match="floating-point"):
        check_pictures(Y.int(), Y)


@pytest.mark.parametrize("mask", [Y.bool(), Y.int(), Y * 255, Y.to(torch.uint8), Y.half()])
def test_masks_may_be_bools_or_numbers(mask: torch.Tensor) -> None:
    mask[0, 0, 0] = 0
    smoke = check_pictures(P, mask)[1]
    assert smoke.dtype == torch.bool
    assert smoke.sum() == 23
    assert not smoke[0, 0, 0]


def test_soft_masks_are_smoke_above_one_half() -> None:
    soft = torch.tensor([[[0.0, 0.5, 0.51]], [[0.3, 0.5, 0.0]]])
    assert check_pictures(P[:, :1, :3], soft)[1].tolist() == [[[False, False, True]], [[False] * 3]]
    metric = OutOfDistribution()
    metric.update(soft, torch.tensor([0.1, 0.2]).view(2, 1, 1).expand_as(soft))
    assert metric.compute() == 1.0  # the second picture has no smoke


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_halves_are_computed_as_the_float32_that_they_stand_for(half: torch.dtype) -> None:
    metrics = FBeta(), FBeta()
    for metric, probability in zip(metrics, (P.to(half), P.to(half).float()), strict=True):
        metric.update(probability, P > 0.4)
    assert metrics[0].compute() == metrics[1].compute()


def test_double_stays_double() -> None:
    just_under = torch.full((1, 1, 1), 0.5, dtype=torch.float64).nextafter(
        torch.zeros(1, dtype=torch.float64)
    )
    assert check_pictures(just_under, Y[:1, :1, :1])[0].item() < 0.5


def test_nats_are_told_from_bits_and_rounding_is_cut() -> None:
    value = torch.tensor([[[-1e-8, 0.6931475]]])
    assert check_nats("total", value, value.shape).tolist() == [[[0.0, pytest.approx(0.693147, abs=1e-6)]]]
    for bad in (torch.ones(1, 1, 2), -torch.ones(1, 1, 2), torch.full((1, 1, 2), float("nan"))):
        with pytest.raises(ValueError, match="total must be in"):
            check_nats("total", bad, bad.shape)
    with pytest.raises(ValueError, match="pictures' shape"):
        check_nats("total", value, torch.Size([1, 2, 1]))


def test_lists_stay_float64_wherever_the_metric_is_moved() -> None:
    # torchmetrics would send an empty list as float32 after .to(), and the other processes' float64 as noise
    assert OutOfDistribution().to("cpu").half().dtype == torch.float64
