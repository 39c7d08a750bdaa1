"""OpenVINO's graphs for one size: the same answers as those for any, with less work."""

import logging
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import openvino
import pytest
from tests.data.hills import hills
from tests.export.conftest import Exported
from tests.export.test_int8 import int8  # noqa: F401  # a fixture
from tests.export.test_samples import folder  # noqa: F401  # a fixture

import smokescope
from smokescope.inference.engines import openvino as engine_module
from smokescope.inference.engines.frequent import KEPT
from smokescope.inference.engines.openvino import OpenVinoEngine
from smokescope.inference.engines.openvino_graph import RESIZE, Graph, specialise

MAPS = ("probability", "total", "aleatoric", "epistemic")
SIZES = ((64, 96), (33, 47), (181, 240), (64, 200), (1, 1))


def sizes_of(engine: OpenVinoEngine) -> list[tuple[int, ...]]:
    return [shape for shapes in engine._frequent._kept for _, shape in shapes]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [1, 3])
def test_their_maps_are_those_of_the_graph_for_any_size(
    exported: Exported, size: tuple[int, int], count: int
) -> None:
    engine = OpenVinoEngine(exported.openvino)
    pictures = [hills(seed, smoke=True, size=size[::-1]) for seed in range(count)]
    first, *others = (engine.predict(pictures, "never") for _ in range(3))
    assert sizes_of(engine) == [(count, 3, *size)]
    for maps in others:
        for ours, theirs in zip(first, maps, strict=True):
            np.testing.assert_allclose(theirs, ours, atol=1e-5, rtol=0)
    other = engine.predict([each[::-1] for each in pictures], "never")
    assert size == (1, 1) or np.abs(other.total - first.total).max() > 1e-3  # it looks at the picture


@pytest.mark.parametrize(("size", "left"), [((64, 96), 4), ((128, 192), 8), ((480, 640), 8)])
def test_nothing_is_resized_that_has_its_size(exported: Exported, size: tuple[int, int], left: int) -> None:
    """Eight products at first: of rows and columns, of the picture, logits, uncertainties and all maps."""
    model = openvino.Core().read_model(exported.openvino)
    own = specialise(model, (("pictures", (1, 3, *size)),))
    found = [sum(op.get_friendly_name().startswith(RESIZE) for op in each.get_ops()) for each in (model, own)]
    assert found == [8, left]


def test_eight_bits_stay_eight_bits(int8: Path) -> None:  # noqa: F811
    core = openvino.Core()
    model = core.read_model(int8)
    graphs = [Graph(core, each) for each in (model, specialise(model, (("pictures", (1, 3, 64, 96)),)))]
    graphs[0].run({"pictures": np.zeros((1, 3, 64, 96), np.uint8)})
    whole = [[name.endswith("I8") for name in _kernels(each)] for each in graphs]
    assert sum(whole[1]) == sum(whole[0]) > 20


def _kernels(graph: Graph) -> list[str]:
    """By which each convolution is computed."""
    nodes = [node.get_rt_info() for node in graph._model.get_runtime_model().get_ops()]
    return [
        node["primitiveType"].astype(str) for node in nodes if node["layerType"].astype(str) == "Convolution"
    ]


def test_samples_too(folder: Path) -> None:  # noqa: F811
    segmenter, picture = smokescope.load(folder / "m.xml"), [hills(0, smoke=True, size=(90, 60))]
    first, *others = (segmenter.sample(picture, 3) for _ in range(3))
    assert len(sizes_of(segmenter.engine._sampler[0])) == 6  # type: ignore[attr-defined]  # inputs of one graph
    for maps in others:
        for ours, theirs in zip(first, maps, strict=True):
            np.testing.assert_allclose(theirs, ours, atol=1e-5, rtol=0)


def test_only_a_few_are_kept(exported: Exported) -> None:
    engine = OpenVinoEngine(exported.openvino)
    for side in range(20, 20 + KEPT + 2):
        for _ in range(30):
            engine.predict([hills(0, size=(side, 20))], "never")
    assert len(sizes_of(engine)) == KEPT


def test_threads_share_them(exported: Exported) -> None:
    segmenter, other = (smokescope.load(exported.openvino, tiles="never") for _ in range(2))
    pictures = [hills(seed, size=(90 + seed % 3, 60)) for seed in range(24)]
    expected = [other(each).total for each in pictures]
    with ThreadPoolExecutor(4) as pool:
        for ours, theirs in zip(expected, pool.map(segmenter, pictures), strict=True):
            np.testing.assert_allclose(theirs.total, ours, atol=1e-5)


def test_the_files_may_go_once_they_are_loaded(exported: Exported, tmp_path: Path) -> None:
    for ending in (".xml", ".bin"):
        shutil.copy(exported.openvino.with_suffix(ending), tmp_path / f"m{ending}")
    engine, picture = OpenVinoEngine(tmp_path / "m.xml"), [hills(0)]
    (tmp_path / "m.bin").write_bytes(b"")
    first, second = (engine.predict(picture, "never") for _ in range(2))
    np.testing.assert_allclose(second.total, first.total, atol=1e-5)


def test_a_graph_that_cannot_be_made_is_done_without(
    exported: Exported, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> openvino.Model:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(engine_module, "specialise", fail)
    engine = OpenVinoEngine(exported.openvino)
    with caplog.at_level(logging.WARNING):
        first, *_, last = (engine.predict([hills(0)], "never") for _ in range(5))
    np.testing.assert_array_equal(first.total, last.total)
    assert [each.getMessage().endswith("no such luck") for each in caplog.records] == [True]
