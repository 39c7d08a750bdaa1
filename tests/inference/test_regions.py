"""Regions: connected areas, their figures by brute force, and verdicts that follow the thresholds."""

import json
from collections import deque

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from smokescope.inference import Prediction, Region
from smokescope.models import VerdictSettings

Map = NDArray[np.float32]
EASY = VerdictSettings(unsure_above=0.3, smoke_above=0.6, epistemic_above=0.1, least_area=0.001)


def predict(probability: Map, epistemic: Map | float = 0.0, settings: VerdictSettings = EASY) -> Prediction:
    flat = np.zeros_like(probability)
    return Prediction(probability, probability > 0.5, flat + 0.4, flat + 0.3, flat + epistemic, settings)


def blank(height: int = 100, width: int = 120) -> Map:
    return np.full((height, width), 0.05, np.float32)


def test_a_region_has_its_areas_figures() -> None:
    probability, epistemic = blank(), blank()
    probability[10:20, 30:50], probability[12:14, 32:36] = 0.8, 0.95
    epistemic[10:20, 30:50], epistemic[10:12, 30:50] = 0.08, 0.03
    (region,) = predict(probability, epistemic).regions
    assert region.box == (30, 10, 50, 20)
    assert (region.area, region.share) == (200, 200 / 12_000)
    assert region.probability == pytest.approx((192 * 0.8 + 8 * 0.95) / 200)
    assert region.peak == pytest.approx(0.8)  # 12 pixels count, and only 8 are higher
    assert (region.total, region.aleatoric) == pytest.approx((0.4, 0.3))
    assert region.epistemic == pytest.approx(0.07)
    assert region.doubt == pytest.approx(0.07)  # all of it reaches the peak
    assert region.verdict == "smoke"
    assert set(region.polygon) == {(30, 10), (49, 10), (49, 19), (30, 19)}


def test_corners_touch_and_holes_do_not_part() -> None:
    probability = blank()
    probability[10:20, 10:20] = probability[20:30, 20:30] = 0.9
    probability[12:15, 12:15] = 0.0
    (region,) = predict(probability).regions
    assert (region.area, region.box) == (191, (10, 10, 30, 30))


@pytest.mark.parametrize(
    ("probability", "epistemic", "verdict"),
    [
        (0.3, 0.0, "nothing"),
        (0.31, 0.0, "unsure"),
        (0.59, 0.0, "unsure"),
        (0.61, 0.0, "smoke"),
        (0.61, 0.09, "smoke"),
        (0.61, 0.11, "unsure"),
    ],
)
def test_verdicts_follow_the_thresholds(probability: float, epistemic: float, verdict: str) -> None:
    chances = blank()
    chances[40:60, 40:60] = probability
    prediction = predict(chances, epistemic)
    assert prediction.verdict == verdict
    assert [region.verdict for region in prediction.regions] == ([verdict] if verdict != "nothing" else [])


@pytest.mark.parametrize(
    ("probability", "epistemic", "verdict"),
    [(0.25, 0.0, "nothing"), (0.75, 0.0, "unsure"), (0.8, 0.125, "smoke")],
)
def test_what_equals_a_threshold_does_not_exceed_it(
    probability: float, epistemic: float, verdict: str
) -> None:
    exact = VerdictSettings(unsure_above=0.25, smoke_above=0.75, epistemic_above=0.125, least_area=0.001)
    chances = blank()
    chances[40:60, 40:60] = probability
    assert predict(chances, epistemic, exact).verdict == verdict


def test_a_border_in_doubt_does_not_unsettle_what_it_surrounds() -> None:
    chances, doubt = blank(), blank()
    chances[40:60, 40:60], chances[45:55, 45:55] = 0.4, 0.9
    doubt[40:60, 40:60], doubt[45:55, 45:55] = 0.5, 0.01
    (region,) = predict(chances, doubt).regions
    assert region.verdict == "smoke"
    assert region.doubt == pytest.approx(0.01)
    assert region.epistemic == pytest.approx(0.3775)
    doubt[45:55, 45:55] = 0.2
    assert predict(chances, doubt).verdict == "unsure"


def test_a_few_hot_pixels_are_no_smoke_and_a_speck_is_nothing() -> None:
    chances = blank()
    chances[40:60, 40:60] = 0.4
    chances[50, 40:51] = 0.99  # one pixel below the least area of 12
    assert predict(chances).verdict == "unsure"
    chances[50, 51] = 0.99
    assert predict(chances).verdict == "smoke"

    speck = blank()
    speck[50, 40:51] = 0.99
    assert predict(speck).verdict == "nothing"
    speck[50, 51] = 0.99
    assert predict(speck).verdict == "smoke"


@pytest.mark.parametrize(("least_area", "size", "pixels"), [(0.0002, (100, 150), 3), (0.07, (10, 10), 7)])
def test_the_least_area_is_counted_exactly(least_area: float, size: tuple[int, int], pixels: int) -> None:
    settings = VerdictSettings(least_area=least_area)  # 0.07 * 100 is a little above 7 in floats
    chances = np.zeros(size, np.float32)
    chances[0, :pixels] = 1.0
    assert predict(chances, settings=settings).verdict == "smoke"
    chances[0, 0] = 0.0
    assert predict(chances, settings=settings).verdict == "nothing"


def test_smoke_comes_first_then_what_weighs_most() -> None:
    chances = blank()
    chances[0:50, 0:50] = 0.5  # unsure, and the largest
    chances[60:70, 0:10] = 0.9  # 90 pixels to expect
    chances[60:64, 20:50] = 0.7  # 84
    chances[80:99, 60:65] = 0.99  # 94
    order = [(region.verdict, region.box[:2]) for region in predict(chances).regions]
    assert order == [("smoke", (60, 80)), ("smoke", (0, 60)), ("smoke", (20, 60)), ("unsure", (0, 0))]


def test_a_line_has_a_polygon_with_an_inside() -> None:
    chances = blank()
    chances[50, 20:80] = 0.9
    (region,) = predict(chances).regions
    assert region.polygon == [(20, 50), (80, 50), (80, 51), (20, 51)]


def test_a_polygon_is_short_and_close() -> None:
    y, x = np.mgrid[:400, :600]
    inside = ((x - 300) / 200) ** 2 + ((y - 200) / 90) ** 2 < 1
    (region,) = predict(np.where(inside, 0.9, 0.0).astype(np.float32)).regions
    assert len(region.polygon) < 40
    drawn = np.zeros((400, 600), np.uint8)
    cv2.fillPoly(drawn, [np.array(region.polygon)], 1)
    assert (drawn & inside).sum() / (drawn | inside).sum() > 0.96


def test_all_is_plain_json() -> None:
    chances = blank()
    chances[10:20, 30:50] = 0.9
    told = json.loads(json.dumps(predict(chances).to_dict(), allow_nan=False))
    assert (told["width"], told["height"], told["verdict"]) == (120, 100, "smoke")
    assert told["share"] == pytest.approx(200 / 12_000, abs=1e-6)
    assert told["mean"]["total"] == pytest.approx(0.4)
    (region,) = told["regions"]
    assert region["box"] == [30, 10, 50, 20]
    assert region["polygon"][0] == list(predict(chances).regions[0].polygon[0])
    assert set(region) == set(Region.__dataclass_fields__)


def test_regions_are_found_once() -> None:
    prediction = predict(blank())
    assert prediction.regions is prediction.regions


@given(st.integers(0, 2**32 - 1))
def test_regions_are_what_a_flood_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chances = rng.random((12, 17), np.float32)
    doubt = rng.random((12, 17), np.float32)
    settings = VerdictSettings(unsure_above=0.6, smoke_above=0.8, epistemic_above=0.5, least_area=0.02)
    found = predict(chances, doubt, settings).regions
    expected = [flood for flood in floods(chances > 0.6) if len(flood) >= 5]
    assert len(found) == len(expected)
    for region in found:
        (area,) = (flood for flood in expected if box(flood) == region.box and len(flood) == region.area)
        rows, columns = np.array(area).T
        assert region.probability == pytest.approx(chances[rows, columns].mean(), abs=1e-6)
        assert region.peak == pytest.approx(sorted(chances[rows, columns])[-5])
        top = np.argsort(chances[rows, columns])[-5:]
        assert region.doubt == pytest.approx(doubt[rows, columns][top].mean(), abs=1e-6)
        assert region.epistemic == pytest.approx(doubt[rows, columns].mean(), abs=1e-6)
        assert (region.verdict == "smoke") == (region.peak > 0.8 and region.doubt <= 0.5)


def floods(above: NDArray[np.bool_]) -> list[list[tuple[int, int]]]:
    left = set(zip(*map(np.ndarray.tolist, np.nonzero(above)), strict=True))
    found = []
    while left:
        flood, waiting = [], deque([left.pop()])
        while waiting:
            y, x = waiting.popleft()
            flood.append((y, x))
            near = {(y + dy, x + dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)} & left
            left -= near
            waiting.extend(near)
        found.append(flood)
    return found


def box(flood: list[tuple[int, int]]) -> tuple[int, int, int, int]:
    ys, xs = zip(*flood, strict=True)
    return min(xs), min(ys), max(xs) + 1, max(ys) + 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"unsure_above": 0.6},
        {"smoke_above": 1.1},
        {"unsure_above": float("nan")},
        {"epistemic_above": -0.1},
        {"least_area": -1.0},
    ],
)
def test_thresholds_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="|".join(wrong)):
        VerdictSettings(**wrong)
