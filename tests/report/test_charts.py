"""Charts: scales that put values where they belong, and SVG that is whole and says what it shows."""

import base64
import io
import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from smokescope.report.axes import BOTTOM, LEFT, RIGHT, TOP, WIDTH, Axis, Frame, Scale, covering
from smokescope.report.charts import MOST, Series, bar_chart, colour_of, heat_map, histogram, line_chart, thin
from smokescope.report.colours import ALEATORIC, EPISTEMIC, PROBABILITY, TOTAL, TRANSMISSION, srgb_to_oklab

SVG = "{http://www.w3.org/2000/svg}"


def parse(svg: str) -> ElementTree.Element:
    root = ElementTree.fromstring(svg)
    assert root.tag == SVG + "svg"
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [SVG + "title", SVG + "desc"]
    return root


def words(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(SVG + "text")]


def extents(root: ElementTree.Element) -> list[tuple[float, float]]:
    """From where to where the words of the lower axis reach, with digits as wide as in DejaVu Sans."""
    found = []
    for element in root.iter(SVG + "text"):
        if float(element.get("y", "nan")) == BOTTOM + 16:
            x, half = float(element.get("x", "nan")), 0.64 * 10 / 2 * len(element.text or "")
            found.append((x - half, x + half))
    return found


def heights(root: ElementTree.Element) -> list[float]:
    return [float(bar.get("height", "nan")) for bar in root.iter(SVG + "rect")]


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (Scale(-30, 70), [-20, 0, 20, 40, 60]),
        (Scale(0.1, 0.3), [0.1, 0.15, 0.2, 0.25, 0.3]),
        (Scale(0.01, 100, log=True), [0.01, 0.1, 1, 10, 100]),
        (Scale(2, 50, log=True), [2, 5, 10, 20, 50]),
        (Scale(0.05, 5, log=True), [0.05, 0.1, 0.2, 0.5, 1, 2, 5]),
        (Scale(0.05, 20, log=True), [0.1, 1, 10]),
    ],
)
def test_ticks_are_round(scale: Scale, ticks: list[float]) -> None:
    assert scale.ticks() == ticks


numbers = st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-6)


@example(values=[-1e9, -999_999_999.999_999_9], zero=False)  # equal but for rounding
@given(st.lists(numbers, min_size=1, max_size=8), st.booleans())
def test_an_even_scale_covers_its_values(values: list[float], zero: bool) -> None:
    scale = covering(values, zero=zero)
    slack = 1e-6 * (scale.high - scale.low)
    assert scale.low - slack <= min(values) <= max(values) <= scale.high + slack
    assert scale.low < scale.high
    assert 1 <= len(scale.ticks()) <= 12
    assert not zero or scale.low <= 0 <= scale.high


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=8))
def test_a_logarithmic_scale_covers_its_values(values: list[float]) -> None:
    scale = covering(values, log=True)
    assert scale.low * (1 - 1e-6) <= min(values) <= max(values) <= scale.high * (1 + 1e-6)
    assert 1 <= len(scale.ticks()) <= 12


@given(st.floats(0.0, 1.0), st.booleans())
def test_shares_and_values_are_each_others_inverse(share: float, log: bool) -> None:
    scale = Scale(0.5, 80, log)
    assert scale.share(scale.value(share)) == pytest.approx(share, abs=1e-9)


@given(st.integers(0, 10**6))
def test_counts_have_whole_ticks(count: int) -> None:
    scale = covering([count], zero=True, whole=True)
    assert all(tick == int(tick) for tick in scale.ticks())
    assert scale.ticks()[0] == scale.low == 0
    assert scale.ticks()[-1] >= 1
    assert scale.high >= count


def test_a_frame_puts_corners_into_corners() -> None:
    frame = Frame(Axis("x", Scale(0, 10)), Axis("y", Scale(1, 100, log=True)))
    assert frame.at(0, 1) == (LEFT, BOTTOM)
    assert frame.at(10, 100) == (RIGHT, TOP)
    assert frame.at(5, 10) == pytest.approx(((LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2))


def test_a_histogram_counts() -> None:
    root = parse(histogram("Size <&>", [0.0, 0.1, 0.1, 0.1, 1.0], "share, %"))
    assert sorted(heights(root)) == pytest.approx([x / 3 * max(heights(root)) for x in (1, 1, 3)], abs=0.1)
    assert {"Size <&>", "share, %", "pictures", "median 0.1"} <= set(words(root))


def test_a_logarithmic_histogram_says_what_it_leaves_out() -> None:
    root = parse(histogram("Size", [0.0, 0.01, 1, 100], "%", log=True))
    assert len(heights(root)) == 3
    assert "% (1 at 0 left out)" in words(root)


@pytest.mark.parametrize(
    ("values", "log"),
    [
        ([10.0, 5000.0], True),
        ([0.0, 5000.0], False),
        ([3.0, 100_000.0], True),
        ([0.0004, 0.00199], False),
        ([-150_000.0, 150_000.0], False),
    ],
)
def test_words_of_an_axis_are_on_the_drawing_and_apart(values: list[float], log: bool) -> None:
    places = extents(parse(histogram("Odd", values, "unit", log=log)))
    assert len(places) >= 3
    assert places[0][0] > 0
    assert places[-1][1] < WIDTH
    assert all(before[1] < after[0] for before, after in pairwise(places))


@pytest.mark.parametrize("high", [0.9, 0.0015, 0.00015, 150_000])
def test_numbers_of_the_upright_axis_keep_clear_of_its_label(high: float) -> None:
    points = [(0.0, high), (1.0, high / 2)]
    axes = Axis("step", Scale(0, 1)), Axis("error, a picture", covering([0.0, high], zero=True))
    root = parse(line_chart("Error", [Series("", points)], *axes))
    texts = {e.text or "": e for e in root.iter(SVG + "text")}
    numbers = [e for e in texts.values() if e.get("text-anchor") == "end"]
    assert len(numbers) >= 3
    label = float(texts["error, a picture"].get("x", "nan")) + 0.3 * 11  # what hangs below its line
    for number in numbers:
        assert float(number.get("x", "nan")) - 0.64 * 10 * len(number.text or "") > label
    level = [e for e in root.iter(SVG + "line") if e.get("y1") == e.get("y2")]
    line = next(root.iter(SVG + "polyline")).get("points", "").split(",")[0]
    assert {e.get("x1") for e in level} == {line}  # the grid begins where the values do


@pytest.mark.parametrize("values", [[5.0] * 9, [1.0, 2.0, 2.0, 9.0], [1.0, 9.0, 9.0], [1464.2, 1465.0]])
def test_the_median_stands_above_all_bars(values: list[float]) -> None:
    root = parse(histogram("Size", values, "unit"))
    label = next(e for e in root.iter(SVG + "text") if (e.text or "").startswith("median"))
    title = next(e for e in root.iter(SVG + "text") if e.text == "Size")
    bars = [float(bar.get("y", "nan")) for bar in root.iter(SVG + "rect")]
    assert float(title.get("y", "nan")) + 10 < float(label.get("y", "nan")) < min(bars)
    assert "e+" not in (label.text or "")


def test_bars_count_whole_pictures() -> None:
    for svg in (
        histogram("Size", [1.0, 2.0, 3.0], "unit"),
        bar_chart("Parts", [("one", 1), ("two", 1)], "parts", "pictures"),
    ):
        ticks = [e.text for e in parse(svg).iter(SVG + "text") if e.get("x") == f"{LEFT - 6:.1f}"]
        assert ticks == ["0", "1"]


@pytest.mark.parametrize("values", [[], [0.0], [3.0], [-1e-3, 1e-3], [5.0] * 1000])
@pytest.mark.parametrize("log", [False, True])
def test_odd_histograms_are_drawn(values: list[float], log: bool) -> None:
    root = parse(histogram("Odd", values, "unit", log=log))
    assert ("nothing to show" in words(root)) == (not any(v > 0 or not log for v in values))
    assert "nan" not in ElementTree.tostring(root, "unicode").lower()


def test_bars_stand_in_proportion() -> None:
    root = parse(bar_chart("Parts", [("1", 10), ("2", 5), ("more", 0)], "parts", "pictures"))
    one, two, none = heights(root)
    assert two == pytest.approx(one / 2, abs=0.1)
    assert none == 0
    assert {"1", "2", "more"} <= set(words(root))


def test_lines_go_through_their_points() -> None:
    series = [Series("ours", [(0, 0), (1, 1)]), Series("ideal", [(0.5, 0.5)], TOTAL, dashed=True)]
    root = parse(line_chart("Reliability", series, Axis("said", Scale(0, 1)), Axis("seen", Scale(0, 1))))
    solid, dashed = root.iter(SVG + "polyline")
    assert solid.get("points") == f"{LEFT:.1f},{BOTTOM:.1f} {RIGHT:.1f},{TOP:.1f}"
    assert dashed.get("stroke-dasharray")
    assert (solid.get("stroke"), dashed.get("stroke")) == (colour_of(PROBABILITY), colour_of(TOTAL))
    assert {"ours", "ideal"} <= set(words(root))


def test_names_of_lines_stand_beside_pieces_of_them() -> None:
    series = [Series("smoke found", [(0, 0.9)]), Series("false alarms", [(0, 0.9)], TOTAL, dashed=True)]
    root = parse(line_chart("Alarms", series, Axis("step", Scale(0, 1)), Axis("share", Scale(0, 1))))
    pieces = [line for line in root.iter(SVG + "line") if line.get("stroke") != "currentColor"]
    assert {(p.get("stroke"), p.get("stroke-dasharray") is None) for p in pieces} == {
        (colour_of(PROBABILITY), True),
        (colour_of(TOTAL), False),
    }
    for one in series:
        label = next(e for e in root.iter(SVG + "text") if e.text == one.name)
        piece = next(p for p in pieces if p.get("stroke") == colour_of(one.quantity))
        left, right = (float(piece.get(end, "nan")) for end in ("x1", "x2"))
        assert left < right < float(label.get("x", "nan")) < right + 10
        assert float(label.get("x", "nan")) + 6 * len(one.name) < WIDTH
        others = [float(p.get("x1", "nan")) for p in pieces if p is not piece]
        assert all(x < left or x > float(label.get("x", "nan")) + 6 * len(one.name) for x in others)


def test_a_marked_line_of_one_point_still_shows() -> None:
    axes = Axis("step", Scale(0, 2)), Axis("share", Scale(0, 2))
    root = parse(line_chart("Few", [Series("", [(1, 1)], marked=True), Series("none", [])], *axes))
    (dot,) = root.iter(SVG + "circle")
    middle = (LEFT + RIGHT) / 2, (TOP + BOTTOM) / 2
    assert (float(dot.get("cx", "nan")), float(dot.get("cy", "nan"))) == middle
    assert "none" not in words(root)


@given(st.integers(0, 5 * MOST))
@example(MOST)
@example(3 * MOST)
def test_thinned_lines_are_means_of_neighbours(count: int) -> None:
    points = [(float(i), float(i * i)) for i in range(count)]
    thinned = thin(points)
    assert len(thinned) <= MOST
    assert thinned == points or count > MOST
    assert all(before < after for before, after in pairwise(thinned))
    if count and count % MOST == 0:
        assert np.mean(thinned, axis=0) == pytest.approx(np.mean(points, axis=0))


@pytest.mark.parametrize("cells", [np.zeros((3, 3)), np.array([[0.0, 2.5], [1.0, 0.0]])])
def test_a_heat_map_holds_its_pictures_and_its_scale(cells: np.ndarray) -> None:
    root = parse(heat_map("Place", cells, "× even", "all over"))
    links = [image.get("href") or "" for image in root.iter(SVG + "image")]
    assert len(links) == 2
    assert all(link.startswith("data:image/png;base64,") for link in links)
    assert f"{cells.max() or 1:.2g}" in words(root)


def test_a_heat_map_and_its_bar_are_the_right_way_up() -> None:
    root = parse(heat_map("Place", np.array([[0.0, 0.0], [0.0, 4.0]]), "× even", "below, at the right"))
    links = (image.get("href") or "" for image in root.iter(SVG + "image"))
    area, bar = (
        np.asarray(Image.open(io.BytesIO(base64.b64decode(link.partition(",")[2])))) for link in links
    )
    first, *_, last = PROBABILITY.table.tolist()
    assert [[pixel.tolist() for pixel in line] for line in area] == [[first, first], [first, last]]
    assert (bar[0, 0].tolist(), bar[-1, 0].tolist()) == (last, first)
    heights = {
        (float(each.get("x", "nan")) < LEFT, each.text): float(each.get("y", "nan"))
        for each in root.iter(SVG + "text")
    }
    assert heights[False, "4"] < heights[False, "0"]  # of the bar; y grows downwards
    assert heights[True, "0"] < heights[True, "⅓"] < heights[True, "1"]  # as the picture's rows do


def test_colours_of_quantities_read_on_white_and_on_black_and_differ() -> None:
    colours = [colour_of(m) for m in (TRANSMISSION, PROBABILITY, TOTAL, ALEATORIC, EPISTEMIC)]
    assert len(set(colours)) == 5
    for colour in colours:
        rgb = np.array([int(part, 16) for part in re.findall("..", colour[1:])]) / 255
        assert 0.45 < srgb_to_oklab(rgb)[0] < 0.75
