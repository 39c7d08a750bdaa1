"""The public door: whatever stands for a picture comes back as maps of its own size."""

import io
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from tests.bright import Bright, hill
from tests.models.small import TINY, small_bvm

import smokescope
from smokescope.chance import make_keys
from smokescope.checkpoints.model import save_model
from smokescope.data.pictures import encode_png
from smokescope.errors import SmokescopeError
from smokescope.inference import Picture, Prediction, Segmenter
from smokescope.inference import segmenter as module
from smokescope.inference.engines.torch import TorchEngine
from smokescope.models import InputSettings, Pipeline, SmokeBVM, UNet, VerdictSettings

MAPS = ("probability", "mask", "total", "aleatoric", "epistemic")


def picture(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline(small_bvm(), InputSettings(height=64, width=64), temperature=0.7, threshold=0.48)


@pytest.fixture
def segmenter(pipeline: Pipeline) -> Segmenter:
    return Segmenter(TorchEngine(pipeline, "cpu"))


def same(one: Prediction, other: Prediction, atol: float = 0.0) -> bool:
    return all(
        np.allclose(getattr(one, name), getattr(other, name), rtol=0, atol=atol)
        for name in MAPS
        if name != "mask"
    )


def test_a_path_bytes_an_image_and_values_are_the_same_picture(segmenter: Segmenter, tmp_path: Path) -> None:
    pixels = picture(40, 70)
    (tmp_path / "a.png").write_bytes(encode_png(pixels))
    given: list[Picture] = [
        pixels,
        tmp_path / "a.png",
        str(tmp_path / "a.png"),
        encode_png(pixels),
        Image.fromarray(pixels),
        Image.open(tmp_path / "a.png"),
    ]
    first, *others = map(segmenter, given)
    for name in MAPS:
        values = getattr(first, name)
        assert values.shape == (40, 70)
        assert values.dtype == (bool if name == "mask" else np.float32)
    assert all(same(first, other) for other in others)


def test_it_is_the_pipelines_answer(segmenter: Segmenter, pipeline: Pipeline) -> None:
    pixels = picture(50, 60)
    found = segmenter(pixels)
    with torch.no_grad():
        maps = pipeline(torch.from_numpy(pixels).permute(2, 0, 1)[None])
    for name, map_ in maps._asdict().items():
        np.testing.assert_allclose(getattr(found, name), map_[0, 0].numpy(), atol=1e-6)
    np.testing.assert_array_equal(found.mask, found.probability > 0.48)
    assert 0 < found.mask.mean() < 1


def test_regions_are_judged_by_the_models_own_settings() -> None:
    strict = VerdictSettings(smoke_above=0.99)
    usual, careful = (Segmenter(TorchEngine(Bright(UNet(TINY), verdicts=v), "cpu")) for v in (None, strict))
    patch = hill(red=230)  # a probability of 0.9
    assert (usual(patch).verdict, careful(patch).verdict) == ("smoke", "unsure")


def test_the_mask_is_what_exceeds_the_threshold() -> None:
    never = Segmenter(TorchEngine(Bright(UNet(TINY), threshold=1.0), "cpu"))
    found = never(hill(red=255))
    assert found.probability.max() == 1
    assert not found.mask.any()


def test_photographs_are_turned_upright(segmenter: Segmenter) -> None:
    buffer, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(picture(40, 70)).save(buffer, "PNG", exif=exif)
    upright = segmenter(np.ascontiguousarray(np.rot90(picture(40, 70), -1)))
    for given in (buffer.getvalue(), Image.open(buffer)):
        assert same(segmenter(given), upright)


def test_many_keep_their_order_and_go_together_by_size(
    segmenter: Segmenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [(40, 70), (30, 30), (40, 70), (40, 70), (30, 30), (70, 40)]
    pictures = [picture(*size, seed=i) for i, size in enumerate(sizes)]
    alone = [segmenter(each) for each in pictures]
    batches: list[int] = []
    monkeypatch.setattr(module, "BATCH_PIXELS", 2 * 40 * 70)
    segmenter.pipeline.register_forward_pre_hook(lambda _, inputs: batches.append(len(inputs[0])))
    together = segmenter.many(iter(pictures))
    assert batches == [2, 1, 2, 1]
    assert [p.mask.shape for p in together] == sizes
    assert all(same(a, b, atol=1e-5) for a, b in zip(alone, together, strict=True))
    assert segmenter.many([]) == []


def test_threads_do_not_disturb_each_other(segmenter: Segmenter) -> None:
    pictures = [picture(33, 47, seed) for seed in range(12)]
    expected = [segmenter(each) for each in pictures]
    with ThreadPoolExecutor(4) as pool:
        assert all(map(same, expected, pool.map(segmenter, pictures)))


def test_samples_belong_to_their_keys(segmenter: Segmenter) -> None:
    pictures, keys = [picture(40, 40, seed) for seed in range(2)], make_keys(0, torch.arange(2))
    both = segmenter.sample(pictures, 3, keys)
    assert both.total.shape == (2, 1, 40, 40)
    second = segmenter.sample(pictures[1:], 3, keys[1:])
    torch.testing.assert_close(both.total[1:], second.total, atol=1e-5, rtol=0)
    with pytest.raises(ValueError, match="cannot draw samples"):
        Segmenter(TorchEngine(Pipeline(UNet(TINY)), "cpu")).sample(pictures, 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"text", "the picture is not a JPEG"),
        (np.zeros((4, 4), np.uint8), r"shape \[4, 4\] and type uint8 is not a picture"),
        (np.zeros((4, 4, 3), np.float32), "type float32 is not a picture"),
        (np.zeros((0, 4, 3), np.uint8), "is not a picture"),
        (Path("missing.jpg"), "missing.jpg does not exist"),
        (3, "a int is not a picture"),
        (Image.new("F", (4, 4)), "the picture holds floating-point values"),
        (Image.new("RGB", (0, 3)), "the picture is empty: it has no pixels"),
    ],
)
def test_what_is_no_picture_is_refused(segmenter: Segmenter, given: object, words: str) -> None:
    with pytest.raises(SmokescopeError, match=words):
        segmenter(given)  # type: ignore[arg-type]


def test_what_is_no_number_is_not_taken_for_no_smoke(pipeline: Pipeline) -> None:
    assert isinstance(pipeline.network, SmokeBVM)
    with torch.no_grad():
        pipeline.network.decoder.head.weight.fill_(torch.nan)
    broken = Segmenter(TorchEngine(pipeline, "cpu"))
    for ask in (broken, lambda pixels: broken.maps([pixels])):
        with pytest.raises(SmokescopeError, match="NaN or infinite values"):
            ask(picture(40, 70))


def test_ways_that_there_are_not_are_refused(pipeline: Pipeline) -> None:
    with pytest.raises(SmokescopeError, match="tiles must be auto or never or always, not 'sometimes'"):
        Segmenter(TorchEngine(pipeline, "cpu"), tiles="sometimes")  # type: ignore[arg-type]

    with pytest.raises(SmokescopeError, match="there is no engine steam: choose auto, torch, onnx, openvino"):
        smokescope.load(engine="steam")  # type: ignore[arg-type]


def test_load_gives_the_saved_model(pipeline: Pipeline, segmenter: Segmenter, tmp_path: Path) -> None:
    save_model(pipeline, tmp_path / "m.safetensors")
    pixels = picture(40, 50)
    for path in (tmp_path / "m.safetensors", str(tmp_path / "m.safetensors")):
        assert same(smokescope.load(path, device="cpu")(pixels), segmenter(pixels))


def test_load_explains_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smokescope.checkpoints.embedded.files", lambda _: tmp_path)
    with pytest.raises(SmokescopeError, match="ships no weights: name a model file"):
        smokescope.load()
    with pytest.raises(SmokescopeError, match=r"m\.safetensors does not exist"):
        smokescope.load(tmp_path / "m.safetensors")
    with pytest.raises(SmokescopeError, match="no device 'tpu' here"):
        smokescope.load(tmp_path / "m.safetensors", device="tpu")


def test_load_finds_what_is_embedded(
    pipeline: Pipeline, segmenter: Segmenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(pipeline, tmp_path / "weights" / "default.safetensors")
    monkeypatch.setattr("smokescope.checkpoints.embedded.files", lambda _: tmp_path)
    assert same(smokescope.load(device="cpu")(picture(9, 9)), segmenter(picture(9, 9)))


def test_the_package_itself_is_light() -> None:
    script = (
        "import sys, smokescope; print(sorted({'torch', 'numpy', 'PIL'} & set(sys.modules)), smokescope.load)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("[] <function load")
