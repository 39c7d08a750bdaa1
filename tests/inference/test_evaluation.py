"""Figures of a model: the same as feeding the metrics by hand, whatever the batches."""

import csv
import io
import json
import os
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.models.small import small_bvm

from smokescope.chance import make_keys
from smokescope.data.comparison import Status
from smokescope.data.layouts import Pair
from smokescope.data.pictures import encode_png
from smokescope.data.scenes import SceneFinder
from smokescope.data.sets import PictureName
from smokescope.errors import SmokescopeError
from smokescope.inference import Segmenter, evaluation
from smokescope.inference.engines.torch import TorchEngine
from smokescope.inference.evaluation import Evaluation, Evaluator, read_ahead
from smokescope.inference.rows import rows_to_csv
from smokescope.metrics import CalibrationError, FBeta, IntersectionOverUnion, MeanSquaredError, SmokeMetrics
from smokescope.metrics.suite import flatten
from smokescope.models import InputSettings, Pipeline

SIZES = [(40, 70), (33, 33), (40, 70), (40, 70), (33, 33), (20, 90), (40, 70)]
SCENES: list[Status | None] = ["seen", "unseen", "unseen", None, "seen", "seen", None]

Example = tuple[PictureName, NDArray[np.uint8], NDArray[np.float32], Status | None]


@pytest.fixture(scope="module")
def segmenter() -> Segmenter:
    network = small_bvm()
    torch.nn.init.normal_(network.get_parameter("decoder.head.weight"), std=0.5)  # answers that vary
    pipeline = Pipeline(network, InputSettings(height=64, width=64), threshold=0.3)
    return Segmenter(TorchEngine(pipeline, "cpu"))


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Seven pictures of three sizes; the fourth has no smoke."""
    generator = np.random.default_rng(0)
    found = []
    for number, ((height, width), scene) in enumerate(zip(SIZES, SCENES, strict=True)):
        picture = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
        mask = np.zeros((height, width), np.float32)
        mask[5:15, 5 : 10 + 3 * number] = number != 3
        found.append((PictureName("b" if number % 2 else "a", f"p{number}"), picture, mask, scene))
    return found


def run(segmenter: Segmenter, examples: list[Example], samples: int = 0) -> Evaluation:
    evaluator = Evaluator(segmenter, samples)
    for example in examples:
        evaluator.add(*example)
    return evaluator.finish()


def test_samples_are_compared_with_one_pass_also_where_tiles_are_given_out(segmenter: Segmenter) -> None:
    generator = np.random.default_rng(0)
    mask = np.zeros((200, 260), np.float32)
    mask[50:90, 60:150] = 1
    picture = generator.integers(0, 256, (*mask.shape, 3), dtype=np.uint8)
    large: list[Example] = [(PictureName("a", "large"), picture, mask, "seen")]
    tiled = run(segmenter, large, samples=3)
    whole = run(Segmenter(segmenter.engine, tiles="never"), large, samples=3)
    assert tiled.report["mse"] != whole.report["mse"], "it was not cut into tiles"
    for found, wanted in ((tiled.report, whole.report), (tiled.scenes["seen"], whole.scenes["seen"])):
        for name in ("total_r", "aleatoric_r", "epistemic_r", "mse"):
            assert found["uncertainty"][name] == pytest.approx(wanted["uncertainty"][name], abs=1e-6)


def test_the_report_is_that_of_the_metrics_fed_by_hand(segmenter: Segmenter, examples: list[Example]) -> None:
    suites = {scene: SmokeMetrics(0.3) for scene in ("all", "seen", "unseen")}
    for number, (_, picture, mask, scene) in enumerate(examples):
        maps = segmenter.maps([picture])
        sampled = segmenter.sample([picture], 3, make_keys(0, torch.tensor([number])))
        for suite in (suites["all"], *([suites[scene]] if scene else [])):
            suite.update(
                maps.probability[:, 0],
                torch.from_numpy(mask)[None],
                type(maps)(*(m[:, 0] for m in maps)),
                type(maps)(*(m[:, 0] for m in sampled)),
            )
    found = run(segmenter, examples, samples=3)
    assert (found.report["images"], found.report["negatives"]) == (6, 1)
    assert list(found.scenes) == ["seen", "unseen"]
    for report, expected in ((found.report, suites["all"]), (found.scenes["seen"], suites["seen"])):
        wanted = expected.compute()
        assert report["mse"] == pytest.approx(wanted["mse"], abs=1e-5)
        assert report["f_beta"] == pytest.approx(wanted["f_beta"], abs=1e-3)
        assert report["uncertainty"] == pytest.approx(wanted["uncertainty"], abs=1e-3)
        assert report["alarm"]["shipped"] == wanted["alarm"]["shipped"]
    assert found.report["uncertainty"]["total_r"] is not None
    assert found.reliability.top.pixels.sum() == sum(h * w for h, w in SIZES) - 40 * 70
    assert found.risk_coverage.coverage[-1] == 1


def test_intervals_are_of_scenes_that_it_finds_itself(segmenter: Segmenter, examples: list[Example]) -> None:
    shown: list[tuple[int, int]] = []

    def found(given: list[Example]) -> Evaluation:
        finder = SceneFinder()
        evaluator = Evaluator(segmenter, samples=2, scenes=finder)
        for example in given:
            evaluator.add(*example)
        finder.find(lambda done, of: shown.append((done, of)))
        return evaluator.finish()

    again: list[Example] = [(PictureName("again", name.name), *rest) for name, *rest in examples]  # type: ignore[misc]
    evaluation = found(examples)
    assert shown == [(done, len(examples)) for done in range(1, len(examples) + 1)]
    once, twice = evaluation.interval(), found([*examples, *again]).interval()
    assert once is not None
    assert twice is not None
    assert once.scenes == twice.scenes == len(examples)  # noise has nothing in common
    low, figure, high = (each["mse"] or 0 for each in (once.low, evaluation.report, once.high))
    assert low < figure < high
    assert twice.low["mse"] == pytest.approx(low, rel=1e-3)
    assert once.low["uncertainty"]["total_r"] is not None
    back = found(examples[::-1]).interval()
    assert back is not None
    assert back.low["mse"] == pytest.approx(low, abs=1e-6)
    assert found(examples[:1]).interval() is None
    alone = run(segmenter, examples, samples=2)
    assert flatten(evaluation.report) == pytest.approx(flatten(alone.report), abs=1e-12)
    for scene in ("seen", "unseen"):
        assert flatten(evaluation.scenes[scene]) == pytest.approx(flatten(alone.scenes[scene]), abs=1e-12)
    assert alone.interval() is alone.interval(evaluation) is evaluation.interval(alone) is None


def test_the_document_holds_all_that_was_measured(segmenter: Segmenter, examples: list[Example]) -> None:
    def measured(of: Segmenter) -> Evaluation:
        evaluator = Evaluator(of, scenes=finder)
        for example in examples:
            evaluator.add(*example)
        return evaluator.finish()

    finder = SceneFinder()
    one, other = measured(segmenter), measured(Segmenter(segmenter.engine, tiles="always"))
    alone, beside = one.to_document(2.5), one.to_document(2.5, other)
    assert {name: alone[name] for name in one.report} == one.report
    assert list(alone)[len(one.report) :] == ["speed", "seen", "unseen", "interval"]
    assert (alone["speed"], alone["seen"]) == ({"images_per_second": 2.5}, one.scenes["seen"])
    assert (beside["against"], "interval" in beside) == (other.report, False)
    for document, ends in ((alone["interval"], one.interval()), (beside["difference"], one.interval(other))):
        assert ends is not None
        assert document == {"scenes": ends.scenes, "low": ends.low, "high": ends.high}
    assert json.loads(json.dumps(beside, allow_nan=False)) == beside
    assert "interval" not in run(segmenter, examples).to_document(2.5)


def test_batches_change_nothing(
    segmenter: Segmenter, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(segmenter, examples, samples=2)
    monkeypatch.setattr(evaluation, "BATCH", 2)
    monkeypatch.setattr(evaluation, "WAITING", 3)
    batches: list[int] = []
    hook = segmenter.pipeline.register_forward_pre_hook(lambda _, inputs: batches.append(len(inputs[0])))
    parts = run(segmenter, examples, samples=2)
    hook.remove()
    assert sum(batches) == len(examples)
    assert max(batches) == 2
    assert parts.report["mse"] == pytest.approx(whole.report["mse"], abs=1e-6)
    assert parts.report["uncertainty"]["mse"] == pytest.approx(whole.report["uncertainty"]["mse"], abs=1e-6)
    assert [row.name for row in parts.rows] == [row.name for row in whole.rows]
    assert [row.score for row in parts.rows] == pytest.approx([row.score for row in whole.rows], abs=1e-5)


def test_rows_are_the_figures_of_single_pictures(segmenter: Segmenter, examples: list[Example]) -> None:
    evaluation = run(segmenter, examples)
    rows = evaluation.rows
    assert [(row.set, row.name) for row in rows] == sorted((e[0].set, e[0].name) for e in examples)
    found = [row.detected for row in rows if row.detected is not None]
    assert len(found) == evaluation.report["images"]
    assert sum(found) / len(found) == evaluation.report["alarm"]["detection_rate"]
    by_name = {row.name: row for row in rows}
    for name, picture, mask, scene in examples:
        row, maps = by_name[name.name], segmenter(picture)
        assert row.scene == scene
        assert row.smoke == pytest.approx(mask.mean())
        assert row.max_probability == pytest.approx(maps.probability.max(), abs=1e-5)
        assert row.score == pytest.approx(maps.probability.max(), abs=1e-5)  # 0.02 % is one pixel here
        assert row.flagged == (row.score > 0.5)
        for doubt in ("total", "aleatoric", "epistemic"):
            assert getattr(row, doubt) == pytest.approx(getattr(maps, doubt).mean(), abs=1e-5)
        if not mask.any():
            assert (row.mse, row.f_beta, row.iou, row.ece) == (None, None, None, None)
            continue
        probability, smoke = torch.from_numpy(maps.probability)[None], torch.from_numpy(mask)[None]
        for metric, measured in (
            (MeanSquaredError(), row.mse),
            (IntersectionOverUnion(), row.iou),
            (FBeta(), row.f_beta),
            (CalibrationError(), row.ece),
        ):
            metric.update(probability, smoke)
            figures = metric.compute()
            alone = figures.get("fixed", figures.get("image")) if isinstance(figures, dict) else figures
            assert measured == pytest.approx(alone, abs=1e-3)
    assert len({row.f_beta for row in rows}) > 3


def test_the_table_reads_back(segmenter: Segmenter, examples: list[Example]) -> None:
    rows = run(segmenter, examples).rows
    found = list(csv.DictReader(io.StringIO(rows_to_csv(rows).decode())))
    assert [row["name"] for row in found] == [row.name for row in rows]
    assert [row["scene"] for row in found] == [row.scene or "" for row in rows]
    empty = next(row for row in found if row["name"] == "p3")
    assert (empty["mse"], empty["iou"], empty["smoke"]) == ("", "", "0")
    assert float(found[0]["ece"]) == pytest.approx(rows[0].ece, rel=1e-5)
    assert b",hill\xff," in rows_to_csv([replace(rows[0], name=os.fsdecode(b"hill\xff"))])


def test_without_pictures_there_is_nothing_to_say(segmenter: Segmenter) -> None:
    found = Evaluator(segmenter).finish()
    assert (found.report["images"], found.rows, found.scenes) == (0, [], {})
    assert len(found.risk_coverage.coverage) == 0


def test_reading_ahead_keeps_the_order_and_tells_of_the_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "AHEAD", 3)
    pairs = [Pair(str(n), tmp_path / f"{n}.png", None) for n in range(9)]
    for n, pair in enumerate(pairs):
        if n != 4:
            pair.picture.write_bytes(encode_png(np.full((4, 5, 3), n, np.uint8)))

    def value(read: Future[tuple[NDArray[np.uint8], NDArray[np.float32]]]) -> int:
        return -1 if isinstance(read.exception(), SmokescopeError) else int(read.result()[0][0, 0, 0])

    assert [value(read) for read in read_ahead(pairs)] == [0, 1, 2, 3, -1, 5, 6, 7, 8]
    some = read_ahead(pairs)
    assert value(next(some)) == 0
    some.close()  # who stops early waits for nothing
