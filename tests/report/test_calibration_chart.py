"""Reliability diagrams: bins where they belong, and empty ones nowhere."""

from xml.etree import ElementTree

import pytest

from smokescope.report.axes import BOTTOM, LEFT, RIGHT, TOP
from smokescope.report.calibration_chart import SMOKE, reliability_chart

SVG = "{http://www.w3.org/2000/svg}"


def test_bins_lie_at_their_confidence_and_frequency() -> None:
    root = ElementTree.fromstring(
        reliability_chart(SMOKE, [300, 0, 100, 0], [0.25, None, 0.5, 0.9], [0, None, 1, 1])
    )
    dots = [(float(e.get("cx", "nan")), float(e.get("cy", "nan"))) for e in root.iter(SVG + "circle")]
    across = RIGHT - LEFT
    assert dots == [(LEFT + 0.25 * across, BOTTOM), (LEFT + 0.5 * across, TOP)]
    bars = [(float(e.get("x", "nan")), float(e.get("height", "nan"))) for e in root.iter(SVG + "rect")]
    assert [x for x, _ in bars] == pytest.approx([LEFT, LEFT + 0.5 * across], abs=2)
    assert [h / (BOTTOM - TOP) for _, h in bars] == pytest.approx([0.75, 0.25], abs=0.01)


def test_all_that_is_drawn_has_a_name() -> None:
    root = ElementTree.fromstring(reliability_chart(SMOKE, [1], [0.5], [0.5], "first"))
    words = [element.text for element in root.iter(SVG + "text")]
    assert {"perfectly calibrated", "first", "probability of smoke; grey: share of pixels"} <= set(words)


def test_a_long_name_does_not_run_out_of_the_chart() -> None:
    root = ElementTree.fromstring(reliability_chart(SMOKE, [1], [0.5], [0.5], "a-name-of-many-letters"))
    pieces = [float(e.get("x1", "nan")) for e in root.iter(SVG + "line") if e.get("stroke") != "currentColor"]
    assert min(pieces) >= LEFT
    assert "a-name-of-man…" in [element.text for element in root.iter(SVG + "text")]


def test_without_pixels_only_the_diagonal_is_left() -> None:
    root = ElementTree.fromstring(reliability_chart(SMOKE, [0, 0], [None, 0.0], [None, 0.0]))
    (diagonal,) = root.iter(SVG + "polyline")
    assert diagonal.get("points") == f"{LEFT:.1f},{BOTTOM:.1f} {RIGHT:.1f},{TOP:.1f}"
    assert not list(root.iter(SVG + "rect"))
