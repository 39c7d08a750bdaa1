"""Exported models give PyTorch's answers, without PyTorch."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from tests.data.hills import hills
from tests.export.conftest import Exported

import smokescope
from smokescope.inference import Segmenter
from smokescope.inference.engines.exported import threads
from smokescope.inference.engines.onnx import OnnxEngine
from smokescope.inference.engines.openvino import OpenVinoEngine
from smokescope.settings.verdicts import VerdictSettings

MAPS = ("probability", "total", "aleatoric", "epistemic")
TOLERANCE = 1e-4


@pytest.fixture(params=["onnx", "openvino"])
def path(exported: Exported, request: pytest.FixtureRequest) -> Path:
    found: Path = getattr(exported, request.param)
    return found


@pytest.fixture
def reference(exported: Exported) -> Segmenter:
    return smokescope.load(exported.safetensors, "cpu", tiles="never")


@pytest.mark.parametrize(
    ("count", "height", "width"), [(1, 64, 96), (1, 33, 47), (3, 181, 240), (1, 480, 640), (2, 301, 77)]
)
def test_every_map_is_pytorchs(path: Path, reference: Segmenter, count: int, height: int, width: int) -> None:
    pictures = [hills(seed, smoke=True, size=(width, height)) for seed in range(count)]
    found = smokescope.load(path, tiles="never").many(pictures)
    for ours, theirs in zip(reference.many(pictures), found, strict=True):
        for name in MAPS:
            assert getattr(theirs, name).shape == (height, width)
            np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), atol=TOLERANCE, rtol=0)
        assert np.ptp(ours.probability) > 0.05  # there is something to agree about
        assert np.ptp(ours.epistemic) > 100 * TOLERANCE


@pytest.mark.parametrize("size", [(1, 1), (2, 1500), (1, 700), (1080, 1920)])
def test_sizes_that_nobody_thought_of(path: Path, reference: Segmenter, size: tuple[int, int]) -> None:
    picture = np.resize(hills(2, smoke=True), (*size, 3))
    ours, theirs = reference(picture), smokescope.load(path, tiles="never")(picture)
    for name in MAPS:
        np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), atol=TOLERANCE, rtol=0)


def test_tiles_are_pytorchs_too(path: Path, exported: Exported) -> None:
    picture = hills(1, smoke=True, size=(500, 300))
    ours, theirs = (smokescope.load(each, "cpu", tiles="always")(picture) for each in (exported[0], path))
    plain = smokescope.load(path, tiles="never")(picture)
    for name in MAPS:
        np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), atol=TOLERANCE, rtol=0)
    assert np.abs(plain.epistemic - theirs.epistemic).max() > 100 * TOLERANCE


def test_thresholds_travel_with_the_model(path: Path) -> None:
    segmenter = smokescope.load(path)
    assert segmenter.threshold == 0.45
    assert segmenter.verdicts == VerdictSettings(unsure_above=0.2)
    assert asdict(segmenter.input) == {"height": 64, "width": 96, "fit": "aspect"}
    picture = hills(0, smoke=True)
    found = segmenter(picture)
    np.testing.assert_array_equal(found.mask, found.probability > 0.45)


def test_tensors_are_to_be_had_and_samples_are_not(path: Path, reference: Segmenter) -> None:
    pictures, segmenter = [hills(seed) for seed in range(2)], smokescope.load(path, tiles="never")
    for ours, theirs in zip(reference.maps(pictures), segmenter.maps(pictures), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(theirs, ours, atol=TOLERANCE, rtol=0)
    with pytest.raises(ValueError, match="cannot draw samples: use its safetensors file"):
        segmenter.sample(pictures, 2)


def test_threads_do_not_disturb_each_other(path: Path) -> None:
    segmenter = smokescope.load(path)
    pictures = [hills(seed, size=(90, 60)) for seed in range(12)]
    expected = [segmenter(each).total for each in pictures]
    with ThreadPoolExecutor(4) as pool:
        for ours, theirs in zip(expected, pool.map(segmenter, pictures), strict=True):
            np.testing.assert_allclose(theirs.total, ours, atol=1e-6)


def test_threads_are_as_many_as_omp_says(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    for told, expected in (("", 0), ("3", 3), ("4,2", 0), ("\N{SUPERSCRIPT TWO}", 0), ("1", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert threads() == expected
    options = OnnxEngine(exported.onnx)._session.get_session_options()
    assert options.intra_op_num_threads == 1
    graph = OpenVinoEngine(exported.openvino)._any._model
    assert graph.get_property("INFERENCE_NUM_THREADS") == 1


def test_torch_is_not_loaded(path: Path) -> None:
    script = (
        "import sys, numpy, smokescope\n"
        "segmenter = smokescope.load(sys.argv[1], tiles='always')\n"
        "found = segmenter(numpy.zeros((300, 500, 3), numpy.uint8))\n"
        "print(found.verdict, found.total.shape, 'torch' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    assert done.stdout.split(maxsplit=1)[1].strip() == "(300, 500) False"
