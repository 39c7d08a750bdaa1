"""The chart of scores: fixed, so that what is far from an alarm looks so."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smokescope.report.axes import BOTTOM, LEFT, RIGHT, TOP
from smokescope.report.charts import colour_of
from smokescope.report.colours import PROBABILITY
from smokescope.report.score_chart import BINS, LOWEST, count_scores, score_chart

SVG = "{http://www.w3.org/2000/svg}"


def bars(root: ElementTree.Element, colour: str) -> list[tuple[float, float]]:
    """Where a kind's bars begin, and how high they are; swatches of the legend are above the chart."""
    found = (e for e in root.iter(SVG + "rect") if e.get("fill") == colour)
    numbers = [
        (float(e.get("x", "nan")), float(e.get("y", "nan")), float(e.get("height", "nan"))) for e in found
    ]
    return [(x, height) for x, y, height in numbers if y + height > TOP]


def test_harmless_scores_are_one_bar_at_the_left_end() -> None:
    root = ElementTree.fromstring(score_chart([5e-8, 1e-7, 4e-7, 0.0], []))
    ((x, height),) = bars(root, "currentColor")
    assert x == pytest.approx(LEFT, abs=1)
    assert height == pytest.approx(BOTTOM - TOP)
    texts = [e.text or "" for e in root.iter(SVG + "text")]
    assert {"≤ 1e-6", "0.5", "without smoke"} <= set(texts)
    assert "with smoke" not in texts
    assert any("log scale" in words for words in texts)


def test_pictures_with_smoke_stand_beyond_the_line() -> None:
    """As shares of their own number, however few they are."""
    root = ElementTree.fromstring(score_chart([1e-3] * 999 + [0.51], [0.9, 0.9, 0.49, 1.0]))
    (line,) = (
        e for e in root.iter(SVG + "line") if e.get("x1") == e.get("x2") and e.get("y1") == f"{TOP - 3:.1f}"
    )
    border = float(line.get("x1", "nan"))
    assert border == pytest.approx(LEFT + (RIGHT - LEFT) * (BINS - 1) / BINS, abs=0.1)
    smoke, quiet = bars(root, colour_of(PROBABILITY)), bars(root, "currentColor")
    assert [x > border for x, _ in smoke] == [x > border for x, _ in quiet] == [False, True]
    assert smoke[1][1] == pytest.approx(3 * smoke[0][1], rel=0.01)
    assert quiet[0][1] > smoke[1][1]
    assert "1000 without smoke, 0.1 % alarms; 4 with smoke, 75 % alarms" in [
        e.text for e in root.iter(SVG + "desc")
    ]


@given(st.lists(st.floats(0, 1)))
def test_every_score_is_in_one_bin_and_alarms_are_in_the_last(scores: list[float]) -> None:
    counts = count_scores(scores)
    assert len(counts) == BINS
    assert sum(counts) == len(scores)
    assert counts[-1] == sum(score > 0.5 for score in scores)
    assert counts[0] >= sum(score <= LOWEST for score in scores)


def test_without_pictures_nothing_fails() -> None:
    root = ElementTree.fromstring(score_chart([], []))
    assert not list(root.iter(SVG + "rect"))
