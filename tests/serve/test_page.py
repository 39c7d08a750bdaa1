"""The page in a real browser, from a dropped picture to the list of regions."""

import base64
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from smokescope.inference import Prediction
from smokescope.serve.limits import Limits
from smokescope.serve.service import Service
from smokescope.uncertainty import LN2
from tests.browser import NEEDED, chromium
from tests.serve.service import MODEL, Brightness, live

if NEEDED:
    from playwright import sync_api
else:
    sync_api = pytest.importorskip("playwright.sync_api")
Page = sync_api.Page
NAME_OF_FOCUS = """() => {
    const { id, name, className } = document.activeElement;
    return id || name || className;
}"""
RECTANGLES = """names => names.map(name => [...document.querySelectorAll(name)].map(each => {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    return [left, top, right, bottom];
}))"""
RAMP = """() => {
    const copy = new OffscreenCanvas(256, 1).getContext("2d", { willReadFrequently: true });
    copy.drawImage(document.querySelector("#ramp"), 0, 0);
    return [...copy.getImageData(0, 0, 256, 1).data];
}"""
WITHOUT = "names => names.forEach(name => (document.getElementById(name).style.display = 'none'))"
PAIRS = """found => found.map(each => {
    const { color, backgroundColor } = getComputedStyle(each);
    return [color, backgroundColor];
})"""
HELD = """() => {
    const create = window.createImageBitmap;
    window.held = [];
    window.createImageBitmap = async (...all) => {
        if (held.length < 4) await new Promise(release => held.push(release));
        return create(...all);
    };
}"""
LUMA = np.array([0.2126, 0.7152, 0.0722])
TOKEN = "a-token-for-the-tests"
DROP = """([base64, name, type]) => {
    const bytes = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], name, { type }));
    for (const kind of ["dragenter", "dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true }));
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with live(Service(Brightness(), MODEL, Limits())) as found:
        yield found


class Slopes(Brightness):
    """Finds more of everything the further right, whatever is there: from nothing to the most."""

    def many(self, pictures: Sequence[NDArray[np.uint8]], /) -> list[Prediction]:
        return [slope(each.shape[0], each.shape[1]) for each in pictures]


def slope(height: int, width: int) -> Prediction:
    share = np.tile(np.linspace(0, 1, width, dtype=np.float32), (height, 1))
    total = share * LN2
    return Prediction(share, share > 0.5, total, total, (share / 10).astype(np.float32))


@pytest.fixture(scope="module")
def sloping() -> Iterator[str]:
    with live(Service(Slopes(), MODEL, Limits())) as found:
        yield found


@pytest.fixture
def page(browser: sync_api.Browser, address: str) -> Iterator[Page]:
    yield from opened(browser, address)


def opened(browser: sync_api.Browser, address: str, expected: tuple[str, ...] = ()) -> Iterator[Page]:
    """The page, opened; a word in the console or a request to elsewhere fails the test."""
    trouble: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    shown = context.new_page()
    shown.set_default_timeout(15_000)
    shown.on("console", lambda message: trouble.append(message.text))
    shown.on("pageerror", lambda error: trouble.append(str(error)))
    shown.on(
        "request", lambda request: trouble.append(request.url) if outside(request.url, address) else None
    )
    shown.goto(address)
    shown.wait_for_selector("#model:not(:empty), #token:not([hidden])")
    yield shown
    context.close()
    assert [each for each in trouble if not any(words in each for words in expected)] == []


def outside(url: str, address: str) -> bool:
    return not url.startswith((address + "/", "blob:" + address))


def hill() -> bytes:
    """Dark, with a bright plume on the left, one that is not quite on the right, and a soft edge below."""
    grey = np.full((120, 160), 20, np.uint8)
    grey[20:50, 10:60] = 230
    grey[20:50, 110:150] = 100
    grey[80:120] = np.linspace(0, 250, 160).astype(np.uint8)
    return encoded(grey)


def specks() -> bytes:
    """Smoke of 0.05 % of the picture each: in the middle, in corners, at two sides, and three in a pile."""
    grey = np.full((480, 640), 20, np.uint8)
    corners = [(left, top) for left in (0, 627) for top in (0, 468)]
    for left, top in [(313, 234), *corners, (0, 200), (300, 0), (500, 300), (500, 320), (520, 330)]:
        grey[top : top + 12, left : left + 13] = 230
    return encoded(grey)


def encoded(grey: NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(grey).convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


def drop(page: Page, data: bytes, name: str = "hill.png", kind: str = "image/png") -> None:
    page.evaluate(DROP, [base64.b64encode(data).decode(), name, kind])


def see(page: Page, data: bytes | None = None) -> None:
    drop(page, data or hill())
    page.wait_for_selector("#facts:not(:empty)")


def pixels(page: Page, selector: str) -> NDArray[np.float64]:
    """What is seen of an element, H x W x 3."""
    settle(page)
    return np.asarray(Image.open(io.BytesIO(page.locator(selector).screenshot())).convert("RGB"), float)


def meet(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two rectangles have a part in common."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def settle(page: Page) -> None:
    """Wait until all is drawn and nothing moves."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.evaluate("() => Promise.allSettled(document.getAnimations().map(each => each.finished))")


def ink(page: Page, selector: str) -> int:
    """How many pixels of a canvas are drawn on, once it has been drawn."""
    settle(page)
    script = """name => {
        const canvas = document.querySelector(name);
        const { width, height } = canvas;
        const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
        copy.drawImage(canvas, 0, 0);
        const data = copy.getImageData(0, 0, width, height).data;
        let count = 0;
        for (let i = 3; i < data.length; i += 4) count += data[i] > 20;
        return count;
    }"""
    return int(page.evaluate(script, selector))


def slide(page: Page, selector: str, value: float) -> None:
    page.locator(selector).fill(str(value))


def test_from_drop_to_regions(page: Page) -> None:
    assert page.is_visible("text=Is that smoke?")
    assert not page.is_visible("#viewer")
    see(page)
    assert not page.is_visible("#drop")
    assert not page.is_visible("#problem")
    assert page.inner_text("#verdict-word") == "Smoke"
    assert page.inner_text("#verdict-words") == "Look at once: 2 regions are smoke, one is uncertain."
    assert page.inner_text("#status").startswith("Smoke.")
    assert page.inner_text("#facts").startswith("hill.png · 160 × 120 pixels")
    assert page.get_attribute("#picture", "alt") == "hill.png: smoke"
    regions = page.locator(".region").all_inner_texts()
    assert [text.split("\n")[:2] for text in regions] == [["1", "Smoke"], ["2", "Smoke"], ["3", "Unsure"]]
    assert "7.8 %" in regions[1]  # 30 x 50 of 160 x 120
    assert "peak 39.2 %: called smoke above 50 %" in regions[2]
    assert page.locator("#shapes path.unsure").count() == 1


def test_the_threshold_acts_at_once_and_without_the_service(page: Page) -> None:
    see(page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    at_half = ink(page, "#layer")
    slide(page, "#threshold", 0.3)
    at_third = ink(page, "#layer")
    assert at_third - at_half >= 30 * 40  # the second plume is in it now
    expected = 100 * np.mean(np.asarray(Image.open(io.BytesIO(hill())).convert("L")) / 255 > 0.3)
    assert page.inner_text("#covered") == f"{expected:.1f} % of the picture is above it."
    page.click("#reset")
    assert page.input_value("#threshold") == "0.5"
    assert ink(page, "#layer") == at_half
    assert not page.is_visible("#reset")
    assert requests == []


def test_layers_are_switched_and_faded_and_the_outline_goes(page: Page) -> None:
    see(page)
    outlined = ink(page, "#outline")
    assert outlined > 200
    page.uncheck("#outlined")
    assert ink(page, "#outline") == 0
    layers = (
        ("probability", "How likely", "1"),
        ("total", "All doubt", "0.69"),
        ("epistemic", "lies in the model", "0.1"),
    )
    for name, words, high in layers:
        page.check(f"[name=layer][value={name}]", force=True)
        assert words in page.inner_text("#meaning")
        assert page.inner_text("#high") == high
        slide(page, "#fade", 0)
        assert ink(page, "#layer") == 0
        slide(page, "#fade", 1)
        assert ink(page, "#layer") == 160 * 120


def test_the_list_and_the_picture_point_at_each_other(page: Page) -> None:
    see(page)
    page.hover(".region >> nth=1")
    assert "lit" in (page.get_attribute("#badges .badge >> nth=1", "class") or "")
    assert "lit" in (page.get_attribute("#spot", "class") or "")
    frame = page.locator("#frame").bounding_box()
    assert frame is not None
    page.mouse.move(frame["x"] + frame["width"] * 130 / 160, frame["y"] + frame["height"] * 35 / 120)
    assert "lit" in (page.get_attribute(".region >> nth=2", "class") or "")
    assert "lit" not in (page.get_attribute(".region >> nth=1", "class") or "")
    assert "probability 0.39" in page.inner_text("#probe")


@pytest.mark.parametrize("grey", [0, 128, 161, 255])
def test_a_map_adds_light_to_a_dimmed_picture_as_its_legend_says(
    browser: sync_api.Browser, sloping: str, grey: int
) -> None:
    for page in opened(browser, sloping):
        see(page, encoded(np.full((480, 640), grey, np.uint8)))
        page.evaluate(WITHOUT, ["shapes", "outline", "badges"])
        for layer in ("probability", "total", "aleatoric", "epistemic"):
            page.check(f"[name=layer][value={layer}]", force=True)
            row = pixels(page, "#frame")[100, 2:-2]
            assert np.abs(row[0] - 0.4 * grey).max() <= 4  # dimmed alike, and grey
            assert (row >= 0.4 * grey - 1.5).all()
            assert (np.diff(row @ LUMA) > -1.5).all()  # the more, the brighter
            assert (row[-1] - row[0]).mean() > 120
            if grey == 128:
                legend = np.array(page.evaluate(RAMP), float).reshape(256, 4)[:, :3]
                shown = row[np.linspace(0, len(row) - 1, 256).round().astype(int)]
                assert np.abs(shown - legend).max() <= 8


@pytest.mark.parametrize("width", [400, 1400])
def test_no_number_hides_smoke(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    see(page, specks())
    settle(page)
    rim = 2

    def check(least: int) -> None:
        frame, *rest = page.evaluate(RECTANGLES, ["#frame", "#badges .badge:not([hidden])", "#shapes path"])
        badges = [(x0 - rim, y0 - rim, x1 + rim, y1 + rim) for x0, y0, x1, y1 in rest[0]]
        regions = rest[1][:-1]  # without the one that dims
        assert len(badges) >= least
        for index, badge in enumerate(badges):
            assert not any(meet(badge, other) for other in [*regions, *badges[:index]])
            assert frame[0][0] <= badge[0] < badge[2] <= frame[0][2]
            assert frame[0][1] <= badge[1] < badge[3] <= frame[0][3]

    check(10)
    page.set_viewport_size({"width": width - 70, "height": 700})
    page.wait_for_function("wide => innerWidth === wide", arg=width - 70)
    settle(page)
    check(10)
    page.click(".region >> nth=0")
    settle(page)
    assert page.is_visible("#whole")
    check(1)


def test_everything_by_keyboard(page: Page, tmp_path: Path) -> None:
    (tmp_path / "hill.png").write_bytes(hill())
    page.on("filechooser", lambda chooser: chooser.set_files(tmp_path / "hill.png"))
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.id") == "file":
            break
    assert page.evaluate("() => document.activeElement.id") == "file"
    page.keyboard.press("Enter")
    page.wait_for_selector("#facts:not(:empty)")
    reached = list[str]()
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(NAME_OF_FOCUS))
        match reached[-1]:
            case "threshold":
                page.keyboard.press("ArrowLeft")
                assert page.inner_text("#threshold-value") == "0.49"
            case "region lit" if reached.count("region lit") == 1:
                assert "lit" in (page.get_attribute("#badges .badge >> nth=0", "class") or "")
                page.keyboard.press("Enter")
                assert page.is_visible("#whole")
                page.keyboard.press("Escape")
                assert not page.is_visible("#whole")
    assert {"threshold", "fade", "outlined", "reset", "region lit", "layer"} <= set(reached)
    assert page.evaluate("() => document.querySelectorAll('[name=layer]').length") == 5
    page.focus("[name=layer][value=mask]")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#meaning").startswith("How likely")


def test_every_control_has_a_name(page: Page) -> None:
    see(page)
    tree = page.locator("body").aria_snapshot()
    for words in ('slider "Threshold"', 'slider "Fade"', 'radio "Epistemic"', 'button "New picture"'):
        assert words in tree
    assert 'button "Region 3: unsure' in tree
    assert page.locator("button:visible, input:visible").count() > 8


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_stand_out_from_what_is_behind_them(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    see(page)
    for selector in ("#badges .badge", ".region .badge"):
        pairs = page.locator(selector).evaluate_all(PAIRS)
        assert len(pairs) == 3
        for words, behind in pairs:
            brighter, darker = sorted((luminance(words), luminance(behind)), reverse=True)
            assert (brighter + 0.05) / (darker + 0.05) >= 4.5  # WCAG 2.2, 1.4.3


def luminance(colour: str) -> float:
    """Relative luminance of a browser's rgb(r, g, b)."""
    srgb = np.array(re.findall(r"\d+", colour)[:3], float) / 255
    return float(np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4) @ LUMA)


def test_what_goes_wrong_is_said_and_gone_with_the_next_picture(
    browser: sync_api.Browser, address: str
) -> None:
    for page in opened(browser, address, expected=("415", "422")):
        drop(page, b"dear diary", "diary.txt", "text/plain")
        page.wait_for_selector("#problem:not([hidden])")
        assert "This is not a JPEG, PNG or WebP picture" in page.inner_text("#problem")
        assert page.is_visible("#drop")
        see(page)
        assert not page.is_visible("#problem")
        drop(page, b"dear diary", "diary.txt", "text/plain")
        page.wait_for_selector("#problem:not([hidden])")
        assert page.inner_text("#verdict-word") == "Smoke"  # what was there stays
        assert page.is_visible("#viewer")
        drop(page, hill()[:200])
        page.wait_for_selector("#problem:not([hidden])")
        page.wait_for_selector("text=damaged or cut short")


def test_an_old_result_is_never_taken_for_a_new_pictures(browser: sync_api.Browser, address: str) -> None:
    def strength(page: Page) -> float:
        settle(page)
        return float(page.evaluate("() => getComputedStyle(document.querySelector('#viewer')).opacity"))

    for page in opened(browser, address, expected=("415",)):
        drop(page, b"no picture", "first.jpg")
        page.wait_for_selector("#problem:not([hidden])")
        assert page.inner_text("#problem span").startswith("first.jpg: This is not a JPEG")
        assert "below" not in page.inner_text("#problem")
        see(page)
        assert strength(page) == 1
        drop(page, b"no picture", "<i>broken</i>.jpg\u202e")
        page.wait_for_selector("#problem:not([hidden])")
        words = page.inner_text("#problem span")
        assert words.startswith("<i>broken</i>.jpg\ufffd: This is not a JPEG")
        assert words.endswith(" The result below is of hill.png.")
        assert strength(page) < 0.5
        page.click("#problem button")
        assert strength(page) == 1
        drop(page, b"no picture", "broken.jpg")
        page.wait_for_selector("#problem:not([hidden])")
        drop(page, hill(), "next.png")
        page.wait_for_selector("#facts:has-text('next.png')")
        assert strength(page) == 1


def test_maps_that_come_late_are_not_shown_under_the_next_picture(page: Page) -> None:
    page.evaluate(HELD)
    drop(page, hill(), "late.png")
    page.wait_for_function("() => held.length === 4")
    drop(page, encoded(np.full((120, 160), 20, np.uint8)), "dark.png")
    page.wait_for_selector("#facts:has-text('dark.png')")
    assert page.inner_text("#verdict-word") == "Nothing found"
    page.evaluate("() => held.forEach(release => release())")
    settle(page)
    assert page.inner_text("#verdict-word") == "Nothing found"
    assert page.locator(".region").count() == 0


def test_a_picture_that_the_browser_cannot_show_is_not_shown_as_the_one_before(page: Page) -> None:
    see(page)
    page.evaluate("() => (HTMLImageElement.prototype.decode = () => Promise.reject(new Error('no')))")
    drop(page, encoded(np.full((50, 100), 200, np.uint8)), "odd.png")
    page.wait_for_selector("#facts:has-text('odd.png')")
    assert page.inner_text("#problem span").startswith("odd.png: This browser cannot show the picture")
    assert "below" not in page.inner_text("#problem span")
    assert page.get_attribute("#picture", "src") is None
    frame = page.locator("#frame").bounding_box()
    assert frame is not None
    assert frame["width"] / frame["height"] == pytest.approx(2, rel=0.02)
    assert "stale" not in (page.get_attribute("#viewer", "class") or "")


def test_a_token_is_asked_for_only_when_needed(browser: sync_api.Browser, page: Page) -> None:
    assert not page.is_visible("#token")
    with live(Service(Brightness(), MODEL, Limits(), TOKEN)) as address:
        for locked in opened(browser, address, expected=("401",)):
            drop(locked, hill())
            locked.wait_for_selector("#problem:not([hidden])")
            assert "needs a token" in locked.inner_text("#problem")
            locked.fill("#token-input", "wrong-token-altogether")
            locked.keyboard.press("Enter")
            locked.wait_for_selector("text=This is not the service's token")
            locked.fill("#token-input", TOKEN)
            locked.keyboard.press("Enter")
            locked.wait_for_selector("#facts:not(:empty)")  # the picture was not forgotten
            assert not locked.is_visible("#token")


@pytest.mark.parametrize("width", [320, 390, 800, 1440])
def test_nothing_sticks_out_at_any_width(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for step in (lambda: None, lambda: see(page)):
        step()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_the_api_page_tells_of_every_endpoint(page: Page, address: str) -> None:
    page.goto(address + "/docs")
    page.wait_for_selector("section >> nth=4")
    text = page.inner_text("main")
    for path in ("/v1/segment", "/v1/model", "/livez", "/readyz", "/metrics"):
        assert path in text
