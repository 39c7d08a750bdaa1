"""Pages in a real browser, as wide as a phone or a desk: nothing sticks out, and numbers are to be seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.browser import chromium
from tests.report.test_evaluation_page import evaluated
from tests.report.test_predict_page import row
from tests.report.test_run_page import BINS, LATENT, log_steps, report

from smokescope.data.statistics import Statistics
from smokescope.metrics import Draws
from smokescope.report.evaluation_page import evaluation_page
from smokescope.report.page import Strip, as_thumbnail
from smokescope.report.predict_page import predict_page
from smokescope.report.run_page import write_run_page
from smokescope.report.run_samples import write_samples
from smokescope.report.stats_page import stats_page
from smokescope.training.observers import Sample
from smokescope.training.run_folder import Inputs, RunFolder
from smokescope.training.settings import read_settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WORD = "3f" * 32  # as a checksum, or a name that somebody gave
Write = Callable[[Path], Path]


def write_evaluation(folder: Path) -> Path:
    one, other = evaluated(3), evaluated(3)
    one = replace(one, draws=Draws(2, one.report, [one.report] * 9))
    other = replace(other, draws=Draws(2, other.report, [other.report] * 9))
    page = evaluation_page(WORD, ["embedded model", "run/model"], {"Data": WORD}, one, other)
    (folder / "evaluate.html").write_text(page)
    return folder / "evaluate.html"


def write_run(folder: Path) -> Path:
    run = RunFolder(folder / WORD)
    run.begin(read_settings("default"), Inputs(data="data"))
    log_steps(run, kl=0.5)
    run.log({"step": 1000, "validation": report()})
    maps = [np.full((48, 64), 0.1, np.float32)] * 5
    write_samples(run, 1000, [Sample("a", np.full((48, 64, 3), 9, np.uint8), *maps)])
    figures = {"temperature": 1.25, "validation": report(), "latent": LATENT, "reliability": {"smoke": BINS}}
    run.figures_file.write_text(json.dumps(figures))
    return write_run_page(run)


def write_statistics(folder: Path) -> Path:
    statistics = Statistics()
    chance = np.random.default_rng(0)
    picture = chance.integers(0, 256, (48, 64, 3), np.uint8)
    for name in ("a", "b"):
        mask = (chance.random((48, 64)) > 0.5).astype(np.float32)
        statistics.add(name, picture, mask)
    strips = [Strip(WORD, "", [as_thumbnail(WORD, picture, mask)])]
    (folder / "stats.html").write_text(stats_page(WORD, statistics, strips, 0.25))
    return folder / "stats.html"


def write_prediction(folder: Path) -> Path:
    (folder / "report.html").write_text(predict_page([row(folder, WORD, 220), row(folder, "b", 20)], WORD))
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    with closing(browser.new_page(viewport={"width": 400, "height": 800})) as page:
        yield page


@pytest.mark.parametrize("write", [write_prediction, write_evaluation, write_run, write_statistics])
def test_a_page_is_no_wider_than_its_window(phone: Page, tmp_path: Path, write: Write) -> None:
    phone.goto(write(tmp_path).as_uri())
    phone.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true; })")
    for width in (400, 800, 1200, 1600):
        phone.set_viewport_size({"width": width, "height": 800})
        assert phone.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [width, width]


def test_the_words_of_a_sample_sheet_can_be_read_on_a_phone(phone: Page, tmp_path: Path) -> None:
    """They are written 14 pixels high: the sheet is shown large enough, in a box of its own that scrolls."""
    phone.goto(write_run(tmp_path).as_uri())
    factor = phone.evaluate("(i => i.width / i.naturalWidth)(document.querySelector('img'))")
    assert 14 * factor > 9
    box = phone.evaluate(
        "(i => [i.scrollWidth > i.clientWidth, i.clientWidth])(document.querySelector('.scroll:has(img)'))"
    )
    assert box == [True, 360]


def test_a_phone_shows_the_figures_of_both_models_without_scrolling(phone: Page, tmp_path: Path) -> None:
    phone.goto(write_evaluation(tmp_path).as_uri())
    cells = "[...document.querySelectorAll('td:nth-child(3)')]"
    rights = phone.evaluate(f"() => {cells}.map(cell => cell.getBoundingClientRect().right)")
    assert len(rights) >= 20
    assert max(rights) < 400
