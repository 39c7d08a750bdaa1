"""The page of an evaluation: every figure, and charts that are drawn of what was counted."""

import re
from dataclasses import replace
from typing import cast

import pytest
import torch

from smokescope.inference.evaluation import Evaluation
from smokescope.metrics import Draws, Report, SmokeMetrics
from smokescope.metrics.checks import CheckedMaps
from smokescope.metrics.suite import flatten
from smokescope.report.comparison import excludes_zero
from smokescope.report.evaluation_page import evaluation_page
from smokescope.report.meanings import MEANINGS, show_figure


def evaluated(pictures: int) -> Evaluation:
    generator = torch.Generator().manual_seed(0)
    metrics = SmokeMetrics(0.4)
    if pictures:
        mask = torch.rand(pictures, 20, 30, generator=generator) < 0.3
        probability = torch.rand(mask.shape, generator=generator)
        total = 0.69 * torch.rand(mask.shape, generator=generator)
        metrics.update(probability, mask, CheckedMaps(total, total / 2, total / 2))
    report = metrics.compute()
    curves = metrics.calibration.reliability(), metrics.uncertainty.risk_coverage()
    return Evaluation(report, {"unseen": report} if pictures else {}, None, [], *curves)


def shown(
    evaluation: Evaluation, against: Evaluation | None = None, title: str = "some", **measured: str
) -> str:
    names = ["some", "<other>"] if against else ["some"]
    return evaluation_page(title, names, measured, evaluation, against)


def test_every_figure_has_a_meaning_and_no_meaning_lacks_a_figure() -> None:
    assert list(MEANINGS) == list(flatten(evaluated(2).report))


def test_figures_are_on_the_page_if_they_have_a_meaning() -> None:
    evaluation = evaluated(3)
    page = shown(evaluation, title="a<b>.safetensors", Data="hills & more")
    assert "<h1>a&lt;b&gt;.safetensors</h1>" in page
    assert page.endswith("<dt>Data</dt><dd>hills &amp; more</dd></dl>\n</body></html>\n")
    mse = show_figure(evaluation.report["mse"])
    assert re.search(rf"<td>mse <small>[^<]*</small></td><td>{mse}</td><td>{mse}</td>", page)
    assert "fpr95" not in page  # there are no negatives
    assert evaluation.report["alarm"]["fpr95"] is None
    assert "<th>all</th><th>unseen</th>" in page
    assert page.count("<svg") == 4
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    curve = next(svg for svg in page.split("<svg") if "Risk and coverage" in svg)
    points = re.findall(r'polyline points="([^"]*)"', curve)[0].split()
    assert len(points) == len(evaluation.risk_coverage.coverage)


def test_a_figure_that_some_column_has_is_a_dash_in_the_others() -> None:
    evaluation = evaluated(3)
    none = SmokeMetrics(0.4).compute()
    page = shown(replace(evaluation, scenes={"seen": none}))
    mse = show_figure(evaluation.report["mse"])
    assert re.search(rf"<td>mse <small>[^<]*</small></td><td>{mse}</td><td>–</td>", page)


def test_an_interval_stands_beside_the_figures() -> None:
    evaluation = evaluated(3)
    low: Report = {**evaluation.report, "mse": 0.125}
    drawn = Draws(2, evaluation.report, [low] * 50 + [evaluation.report] * 50)
    evaluation = replace(evaluation, draws=drawn)
    page = shown(evaluation)
    mse = show_figure(evaluation.report["mse"])
    assert "<th>all</th><th>95 % from</th><th>to</th><th>unseen</th>" in page
    assert re.search(rf"<td>{mse}</td><td>0.1250</td><td>{mse}</td><td>{mse}</td>", page)
    assert "<td>3</td><td>–</td><td>–</td><td>3</td>" in page  # how many pictures there are is no estimate


def test_another_model_stands_beside_it_and_the_interval_is_of_the_difference() -> None:
    report = evaluated(3).report
    better: Report = {**report, "mse": 0.25}
    best: Report = {**report, "mse": 0.125}
    mine = replace(evaluated(3), report={**report, "mse": 0.5}, scenes={})
    mine = replace(mine, draws=Draws(2, mine.report, [mine.report] * 9))
    other = replace(mine, report=better, draws=Draws(2, better, [better, *[best] * 8]))
    page = shown(mine, other)
    assert "<th>some</th><th>&lt;other&gt;</th><th>difference</th><th>95 % from</th><th>to</th>" in page
    assert "The difference is some less &lt;other&gt;." in page
    # 2.5 % of the way lies a fifth between the two lowest of nine
    sure = "<td><b>+0.2500</b></td><td><b>+0.2750</b></td><td><b>+0.3750</b></td>"
    assert f"<td>0.5000</td><td>0.2500</td>{sure}" in page
    assert page.count("<b>") == 3  # in all else the two are equal
    page = shown(replace(mine, draws=None), replace(other, draws=None))
    assert "<td>0.5000</td><td>0.2500</td><td>+0.2500</td></tr>" in page
    assert "bold" not in page
    page = shown(replace(mine, scenes={"seen": report}), other)
    assert "<th>to</th><th>some, seen</th>" in page


@pytest.mark.parametrize(
    ("low", "high", "sure"),
    [(0.1, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False), (0.0, 0.1, False), (None, None, False)],
)
def test_an_order_is_sure_where_0_is_outside(low: float | None, high: float | None, sure: bool) -> None:
    assert excludes_zero(low, high) == sure


def test_the_page_begins_with_the_answer() -> None:
    evaluation = evaluated(4)
    alarm = {**evaluation.report["alarm"], "shipped": {"detection_rate": 0.75, "false_alarm_rate": 0.005}}
    report = cast("Report", {**evaluation.report, "alarm": alarm, "negatives": 200})
    low = cast("Report", {**report, "mse": 0.5, "f_beta": {**report["f_beta"], "mean": 0.125}})
    mine = replace(evaluation, report=report, draws=Draws(2, report, [low] * 50 + [report] * 50))
    page = shown(mine, replace(mine, report=low))
    first = page.index("<dl")
    assert page[:first].endswith("</h1>\n<p>Measured on 4 pictures with smoke, 200 without.</p>\n")
    assert first < page.index("<svg") < page.index("<table") < page.index("How it was measured")
    tiles = re.findall(r'<dt>([^<]*)</dt><dd class="large">([^<]*)</dd>', page)
    f_beta, ece = report["f_beta"]["mean"], show_figure(report["ece"]["image"])
    expected = [("Smoke found", "75.0 %"), ("False alarms", "0.5 %")]
    assert tiles == [*expected, ("F-measure", show_figure(f_beta)), ("Calibration error", ece)]
    said = page[first : page.index("<h2>")]
    assert "3 of 4 pictures with smoke, at the model&#x27;s own threshold; higher is better" in said
    assert "1 of 200 pictures without smoke, at the model&#x27;s own threshold; lower is better" in said
    assert f"<dd>95 %: 0.1250 to {show_figure(f_beta)}</dd><dd>&lt;other&gt;: 0.1250</dd>" in said
    assert "95 %: 75.0 % in all draws of these scenes" in said


def test_quiet_pictures_alone_answer_with_their_false_alarms() -> None:
    none = SmokeMetrics().compute()
    alarm = {**none["alarm"], "false_alarm_rate": 0.5}
    page = shown(replace(evaluated(0), report=cast("Report", {**none, "negatives": 2, "alarm": alarm})))
    assert re.findall(r'<dt>([^<]*)</dt><dd class="large">', page) == ["False alarms"]
    assert "1 of 2 pictures without smoke, at 0.5" in page


def test_every_row_says_which_way_is_better() -> None:
    page = shown(evaluated(3))
    assert "mean squared error, of pictures; lower is better</small>" in page
    undirected = [name for name, meaning in MEANINGS.items() if not meaning.direction]
    assert undirected == ["images", "negatives"]
    assert MEANINGS["uncertainty/ood_auroc"].direction.startswith("near 0 for a good detector")


def test_without_pictures_nothing_is_drawn() -> None:
    page = shown(evaluated(0))
    assert "nan" not in page
    assert "<svg" not in page


def test_figures_for_people() -> None:
    told = {None: "–", 1234: "1,234", 0.25: "0.2500", 0.001: "0.0010", 8.14e-4: "0.00081", 2.34e-5: "2.3e-05"}
    assert [show_figure(x) for x in (*told, 0.0)] == [*told.values(), "0.0000"]
