"""The page of an evaluation: every figure, and charts that are drawn of what was counted."""

import re
from dataclasses import replace

import torch

from smokescope.inference.evaluation import Evaluation
from smokescope.metrics import Draws, Report, SmokeMetrics
from smokescope.metrics.checks import CheckedMaps
from smokescope.metrics.suite import flatten
from smokescope.report.evaluation_page import MEANINGS, evaluation_page, show_figure


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


def test_every_figure_has_a_meaning_and_no_meaning_lacks_a_figure() -> None:
    assert list(MEANINGS) == list(flatten(evaluated(2).report))


def test_figures_are_on_the_page_if_they_have_a_meaning() -> None:
    evaluation = evaluated(3)
    page = evaluation_page("a<b>.safetensors", "3 pictures & more", evaluation)
    assert "<h1>a&lt;b&gt;.safetensors</h1>" in page
    assert "3 pictures &amp; more" in page
    mse = show_figure(evaluation.report["mse"])
    assert re.search(rf"<td>mse <small>[^<]*</small></td><td>{mse}</td><td>{mse}</td>", page)
    assert "alarm/fpr95" not in page  # there are no negatives
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
    page = evaluation_page("some", "", replace(evaluation, scenes={"seen": none}))
    mse = show_figure(evaluation.report["mse"])
    assert re.search(rf"<td>mse <small>[^<]*</small></td><td>{mse}</td><td>–</td>", page)


def test_an_interval_stands_beside_the_figures() -> None:
    evaluation = evaluated(3)
    low: Report = {**evaluation.report, "mse": 0.125}
    drawn = Draws(2, evaluation.report, [low] * 50 + [evaluation.report] * 50)
    evaluation = replace(evaluation, draws=drawn)
    page = evaluation_page("some", "", evaluation)
    mse = show_figure(evaluation.report["mse"])
    assert "<th>all</th><th>from</th><th>to</th><th>unseen</th>" in page
    assert re.search(rf"<td>{mse}</td><td>0.1250</td><td>{mse}</td><td>{mse}</td>", page)
    assert "<td>3</td><td>–</td><td>–</td><td>3</td>" in page  # how many pictures there are is no estimate


def test_another_model_stands_beside_it_and_the_interval_is_of_the_difference() -> None:
    report = evaluated(3).report
    better: Report = {**report, "mse": 0.25}
    best: Report = {**report, "mse": 0.125}
    mine = replace(evaluated(3), report={**report, "mse": 0.5}, scenes={})
    mine = replace(mine, draws=Draws(2, mine.report, [mine.report] * 9))
    other = replace(mine, report=better, draws=Draws(2, better, [better, *[best] * 8]))
    page = evaluation_page("some", "", mine, other)
    assert "<th>all</th><th>against</th><th>more</th><th>from</th><th>to</th>" in page
    row = "<td>0.5000</td><td>0.2500</td><td>0.2500</td><td>0.2750</td><td>0.3750</td>"
    assert row in page  # 2.5 % of the way lies a fifth between the two lowest of nine
    page = evaluation_page("some", "", replace(mine, draws=None), replace(other, draws=None))
    assert "<td>0.5000</td><td>0.2500</td><td>0.2500</td></tr>" in page


def test_without_pictures_nothing_is_drawn() -> None:
    page = evaluation_page("none", "", evaluated(0))
    assert "nan" not in page
    assert "<svg" not in page


def test_figures_for_people() -> None:
    told = {None: "–", 1234: "1,234", 0.25: "0.2500", 0.001: "0.0010", 8.14e-4: "0.00081", 2.34e-5: "2.3e-05"}
    assert [show_figure(x) for x in (*told, 0.0)] == [*told.values(), "0.0000"]
