"""`smokescope evaluate`: figures, rows and a page, or one sentence."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
import torch
from PIL import Image
from tests.models.small import TINY, small_bvm

from smokescope.checkpoints.files import summarise
from smokescope.checkpoints.model import save_model
from smokescope.data.comparison import Comparison, Found
from smokescope.data.layouts import list_negatives, list_pairs
from smokescope.data.pairs import read_pair
from smokescope.data.sets import PictureName
from smokescope.inference import Segmenter
from smokescope.inference.engines.torch import TorchEngine
from smokescope.inference.evaluation import Evaluator
from smokescope.models import InputSettings, Pipeline, build_model

Run = Callable[..., CompletedProcess[str]]

INPUT = InputSettings(height=64, width=64)


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return Pipeline(small_bvm(), INPUT, temperature=1.5, threshold=0.45).eval()


@pytest.fixture
def model(pipeline: Pipeline, tmp_path: Path) -> Path:
    save_model(pipeline, tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def write_picture(path: Path, seed: int, size: tuple[int, int] = (50, 40)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Five pairs of two sizes."""
    for number in range(5):
        size = (50, 40) if number < 3 else (30, 60)
        write_picture(tmp_path / "test" / "img" / f"p{number}.png", number, size)
        mask = Image.new("L", size)
        mask.paste(255, (5, 5, 20, 12 + number))
        (tmp_path / "test" / "gt").mkdir(exist_ok=True)
        mask.save(tmp_path / "test" / "gt" / f"p{number}.png")
    return tmp_path / "test"


@pytest.fixture
def negatives(tmp_path: Path) -> Path:
    for number in range(3):
        write_picture(tmp_path / "hills" / "day" / f"n{number}.png", 10 + number)
    return tmp_path / "hills"


def write_comparison(path: Path, names: list[str], of: str = "test") -> Path:
    nearest = PictureName("train", "x")
    found = {
        PictureName(of, name): Found("seen" if number % 2 else "unseen", 0.5, nearest)
        for number, name in enumerate(names)
    }
    path.write_bytes(Comparison(0.22, {of: "pairs"}, {"train": "pairs"}, found).encode())
    return path


def read_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_figures_are_those_of_the_same_pictures_by_hand(
    run: Run, pipeline: Pipeline, model: Path, data: Path, negatives: Path, tmp_path: Path
) -> None:
    evaluator = Evaluator(Segmenter(TorchEngine(pipeline, "cpu")))
    for pair in (*list_negatives(negatives).pairs, *list_pairs(data).pairs):
        evaluator.add(PictureName("any", pair.name), *read_pair(pair))
    expected = evaluator.finish().report
    result = run(
        *("evaluate", "--data", data, "--negatives", negatives, "--model", model, "--device", "cpu"),
        *("--json", tmp_path / "new" / "r.json", "--csv", tmp_path / "rows.csv"),
    )
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads((tmp_path / "new" / "r.json").read_text())
    assert found.pop("speed")["images_per_second"] > 0
    assert found == expected
    assert list(found)[:3] == ["images", "negatives", "mse"]
    assert (found["images"], found["negatives"]) == (5, 3)
    rows = read_rows(tmp_path / "rows.csv")
    assert [(row["set"], row["name"]) for row in rows] == [
        *(("hills", f"day/n{n}") for n in range(3)),
        *(("test", f"p{n}") for n in range(5)),
    ]
    assert "5 pictures with smoke, 3 without" in result.stdout
    assert f"{expected['mse']:.4f}" in result.stdout


def test_a_folder_gets_the_page_and_all_else(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    result = run("evaluate", "--data", data, "--model", model, "--out", tmp_path / "out", "--samples", 2)
    assert result.returncode == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "pictures.csv",
        "report.html",
        "report.json",
    ]
    figures = json.loads((tmp_path / "out" / "report.json").read_text())["uncertainty"]
    assert None not in (figures["total_r"], figures["aleatoric_r"], figures["epistemic_r"], figures["mse"])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "m.safetensors" in page
    assert f"<dt>Data</dt><dd>{data.name}</dd>" in page
    assert "<dd>compared with 2 Monte Carlo samples</dd>" in page
    assert "that includes reading, 2 samples and measuring" in page
    checksum = summarise(model).metadata["sha256"]
    assert f"<dt>Weights of m</dt><dd>{checksum[:12]}</dd>" in page
    assert page.count("<svg") == 4


def test_intervals_are_told_written_and_shown(
    run: Run, model: Path, data: Path, negatives: Path, tmp_path: Path
) -> None:
    given = ("evaluate", "--data", data, "--negatives", negatives, "--model", model, "--intervals")
    result = run(*given, "--out", tmp_path / "out")
    assert (result.returncode, result.stderr) == (0, "")
    assert "when the 8 scenes are redrawn at random" in result.stdout
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    interval = found["interval"]
    assert interval["scenes"] == 8
    assert interval["low"]["mse"] < found["mse"] < interval["high"]["mse"]
    row = next(line for line in result.stdout.splitlines() if line.startswith("mse"))
    figures = (found["mse"], interval["low"]["mse"], interval["high"]["mse"])
    assert row.split()[1:] == [*(f"{figure:.4f}" for figure in figures), "lower", "is", "better"]
    assert "8 scenes are redrawn at random" in (tmp_path / "out" / "report.html").read_text()
    for name in ("p1", "p2", "p3", "p4"):
        (data / "img" / f"{name}.png").unlink()
        (data / "gt" / f"{name}.png").unlink()
    result = run("evaluate", "--data", data, "--model", model, "--intervals", "--json", tmp_path / "r.json")
    assert "no intervals: all pictures are of one scene" in result.stdout
    assert "interval" not in json.loads((tmp_path / "r.json").read_text())


def test_another_model_is_set_beside_it(
    run: Run, model: Path, pipeline: Pipeline, data: Path, negatives: Path, tmp_path: Path
) -> None:
    sharper = Pipeline(pipeline.network, INPUT, temperature=0.5, threshold=0.45).eval()
    save_model(sharper, tmp_path / "sharp.safetensors")
    given = ("evaluate", "--data", data, "--negatives", negatives)
    beside = ("--model", model, "--against", tmp_path / "sharp.safetensors")
    result = run(*given, *beside, "--intervals", "--samples", "2", "--out", tmp_path / "out")
    assert (result.returncode, result.stderr) == (0, "")
    assert (
        "95 % of the values that a difference takes when the 8 scenes are redrawn at random" in result.stdout
    )
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    for name in (model, tmp_path / "sharp.safetensors"):
        run(*given, "--model", name, "--json", tmp_path / f"{name.stem}.json")
    alone, sharp = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("m", "sharp"))
    assert found["mse"] == pytest.approx(alone["mse"])
    assert found["against"]["mse"] == pytest.approx(sharp["mse"])
    assert found["against"]["alarm"] == sharp["alarm"]
    difference = found["difference"]
    assert "interval" not in found
    assert difference["low"]["mse"] < alone["mse"] - sharp["mse"] < difference["high"]["mse"]
    assert difference["low"]["uncertainty"]["total_r"] is None  # samples are of the first alone
    row = next(line for line in result.stdout.splitlines() if line.startswith("mse"))
    figures = (alone["mse"], sharp["mse"], alone["mse"] - sharp["mse"])
    assert row.split()[1:4] == [f"{figure:.4f}" for figure in figures[:2]] + [f"{figures[2]:+.4f}"]
    head = next(line for line in result.stdout.splitlines() if line.startswith(" " * 32))
    assert head.split() == ["m", "sharp", "difference", "95", "%", "from", "to"]
    assert (" * lower is better" in row) == (difference["low"]["mse"] * difference["high"]["mse"] > 0)
    assert "that includes reading, the other model, 2 samples, intervals and measuring" in result.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "m.safetensors against sharp.safetensors" in page
    checksum = summarise(tmp_path / "sharp.safetensors").metadata["sha256"]
    assert f"<dt>Weights of sharp</dt><dd>{checksum[:12]}</dd>" in page
    assert "<th>m</th><th>sharp</th><th>difference</th><th>95 % from</th><th>to</th>" in page
    result = run(*given, "--against", tmp_path / "none.safetensors")
    assert result.returncode == 2
    assert "none.safetensors" in result.stderr


def test_what_cannot_be_written_is_told_before_work_starts(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "r.json").mkdir()
    for targets, words in (
        (("--json", tmp_path / "r.json"), "a folder or device has that name"),
        (("--json", tmp_path / "x", "--csv", tmp_path / "y" / ".." / "x"), "two different results"),
        (("--out", tmp_path, "--csv", tmp_path / "report.json"), "two different results"),
        (("--json", tmp_path / "not read yet"), "would be overwritten"),
        (("--against", tmp_path / "b.xml", "--csv", tmp_path / "b.bin"), "would be overwritten"),
    ):
        result = run("evaluate", "--data", data, "--model", tmp_path / "not read yet", *targets)
        assert (result.returncode, result.stdout) == (2, "")
        assert words in result.stderr


def test_seen_and_unseen_scenes_apart(
    run: Run, model: Path, data: Path, negatives: Path, tmp_path: Path
) -> None:
    scenes = write_comparison(tmp_path / "against.json", [f"p{n}" for n in range(5)])
    result = run(
        *("evaluate", "--data", data, "--negatives", negatives, "--model", model),
        *("--scenes", scenes, "--json", tmp_path / "r.json", "--csv", tmp_path / "rows.csv"),
    )
    assert result.returncode == 0
    found = json.loads((tmp_path / "r.json").read_text())
    assert list(found)[-3:] == ["speed", "seen", "unseen"]
    assert (found["images"], found["seen"]["images"], found["unseen"]["images"]) == (5, 2, 3)
    assert (found["negatives"], found["seen"]["negatives"]) == (3, 0)  # of unknown scenes
    together = (2 * found["seen"]["mse"] + 3 * found["unseen"]["mse"]) / 5
    assert found["mse"] == pytest.approx(together)
    rows = {row["name"]: row["scene"] for row in read_rows(tmp_path / "rows.csv")}
    assert (rows["p0"], rows["p1"], rows["day/n0"]) == ("unseen", "seen", "")
    assert "all      seen    unseen" in result.stdout


def test_scenes_must_speak_of_all_the_data(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    some = write_comparison(tmp_path / "some.json", ["p0", "p1", "p3"])
    result = run("evaluate", "--data", data, "--model", model, "--scenes", some)
    assert result.returncode == 2
    assert "p2 of test was not compared" in result.stderr
    assert "p4 of test was not compared" in result.stderr
    other = write_comparison(tmp_path / "other.json", ["p0"], of="elsewhere")
    assert (
        "is none of the known sets"
        in run("evaluate", "--data", data, "--model", model, "--scenes", other).stderr
    )
    (tmp_path / "folds.json").write_text('{"format": "smokescope folds", "version": 1}')
    result = run("evaluate", "--data", data, "--model", model, "--scenes", tmp_path / "folds.json")
    assert "is not a smokescope comparison file; its format is smokescope folds" in result.stderr


def test_all_that_is_wrong_is_told_before_work_starts(
    run: Run, model: Path, data: Path, negatives: Path, tmp_path: Path
) -> None:
    (data / "gt" / "p1.png").unlink()
    (negatives / "bad.jpg").write_text("text")
    arguments = ("evaluate", "--data", data, "--negatives", negatives, "--model", model)
    result = run(*arguments, "--json", tmp_path / "r.json")
    assert (result.returncode, result.stdout) == (2, "")
    assert "p1.png has no mask" in result.stderr
    assert "bad.jpg is not a JPEG" in result.stderr
    assert not (tmp_path / "r.json").exists()
    result = run(*arguments, "--json", tmp_path / "r.json", "--skip-bad")
    assert result.returncode == 0
    assert "4 pictures with smoke, 3 without, 2 files left out" in result.stdout
    assert json.loads((tmp_path / "r.json").read_text())["images"] == 4


def test_samples_are_drawn_in_the_engine_that_can(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    result = run(
        *("evaluate", "--data", data, "--model", model, "--samples", 2, "--engine", "auto"),
        *("--json", tmp_path / "r.json"),
    )
    assert result.returncode == 0, result.stderr
    assert "by PyTorch" in result.stdout
    assert json.loads((tmp_path / "r.json").read_text())["uncertainty"]["total_r"] is not None


def test_no_room_for_the_last_batch_is_told(
    run: Run, model: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(Segmenter, "maps", full)
    done = run("evaluate", "--data", data, "--model", model)  # few pictures: all of them wait for the end
    assert done.returncode == 2
    assert "one of the last pictures does not fit into memory" in done.stderr
    assert "Traceback" not in done.stderr


def test_quiet_pictures_alone_tell_false_alarms(
    run: Run, model: Path, negatives: Path, tmp_path: Path
) -> None:
    result = run("evaluate", "--negatives", negatives, "--model", model, "--out", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert "0 pictures with smoke, 3 without" in result.stdout
    assert "alarm/shipped/false_alarm_rate" in result.stdout
    assert "f_beta" not in result.stdout  # nothing is said of what has no meaning
    report = json.loads((tmp_path / "out/report.json").read_text())
    flagged = [int(row["flagged"]) for row in read_rows(tmp_path / "out/pictures.csv")]
    assert report["alarm"]["false_alarm_rate"] == sum(flagged) / 3
    assert report["f_beta"]["mean"] is None
    page = (tmp_path / "out/report.html").read_text()
    assert page.count("<svg") == 1


def test_bad_input_is_one_sentence(
    run: Run, model: Path, data: Path, negatives: Path, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    save_model(Pipeline(build_model(TINY), INPUT), tmp_path / "unet.safetensors")
    scenes = write_comparison(tmp_path / "scenes.json", ["p0"])
    for arguments, words in (
        (("--data", negatives, "--model", model), "is not a data set"),
        (("--data", data, "--negatives", data, "--model", model), "name a folder of pictures without smoke"),
        (("--data", data, "--model", tmp_path / "none.safetensors"), "does not exist"),
        (("--data", data, "--model", model, "--device", "tpu"), "no device 'tpu' here"),
        (("--data", data, "--model", model, "--out", data / "img"), "among the data"),
        (("--data", data, "--model", tmp_path / "unet.safetensors", "--samples", 3), "cannot draw samples"),
        (
            ("--data", data, "--model", model, "--samples", 1),
            "--samples 1 shows no spread: ask for 2 or more",
        ),
        (
            ("--data", data, "--model", model, "--samples", 3, "--engine", "onnx"),
            "exported with --monte-carlo",
        ),
        (("--model", model), "nothing to measure on"),
        (("--negatives", negatives, "--model", model, "--samples", 3), "--samples needs pictures with smoke"),
        (("--negatives", negatives, "--model", model, "--scenes", scenes), "covers none of the data"),
    ):
        result = run("evaluate", *arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert words in result.stderr
        assert "Traceback" not in result.stderr


def test_a_unet_is_measured_like_any_other(run: Run, data: Path, tmp_path: Path) -> None:
    save_model(Pipeline(build_model(TINY), INPUT), tmp_path / "unet.safetensors", int8=True)
    result = run(
        "evaluate", "--data", data, "--model", tmp_path / "unet.safetensors", "--csv", tmp_path / "r.csv"
    )
    assert result.returncode == 0
    assert {row["epistemic"] for row in read_rows(tmp_path / "r.csv")} == {"0"}
