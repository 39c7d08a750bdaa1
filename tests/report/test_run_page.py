"""A run's page: whole, by itself, honest about what is missing and about an empty epistemic uncertainty."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from smokescope.errors import SmokescopeError
from smokescope.metrics.suite import Report, SmokeMetrics
from smokescope.report.run_page import write_run_page
from smokescope.report.run_samples import write_samples
from smokescope.training.observers import Sample
from smokescope.training.run_folder import Inputs, RunFolder
from smokescope.training.settings import Source, TrainingSettings, read_settings

CHANCE = "Is the epistemic uncertainty more than empty?"
LATENT = {"kl": 1.5, "latent_share": 0.3, "dropout_share": 0.6}
BINS = {"count": [5, 0, 5], "mean": [0.1, None, 0.9], "accuracy": [0.0, None, 1.0]}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    run = RunFolder(tmp_path / "run <1>")
    run.begin(read_settings("default"), Inputs(data="/secret/place"))
    return run


def report() -> Report:
    metrics, chance = SmokeMetrics(), torch.Generator().manual_seed(0)
    mask = torch.zeros(2, 24, 32)
    mask[0, 5:15, 5:15] = 1
    metrics.update(torch.rand(2, 24, 32, generator=chance), mask)
    return metrics.compute()


def log_steps(run: RunFolder, **losses: float) -> None:
    for step in range(20, 1001, 20):
        told = {"loss": 3.0 / step, "structure": 2.0 / step, "entropy": 0.0, **losses}
        run.log({"step": step, "losses": told, "rate": 1e-4, "pictures_per_second": 300.0})


def finish(run: RunFolder, **parts: object) -> None:
    run.figures_file.write_text(json.dumps(parts))


def read(run: RunFolder) -> str:
    path = write_run_page(run)
    assert path == run.path / "report.html"
    return path.read_text()


def titles(page: str) -> list[str]:
    return [unescape(title) for title in re.findall(r"<title>([^<]*)</title><desc>", page)]


def section(page: str, title: str) -> str:
    return page.split(f"<h2>{title}</h2>")[1].split("<h2>")[0]


class Links(HTMLParser):
    """Everything that a browser would fetch, and whether tags match."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_whole_run_shows_all_and_asks_for_nothing_from_outside(run: RunFolder) -> None:
    log_steps(run, kl=0.5, transmission=0.1)
    run.log({"step": 1000, "validation": report()})
    ones = [np.full((48, 64), 0.1, np.float32)] * 5
    write_samples(run, 1000, [Sample("a", np.full((48, 64, 3), 9, np.uint8), *ones)])
    finish(
        run, temperature=1.25, validation=report(), latent=LATENT, reliability={"top": BINS, "smoke": BINS}
    )
    page = read(run)

    parser = Links()
    parser.feed(page)
    assert not parser.open
    assert len(parser.links) == 1
    alt = re.findall(r'<img alt="([^"]*)"', page)[0]
    assert all(word in alt for word in ("probability", "total", "aleatoric", "epistemic"))
    assert parser.links[0].startswith("data:image/jpeg;base64,")
    assert "url(" not in page
    assert "/secret/place" not in page
    assert "<h1>run &lt;1&gt;</h1>" in page
    assert "finished after step 1000" in page
    shown = titles(page)
    assert {"Loss", "Structure loss", "KL term, nats (at least 0.8)", "Learning rate", "Speed"} <= set(shown)
    assert {"F-measure", "Mean squared error", "Calibration error", "Alarms at 0.5"} <= set(shown)
    assert {"Smoke's probability", "The answer's confidence"} <= set(shown)
    calibration = section(page, "Calibration")
    assert ">run &lt;1&gt;</text>" in calibration
    assert "honest" not in calibration
    assert "Entropy loss" not in shown  # it was 0 all along
    result = section(page, "Result")
    assert f"{report()['f_beta']['mean']:.4f}" in result
    assert "1.2500" in result
    sources = section(page, "Trained on")
    assert all(word in sources for word in ("lookalikes", "transplanted", "smoke5k/train", "1.5"))


def test_what_is_missing_is_said_to_be(run: RunFolder) -> None:
    page = read(run)
    for title in ("Calibration", "Samples", "Validation", "Training"):
        assert section(page, title).strip() == "<p>Not measured.</p>"
    assert section(page, "Result").count("not measured") >= 10
    assert "not finished" in page
    assert 'role="alert"' not in page


def test_small_figures_are_not_shown_as_nothing(run: RunFolder) -> None:
    finish(run, validation={"mse": 0.0, "images": 1234, "uncertainty": {"aurc": 2.34e-5}})
    shown = dict(re.findall(r"<td>(\S+) <small>.*?</td><td>(.*?)</td>", read(run)))
    assert shown["uncertainty/<wbr>aurc"] == "2.3e-05"
    assert shown["mse"] == "0.0000"
    assert shown["images"] == "1,234"


def test_a_folder_whose_name_is_no_text_has_a_page_too(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / os.fsdecode(b"run\xff"))
    run.begin(read_settings("default"), Inputs(data="data"))
    assert "<h1>run\\udcff</h1>" in read(run)


def test_a_run_without_validation_is_still_finished(run: RunFolder) -> None:
    log_steps(run)
    finish(run, temperature=1.5, latent=LATENT)
    page = read(run)
    assert "finished after step 1000" in page
    assert "no pictures were kept from training" in section(page, "Result")
    chance = section(page, CHANCE)
    assert all(f"<td>{figure:.4f}</td>" in chance for figure in LATENT.values())
    assert "Measured on up to four pictures trained on, as none were kept apart." in chance
    assert "<h2>Validation</h2>" not in page  # nor any other table of nothing
    assert "Loss" in titles(page)


def test_a_stopped_run_shows_its_last_validation(run: RunFolder) -> None:
    log_steps(run)
    run.log({"step": 500, "validation": {**report(), "mse": 0.1111}})
    run.log({"step": 800, "validation": {**report(), "mse": 0.2222}})
    with run.log_file.open("a") as stream:
        stream.write('{"step": 1020, "los')  # killed while it wrote
    result = section(read(run), "Result")
    assert "Of step 800, not of a finished model" in result
    assert "0.2222" in result
    assert "0.1111" not in result


@pytest.mark.parametrize(
    ("latent", "flagged"),
    [
        ({}, False),
        ({"kl": 0.009}, True),
        ({"kl": 0.011}, False),
        ({"latent_share": 0.019, "dropout_share": 0.019}, True),
        ({"latent_share": 0.0}, False),
        ({"dropout_share": 0.0}, False),
    ],
)
def test_an_empty_epistemic_uncertainty_is_flagged(
    run: RunFolder, latent: Mapping[str, float], flagged: bool
) -> None:
    finish(run, latent={**LATENT, **latent})
    page = read(run)
    assert ('role="alert"' in page) == flagged
    assert ("do not trust it" in page) == flagged
    for name, share in (("z", "latent_share"), ("dropout", "dropout_share")):
        idle = f"But {name} alone makes 0.0%" in page
        assert idle == (latent.get(share) == 0.0)


def test_the_chart_of_the_divergence_says_what_is_free(tmp_path: Path) -> None:
    """What the log has is the term of the loss, flat where z holds less than costs anything."""
    for free, title in ((0.0, "KL term, nats"), (0.25, "KL term, nats (at least 2)")):
        run = RunFolder(tmp_path / f"{free}")
        settings = read_settings("default")
        run.begin(
            replace(settings, objective=replace(settings.objective, free_nats=free)), Inputs(data="data")
        )
        log_steps(run, kl=2.0)
        page = read(run)
        assert title in titles(page)
        assert ("the KL term does not fall below 2," in section(page, "Training")) == bool(free)


def test_the_last_stage_shows_in_its_own_loss_only(run: RunFolder) -> None:
    log_steps(run, consistency=0.1)
    tail = {"losses": {"loss": 0.1, "consistency": 0.1}, "rate": 1.0, "pictures_per_second": 9.0}
    run.log({"step": 2000, **tail})
    page = read(run)
    axes = dict(re.findall(r"<title>([^<]*)</title><desc>.*?<polyline points=\"([^\"]*)\"", page))
    counts = {title: len(points.split()) for title, points in axes.items()}
    assert counts["Loss"] == counts["Structure loss"] == counts["Learning rate"] == 50
    assert counts["Uncertainty net: off from sampling"] == counts["Speed"] == 51


def test_long_logs_make_short_lines_and_repeated_validations_one_point(run: RunFolder) -> None:
    for step in range(1, 3000):
        run.log({"step": step, "losses": {"loss": 1.0, "structure": 1.0}, "rate": 0.0})
    for mse in (0.5, 0.25):
        run.log({"step": 3000, "validation": {"mse": mse, "ece": {"image": None}}})
    page = read(run)
    lines = dict(re.findall(r"<title>([^<]*)</title><desc>.*?<polyline points=\"([^\"]*)\"", page))
    assert len(lines["Loss"].split()) <= 400
    assert "Structure loss" not in lines  # the same line as the loss
    assert len(lines["Mean squared error"].split()) == 1
    assert "Calibration error" not in lines


def test_a_network_without_chance_is_not_blamed_for_it(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "unet")
    run.begin(read_settings("unet"), Inputs(data="data"))
    finish(run, temperature=1.0, validation=report())
    page = read(run)
    assert "A plain U-Net has neither" in page
    assert 'role="alert"' not in page


def test_names_of_folders_are_only_words(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "odd")
    odd = Source(kind="pairs", folder="<script>alert(1)</script>", names="<b>.*")
    run.begin(TrainingSettings(data=(odd,)), Inputs(data="data"))
    page = read(run)
    assert "<script" not in page
    assert "<b>" not in page


def test_no_run_and_damaged_figures_are_told(tmp_path: Path, run: RunFolder) -> None:
    with pytest.raises(SmokescopeError, match="holds no run"):
        write_run_page(RunFolder(tmp_path / "nothing"))
    run.figures_file.write_text('{"temperature": ')
    with pytest.raises(SmokescopeError, match=r"figures\.json is damaged"):
        write_run_page(run)
    assert not (run.path / "report.html").exists()
