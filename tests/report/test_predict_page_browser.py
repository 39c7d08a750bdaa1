"""The page in a real browser: switching, fading, sorting and hiding, by keyboard too."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from tests.browser import chromium
from tests.report.test_predict_page import images, row

from smokescope.report.light import lit
from smokescope.report.predict_page import predict_page
from smokescope.report.results import QUANTITIES

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page of two empty pictures (a, d), two with smoke (b, e) and an unsure one (c); trouble fails."""
    folder = tmp_path_factory.mktemp("page")
    reds = {"a": 20, "b": 220, "c": 120, "d": 70, "e": 230}
    rows = [row(folder, name, red) for name, red in reds.items()]
    (folder / "report.html").write_text(predict_page(rows, "by a model"))
    trouble: list[str] = []
    with chromium() as browser:
        opened = browser.new_page()
        opened.on("console", lambda message: trouble.append(message.text))
        opened.on("pageerror", lambda error: trouble.append(str(error)))
        opened.on("request", lambda request: trouble.append(request.url) if outside(request.url) else None)
        opened.goto((folder / "report.html").as_uri())
        yield opened
    assert trouble == []


def outside(url: str) -> bool:
    return not url.startswith(("data:", "file:")) or Path(url).suffix == ".ico"


def seen(page: Page) -> dict[str, float]:
    """Layers of the first row that can be seen, with their opacity."""
    script = """() => Object.fromEntries([...document.querySelector('.row').querySelectorAll('.layer')]
        .map(layer => [layer.className.slice(6), Number(getComputedStyle(layer).opacity)])
        .filter(([, opacity]) => opacity > 0))"""
    return page.evaluate(script)


def order(page: Page) -> str:
    script = "() => [...document.querySelectorAll('.row:not([hidden])')].map(r => r.dataset.name).join('')"
    return page.evaluate(script)


def test_layers_are_switched_by_keyboard_and_faded(page: Page) -> None:
    assert seen(page) == {"mask": 0.75}
    page.focus("input[value=mask]")
    page.keyboard.press("ArrowRight")
    assert seen(page) == {"probability": 0.75}
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.fill("input[name=fade]", "40")
    assert seen(page) == {"epistemic": 0.4}
    assert page.is_visible(".scale.epistemic")
    assert not page.is_visible(".scale.total")


def test_rows_are_sorted_and_hidden(page: Page) -> None:
    assert order(page) == "ebcda"
    page.select_option("select", "name")
    assert order(page) == "abcde"
    page.focus("input[value=nothing]")
    page.keyboard.press("Space")
    assert order(page) == "bce"
    page.keyboard.press("Space")
    page.select_option("select", "area")
    assert order(page) == "ebcda"
    page.select_option("select", "highest")
    assert order(page) == "ebcda"
    page.select_option("select", "name")
    page.select_option("select", "verdict")
    assert order(page) == "ebcda"  # as it was opened


def test_outlines_lie_over_the_picture_and_can_go(page: Page) -> None:
    script = "() => document.querySelector('.view polygon').getBoundingClientRect().width / \
        document.querySelector('.view').getBoundingClientRect().width"
    assert page.evaluate(script) == pytest.approx(27 / 160, rel=0.05)
    page.uncheck("input[name=regions]")
    assert not page.is_visible(".view svg")


def pixels(png: bytes) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def view_of(page: Page, name: str) -> NDArray[np.uint8]:
    """A row's picture and what lies over it, pixel by pixel; not its rounded corners."""
    place = f".row[data-name={name}] .view {{ position: fixed; left: 0; top: 0; z-index: 9 }}"
    corner = page.add_style_tag(content=place)
    shown = pixels(page.screenshot(clip={"x": 0, "y": 0, "width": 160, "height": 120}))
    corner.evaluate("style => style.remove()")
    return shown[8:-8, 8:-8]


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_map_is_light_over_the_dimmed_picture(page: Page, name: str, tmp_path: Path) -> None:
    """As the figures of the documents are drawn, and the legend so over a grey of 128."""
    page.check(f"input[value={name}]", force=True)
    page.fill("input[name=fade]", "100")
    page.uncheck("input[name=regions]")
    shown = view_of(page, "b")
    parts = images(row(tmp_path, "b", 220).html)
    values = np.asarray(Image.open(tmp_path / f"b.{name}.png")) // 4 * 4 / 255
    expected = lit(np.asarray(parts["picture"].convert("RGB")), values, QUANTITIES[name].colours)
    assert np.abs(shown.astype(int) - expected[8:-8, 8:-8]).max() <= 3
    legend = pixels(page.locator(f".scale.{name} i").screenshot())[6]
    grey = np.full((1, 2, 3), 128, np.uint8)
    ends = lit(grey, np.array([[0.0, 1.0]]), QUANTITIES[name].colours)[0]
    assert np.abs(legend[[3, -3]].astype(int) - ends).max() <= 12


def test_low_values_darken_nothing_however_far_the_map_is_faded(page: Page) -> None:
    page.uncheck("input[name=regions]")
    for fade in ("30", "75"):
        page.fill("input[name=fade]", fade)
        page.check("input[value=probability]", force=True)
        shown = view_of(page, "b").astype(int)
        hidden = page.add_style_tag(content=".layer { visibility: hidden }")
        bare = view_of(page, "b").astype(int)
        hidden.evaluate("style => style.remove()")
        assert (shown >= bare - 1).all()
        assert (shown > bare + 10).any()
