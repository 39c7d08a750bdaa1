import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from torch import Tensor

from smokescope.metrics import Alarm
from smokescope.metrics.alarm import AlarmFigures, dilate, peak_near_smoke, picture_score


def picture(smoke: tuple[int, int] | None = None, size: int = 200) -> tuple[Tensor, Tensor]:
    """A blank picture, of which 8 pixels of 200 x 200 must be lit, and a mask with at most one of smoke."""
    mask = torch.zeros(1, size, size, dtype=torch.bool)
    if smoke is not None:
        mask[0, smoke[0], smoke[1]] = True
    return torch.zeros(1, size, size), mask


def lit(probability: Tensor, row: int, column: int, pixels: int, value: float = 0.9) -> Tensor:
    probability[0, row, column : column + pixels] = value
    return probability


def figures(probability: Tensor, mask: Tensor, shipped_threshold: float | None = None) -> AlarmFigures:
    metric = Alarm(shipped_threshold)
    metric.update(probability, mask)
    return metric.compute()


@pytest.mark.parametrize(
    ("height", "width", "needed"),
    [(1, 1, 1), (50, 100, 1), (50, 101, 2), (100, 100, 2), (480, 480, 47), (150, 100, 3), (3, 5, 1)],
)
def test_score_is_what_that_many_pixels_reach(height: int, width: int, needed: int) -> None:
    """ceil of 0.02 % of the pixels; 0.0002 * 150 * 100 is above 3 in floats and must still be 3."""
    order = torch.randperm(height * width, generator=torch.Generator().manual_seed(0))
    probability = (order.double() / order.numel()).view(1, height, width)
    assert picture_score(probability).item() == probability.flatten().sort(descending=True).values[needed - 1]


@pytest.mark.parametrize(("pixels", "alarm"), [(7, 0.0), (8, 1.0)])
def test_flagged_from_eight_pixels_of_40000_on(pixels: int, alarm: float) -> None:
    probability, mask = picture()
    assert figures(lit(probability, 3, 4, pixels), mask)["false_alarm_rate"] == alarm
    probability, mask = picture(smoke=(3, 4))
    assert figures(lit(probability, 3, 4, pixels), mask)["detection_rate"] == alarm


def test_half_does_not_exceed_half() -> None:
    probability, mask = picture()
    assert figures(lit(probability, 3, 4, 50, value=0.5), mask)["false_alarm_rate"] == 0
    probability, mask = picture(smoke=(100, 100))
    seven = lit(lit(probability, 3, 4, 50, value=0.5), 100, 100, 7)  # on the smoke, one too few of 40,000
    assert figures(seven, mask)["detection_rate"] == 0


@pytest.mark.parametrize(
    ("row", "column", "near"), [(102, 102, 1.0), (98, 91, 1.0), (103, 100, 0.0), (100, 103, 0.0)]
)
def test_detection_needs_a_pixel_within_one_percent_of_the_smoke(row: int, column: int, near: float) -> None:
    """1 % of 200 is 2 pixels, corners included; the eight lit pixels lie in one row."""
    probability, mask = picture(smoke=(100, 100))
    assert figures(lit(probability, row, column, 8), mask)["detection_rate"] == near


def test_a_pixel_near_smoke_must_exceed_the_threshold_itself() -> None:
    probability, mask = picture(smoke=(100, 100))
    probability = lit(lit(probability, 3, 4, 20), 100, 100, 1, value=0.5)
    found = figures(probability, mask, shipped_threshold=0.4)
    assert found["detection_rate"] == 0
    assert found["shipped"]["detection_rate"] == 1


def test_shipped_threshold_is_met_in_the_pictures_own_precision() -> None:
    probability, mask = picture()
    probability = lit(probability, 3, 4, 20, value=0.3)  # float32's 0.3 is above float64's
    assert figures(probability, mask, shipped_threshold=0.3)["shipped"]["false_alarm_rate"] == 0
    assert figures(probability, mask, shipped_threshold=0.29)["shipped"]["false_alarm_rate"] == 1


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_dilation_equals_scipy(height: int, width: int, radius: int, seed: int) -> None:
    mask = torch.rand(2, height, width, generator=torch.Generator().manual_seed(seed)) < 0.05
    before = mask.clone()
    expected = ndimage.maximum_filter(mask.numpy(), size=(1, 2 * radius + 1, 2 * radius + 1), mode="constant")
    assert (dilate(mask, radius).numpy() == expected).all()
    assert torch.equal(mask, before)


@pytest.mark.parametrize(
    ("shape", "radius"), [((10, 30), 1), ((10, 149), 1), ((151, 10), 2), ((480, 640), 6)]
)
def test_near_is_one_percent_of_the_longer_side(shape: tuple[int, int], radius: int) -> None:
    mask = torch.zeros(1, *shape, dtype=torch.bool)
    mask[0, 0, 0] = True
    side = max(shape)
    along = (0, slice(None), 0) if shape[0] == side else (0, 0, slice(None))
    for distance, expected in ((radius, 0.7), (radius + 1, 0.0)):
        probability = torch.zeros(1, *shape)
        probability[along][distance] = 0.7
        assert peak_near_smoke(probability, mask).item() == pytest.approx(expected)


def test_scores_are_ranked() -> None:
    metric = Alarm()
    for value, smoke in ((0.9, True), (0.6, True), (0.2, True), (0.6, False), (0.1, False)):
        probability, mask = picture(smoke=(3, 4) if smoke else None)
        metric.update(lit(probability, 3, 4, 8, value), mask)
    found = metric.compute()
    assert found["auroc"] == pytest.approx((1 + 1 + 0.5 + 1 + 0 + 1) / 6)
    assert found["fpr95"] == pytest.approx(0.5)  # all three are needed, down to 0.2
    assert found["detection_rate"] == pytest.approx(2 / 3)
    assert found["false_alarm_rate"] == pytest.approx(1 / 2)
    assert metric.pictures() == (3, 2)


def test_fpr95_lets_one_picture_in_twenty_go() -> None:
    metric = Alarm()
    for value, smoke in (
        *[(0.9, True)] * 18,
        (0.3, True),
        (0.1, True),
        (0.5, False),
        (0.2, False),
        (0.05, False),
    ):
        probability, mask = picture(smoke=(3, 4) if smoke else None)
        metric.update(lit(probability, 3, 4, 8, value), mask)
    assert metric.compute()["fpr95"] == pytest.approx(1 / 3)


def test_none_without_negatives_or_smoke_or_threshold() -> None:
    probability, mask = picture(smoke=(3, 4))
    found = figures(probability, mask)
    assert [found["false_alarm_rate"], found["auroc"], found["fpr95"]] == [None] * 3
    assert found["detection_rate"] == 0
    assert found["shipped"] == {"detection_rate": None, "false_alarm_rate": None}
    assert figures(*picture())["detection_rate"] is None
    assert Alarm().compute()["false_alarm_rate"] is None
