"""The page: a row a picture with all its layers, nothing from outside, and names that are only names."""

import base64
import io
import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.bright import VERDICTS, bright, hill

from smokescope.data.inputs import PictureFile
from smokescope.data.pictures import encode_png
from smokescope.report.overlay import SIGNS
from smokescope.report.predict_page import picture_side, predict_page
from smokescope.report.predict_row import Row, picture_row
from smokescope.report.results import QUANTITIES, about_file, encode_results, read_result

THRESHOLDS = {"mask": 0.55, **asdict(VERDICTS)}


def row(folder: Path, name: str, red: int, side: int = 640) -> Row:
    picture = hill(red, 120, 160)
    (folder / f"{name}.png").write_bytes(encode_png(picture))
    about = {"thresholds": THRESHOLDS, **about_file(folder / f"{name}.png")}
    for ending, data in encode_results(picture, bright()(picture), about).items():
        (folder / f"{name}{ending}").write_bytes(data)
    return picture_row(read_result(PictureFile(folder / f"{name}.png", Path(name)), folder), folder, side)


def again(folder: Path) -> str:
    """The row of a.png as its files tell it now."""
    return picture_row(read_result(PictureFile(folder / "a.png", Path("a")), folder), folder, 640).html


def images(html: str) -> dict[str, Image.Image]:
    found = re.findall(r'<img(?: class="layer (\w+)")? alt="[^"]*" src="data:image/\w+;base64,([^"]+)"', html)
    return {name or "picture": Image.open(io.BytesIO(base64.b64decode(data))) for name, data in found}


def test_a_row_has_the_picture_and_every_layer(tmp_path: Path) -> None:
    verdict, _, _, html = row(tmp_path, "a", 230)
    assert verdict == "smoke"
    found = images(html)
    assert set(found) == {"picture", "mask", *QUANTITIES}
    assert {image.size for image in found.values()} == {(160, 120)}
    added = np.asarray(found["probability"].convert("RGB"))
    assert added[15, 30].max() > 220
    assert added[100, 100].max() < 10  # where there is nothing, the picture shows through
    assert np.asarray(found["mask"].convert("RGBA"))[..., 3].astype(bool).sum() == 200


@pytest.mark.parametrize("what", ["replaced", "half-written", "gone"])
def test_a_row_shows_the_picture_that_was_looked_at(tmp_path: Path, what: str) -> None:
    row(tmp_path, "a", 230)
    file = PictureFile(tmp_path / "a.png", Path("a"))
    if what == "replaced":
        file.path.write_bytes(encode_png(np.full((50, 300, 3), 255, np.uint8)))
    elif what == "half-written":
        file.path.write_bytes(file.path.read_bytes()[:-40])
    else:
        file.path.unlink()
    verdict, _, _, html = picture_row(read_result(file, tmp_path), tmp_path, 640)
    assert verdict == "smoke"
    assert images(html)["picture"].size == (160, 120)
    assert "replaced or removed" in html


def test_rows_come_by_verdict_then_probability_then_area() -> None:
    rows = [
        Row("nothing", 0.05, 0, "a"),
        Row("smoke", 1.0, 0.02, "b"),
        Row("nothing", 0.24, 0, "c"),
        Row("smoke", 1.0, 0.39, "d"),
        Row("unsure", 0.49, 0.1, "e"),
        Row("smoke", 0.9, 0.5, "f"),
    ]
    assert '<main class="rows">dbfeca</main>' in predict_page(rows, "by a model")


def test_a_row_says_its_highest_probability(tmp_path: Path) -> None:
    """Near misses too: nothing was found, and how near it came is told."""
    for red, shown in ((230, "90 %"), (70, "27 %"), (255, "&gt; 99 %")):
        found = row(tmp_path, "a", red)
        assert found.highest == round(red / 255, 2)
        assert f"<dt>Highest probability</dt><dd>{shown}</dd>" in found.html
        assert f'data-highest="{red / 255:.2f}"' in found.html
    assert row(tmp_path, "a", 70).verdict == "nothing"


def test_what_could_not_be_looked_at_comes_first(tmp_path: Path) -> None:
    html = predict_page([row(tmp_path, "a", 230)], "Made now", ["x/<b>.jpg is empty"] * 25)
    assert "<h1>1 picture: 1 smoke, 0 unsure, 0 nothing; 25 failed</h1>" in html
    assert html.index("x/&lt;b&gt;.jpg is empty") < html.index("<main")
    assert "and 5 more" in html


def test_a_row_says_what_was_found(tmp_path: Path) -> None:
    html = row(tmp_path, "a", 230).html
    assert 'data-verdict="smoke"' in html
    assert f'data-area="{200 / 120 / 160:.6f}"' in html
    assert '<svg viewBox="0 0 160 120"' in html
    (points,) = re.findall(r'<polygon class="smoke" points="([^"]+)"', html)
    line = np.array([point.split(",") for point in points.split()], int)
    assert (line.min(0).tolist(), line.max(0).tolist()) == ([16, 6], [43, 23])  # outside 20,10 to 39,19
    assert "90 %" in html
    assert "<dd>1.04 % of the picture is above 0.55</dd>" in html
    assert 'href="a.overlay.jpg"' in html
    means = "total 0.027 nats, of the whole picture:<br>aleatoric 0.014 · epistemic 0.014"
    assert f"<dt>Mean uncertainty</dt><dd>{means}</dd>" in html
    verdict, _, _, html = row(tmp_path, "b", 20)
    assert verdict == "nothing"
    assert "<polygon" not in html
    assert "Nothing found" in html


def test_small_means_are_not_called_zero(tmp_path: Path) -> None:
    row(tmp_path, "a", 230)
    path = tmp_path / "a.json"
    record = json.loads(path.read_text())
    record["mean"]["epistemic"] = 0.0004
    path.write_text(json.dumps(record))
    html = again(tmp_path)
    assert "epistemic &lt; 0.001<" in html


def test_the_first_regions_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    row(tmp_path, "a", 230)
    path = tmp_path / "a.json"
    record = json.loads(path.read_text())
    told = {
        "peak": 0.91,
        "share": 0.0123,
        "probability": 0.5,
        "total": 0.31,
        "epistemic": 0.05,
        "doubt": 0.012,
    }
    record["regions"] = 7 * [record["regions"][0] | told]
    path.write_text(json.dumps(record))
    html = again(tmp_path)
    line = "<td>91 %</td><td>1.23 %</td><td>0.31</td><td>0.012</td></tr>"
    assert (html.count("<tr><td>"), html.count(line)) == (5, 5)
    assert re.findall("<th>(.*?)</th>", html) == [
        "region",
        "peak probability",
        "area above 0.3",
        "mean total, nats",
        "epistemic at peak, nats",
    ]
    assert "and 2 more" in html
    assert html.count("<polygon") == 7


def test_large_pictures_are_shown_small(tmp_path: Path) -> None:
    html = row(tmp_path, "a", 230, side=80).html
    assert {image.size for image in images(html).values()} == {(80, 60)}
    assert picture_side(1) > picture_side(500) > picture_side(5000)


def test_names_cannot_become_tags_or_leave_their_folder(tmp_path: Path) -> None:
    html = row(tmp_path, '"><script>alert(1)<', 230).html
    assert "<script" not in html
    assert 'href="%22%3E%3Cscript%3Ealert%281%29%3C.overlay.jpg"' in html


def test_the_page_counts_and_asks_for_nothing(tmp_path: Path) -> None:
    rows = [row(tmp_path, "a", 20), row(tmp_path, "b", 120), row(tmp_path, "c", 220), row(tmp_path, "d", 230)]
    html = predict_page(rows, "by a model")
    assert "4 pictures: 2 smoke, 1 unsure, 1 nothing" in html
    assert re.findall(r'data-name="(\w)"', html) == [
        "d",
        "c",
        "b",
        "a",
    ]  # what matters first, without a script
    outside = re.findall(r'(?:src|href)="(?!data:|[\w.]+\.(?:overlay\.jpg|json)")[^"]*"', html)
    assert outside == []
    assert not re.search(r"https?:|@import|url\(", html)
    assert 'class="scale probability">0 <i></i> 1 &nbsp; probability of smoke<' in html
    for name in ("total", "aleatoric", "epistemic"):  # a scale without its unit is none
        assert re.search(rf'class="scale {name}">0 <i></i> 0\.\d+ &nbsp; nats ', html)
    for control in ('name="map"', 'name="fade"', 'name="sort"', 'name="verdict"', 'name="regions"'):
        assert control in html


def luminance(colour: str) -> float:
    """Of a colour in hexadecimal: WCAG 2.2, relative luminance."""
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    shares = np.array(list(bytes.fromhex(digits))) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(one: str, other: str) -> float:
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_words_stand_out_from_what_is_behind_them(tmp_path: Path) -> None:
    """By 4.5, as WCAG asks of small words: on signs of overlays, on badges, on the page in light and dark."""
    assert contrast("fff", "000") == pytest.approx(21)
    assert contrast("e63c14", "ffffff") == pytest.approx(4.2, abs=0.05)
    pairs = {name: (bytes(ground).hex(), bytes(ink).hex()) for name, (ground, ink) in SIGNS.items()}
    style = re.findall("<style>(.*?)</style>", predict_page([], "by a model"), re.DOTALL)[0]
    badges = re.findall(r"\.(\w+) > \.told \.badge {([^}]*)}", style)
    assert {name for name, _ in badges} == {"smoke", "unsure", "nothing"}
    for name, rule in badges:
        found = dict(re.findall(r"(background|color): #(\w+);", rule))
        assert (found["background"], found["color"]) == pairs[name]
    assert not re.search(r"\.badge {[^}]*background", style.split(".smoke > .told .badge")[0])
    colours: dict[str, str] = {}
    for scheme in re.findall(r":root {([^}]*--ink[^}]*)}", style):
        colours |= dict(re.findall(r"--(\w+): #(\w+);", scheme))
        for ink in ("ink", "faint"):
            for ground in ("paper", "card"):
                pairs[f"{ink} on {ground} #{colours[ground]}"] = (colours[ground], colours[ink])
    assert len(pairs) == 3 + 2 * 4
    low = {name: contrast(*pair) for name, pair in pairs.items() if contrast(*pair) < 4.5}
    assert low == {}


def test_what_numbers_mean_is_said_without_a_mouse(tmp_path: Path) -> None:
    html = predict_page([row(tmp_path, "a", 230)], "by a model")
    (told,) = re.findall('<details class="meanings">(.*?)</details>', html)
    for column in re.findall("<th>(.*?)</th>", html):
        assert f"<dt>{column}</dt>" in told or column == "area above 0.3"
    for fact in ("Highest probability", "Mask", "Mean uncertainty"):
        assert f"<dt>{fact}</dt>" in html
        assert f"<dt>{fact.lower()}</dt>" in told
    assert not re.search(r"<t[hd][^>]* title=", html)
