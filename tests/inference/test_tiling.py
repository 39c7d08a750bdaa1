"""Tiles: weights that sum to one, no seams, and the plain pass where one tile is enough."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.models.small import TINY
from torch import Tensor

from smokescope.inference import Segmenter, tiling
from smokescope.inference.engines import tiled
from smokescope.inference.engines.base import Maps
from smokescope.inference.tiles import BATCH, place, wants_tiles
from smokescope.models import InputSettings, Pipeline, UNet
from smokescope.settings.choices import Tiles
from smokescope.uncertainty import LN2, Decomposition

SETTINGS = InputSettings(height=32, width=48)  # tiles of 64 x 96


def entropy(p: Tensor) -> Tensor:
    return -(torch.xlogy(p, p) + torch.xlogy(1 - p, 1 - p))


def linear(batch: Tensor) -> Decomposition:
    """A network that says what it sees: probability red, aleatoric a third of green, epistemic of blue."""
    red, green, blue = batch.float().div(255).chunk(3, 1)
    return Decomposition(red, (green + blue) / 3, green / 3, blue / 3)


@settings(deadline=None)
@given(st.integers(1, 700), st.integers(4, 200))
def test_weights_sum_to_one_and_reach_both_borders(side: int, tile: int) -> None:
    axis = place(side, tile)
    total = np.zeros(side)
    for start, weights in zip(axis.starts, axis.weights, strict=True):
        assert 0 <= start <= side - axis.length
        assert (weights >= 0).all()
        total[start : start + axis.length] += weights
    np.testing.assert_allclose(total, 1, atol=1e-6, rtol=0)


@settings(deadline=None)
@given(st.integers(1, 3000))
def test_tiles_are_near_their_length_share_a_quarter_and_fade_out(side: int) -> None:
    axis = place(side, 200)
    assert axis.length <= 200 * 1.2
    assert axis.length >= min(side, 200 * 0.6)
    if len(axis.starts) > 1:
        overlaps = axis.length - np.diff(axis.starts)
        assert overlaps.min() >= 0.25 * axis.length - 2
        assert overlaps.max() <= 0.25 * axis.length + 2
        assert (axis.weights[1:, 0] < 1e-3).all()
        assert (axis.weights[:-1, -1] < 1e-3).all()


@pytest.mark.parametrize(
    ("size", "rows", "columns"),
    [((1080, 1920), 1, 2), ((1536, 2048), 2, 2), ((2048, 3072), 3, 3), ((3072, 2048), 4, 2)],
)
def test_cameras_frames_take_few_tiles(size: tuple[int, int], rows: int, columns: int) -> None:
    found = [len(place(side, tile).starts) for side, tile in zip(size, (960, 1280), strict=True)]
    assert found == [rows, columns]


@pytest.mark.parametrize("whole", [0.0, 0.25, 1.0])
def test_a_gradient_comes_back_as_it_is(whole: float) -> None:
    y, x = torch.meshgrid(torch.linspace(0, 255, 201), torch.linspace(0, 255, 333), indexing="ij")
    picture = torch.stack([x, y, 255 - x])
    maps = tiling.predict_tiled(linear, picture, SETTINGS, whole)
    for found, plain in zip(maps, linear(picture[None]), strict=True):
        torch.testing.assert_close(found, plain, atol=1e-5, rtol=0)


def test_tiles_that_differ_leave_no_seam() -> None:
    """Each tile answers with its own level; between them the map goes over smoothly."""
    levels = iter(torch.linspace(0.1, 0.9, 100))

    def moody(batch: Tensor) -> Decomposition:
        values = torch.stack([next(levels).expand(1, *batch.shape[-2:]) for _ in batch])
        return Decomposition(values, values / 2, values / 4, values / 4)

    maps = tiling.predict_tiled(moody, torch.zeros(3, 300, 500), SETTINGS)
    steps = max(float(maps.probability.diff(dim=d).abs().max()) for d in (-2, -1))
    spread = float(maps.probability.max() - maps.probability.min())
    assert spread > 0.15
    assert steps < 0.02


def test_views_that_disagree_are_doubt_of_the_model() -> None:
    def split_minds(batch: Tensor) -> Decomposition:
        sure = 0.9 if batch.shape[-1] > 96 else 0.2  # the whole, and tiles
        p = torch.full((len(batch), 1, *batch.shape[-2:]), sure)
        return Decomposition(p, 0 * p + 0.3, 0 * p + 0.2, 0 * p + 0.1)

    maps = tiling.predict_tiled(split_minds, torch.zeros(3, 150, 200), SETTINGS)  # half and half
    mean = torch.tensor(0.55)
    disagreement = entropy(mean) - (entropy(torch.tensor(0.9)) + entropy(torch.tensor(0.2))) / 2
    torch.testing.assert_close(maps.probability, mean.expand(1, 1, 150, 200), atol=1e-5, rtol=0)
    torch.testing.assert_close(maps.aleatoric, torch.full((1, 1, 150, 200), 0.2), atol=1e-5, rtol=0)
    torch.testing.assert_close(maps.epistemic, (0.1 + disagreement).expand(1, 1, 150, 200), atol=1e-5, rtol=0)


def test_uncertainty_keeps_its_bounds() -> None:
    def random(batch: Tensor) -> Decomposition:
        p, share = torch.rand(2, len(batch), 1, *batch.shape[-2:])
        total = torch.full_like(p, LN2)
        return Decomposition(p.round(), total, total * share, total * (1 - share))

    torch.manual_seed(0)
    maps = tiling.predict_tiled(random, torch.zeros(3, 150, 200), SETTINGS)
    assert maps.total.max() <= LN2 + 1e-6
    assert maps.epistemic.min() >= 0
    torch.testing.assert_close(maps.aleatoric + maps.epistemic, maps.total, atol=1e-6, rtol=0)


def test_without_torch_it_is_the_same() -> None:
    """Also where views disagree utterly, and doubt would exceed its bound."""

    def view(batch: NDArray[np.uint8]) -> Maps:
        level = 100 if batch.shape[-1] > 96 else 150  # the whole, and tiles
        probability = (batch[:, 0] > level).astype(np.float32)
        aleatoric = (LN2 / 255 * batch[:, 1]).astype(np.float32)
        total = np.full_like(aleatoric, LN2)
        return Maps(probability, total, aleatoric, total - aleatoric)

    def as_tensors(batch: Tensor) -> Decomposition:
        return Decomposition(*(torch.from_numpy(each)[:, None] for each in view(batch.numpy())))

    picture = np.random.default_rng(0).integers(0, 256, (3, 150, 200), dtype=np.uint8)
    expected = tiling.predict_tiled(as_tensors, torch.from_numpy(picture), SETTINGS)
    for found, maps in zip(tiled.predict_tiled(view, picture, SETTINGS), expected, strict=True):
        np.testing.assert_allclose(found, maps[:, 0].numpy(), atol=1e-5)


def test_one_tile_is_the_plain_pass() -> None:
    calls: list[tuple[int, ...]] = []

    def counted(batch: Tensor) -> Decomposition:
        calls.append(tuple(batch.shape))
        return linear(batch)

    picture = torch.randint(256, (3, 64, 96), dtype=torch.uint8)
    maps = tiling.predict_tiled(counted, picture, SETTINGS)
    assert calls == [(1, 3, 64, 96)]
    assert all(map(torch.equal, maps, linear(picture[None])))


def test_tiles_come_in_batches_of_bounded_size() -> None:
    sizes: list[tuple[int, ...]] = []

    def counted(batch: Tensor) -> Decomposition:
        sizes.append(tuple(batch.shape))
        return linear(batch)

    tiling.predict_tiled(counted, torch.zeros(3, 200, 300), SETTINGS)
    assert sizes[0] == (1, 3, 200, 300)
    assert sum(shape[0] for shape in sizes[1:]) == 4 * 4
    assert all(shape[0] <= BATCH and shape[1:] == (3, 62, 93) for shape in sizes[1:])


@pytest.mark.parametrize(
    ("tiles", "size", "wanted"),
    [
        ("auto", (480, 640), False),
        ("auto", (960, 1280), False),
        ("auto", (1080, 1920), True),
        ("auto", (1536, 2048), True),
        ("never", (2048, 3072), False),
        ("always", (480, 640), True),
    ],
)
def test_the_size_decides(tiles: Tiles, size: tuple[int, int], wanted: bool) -> None:
    assert wants_tiles(tiles, *size, InputSettings(height=480, width=640, fit="aspect")) == wanted


def test_a_segmenter_cuts_large_pictures_only() -> None:
    torch.manual_seed(0)
    pipeline = Pipeline(UNet(TINY), InputSettings(height=64, width=64))
    shapes: list[tuple[int, ...]] = []
    pipeline.register_forward_pre_hook(lambda _, inputs: shapes.append(tuple(inputs[0].shape)))
    small, large = np.zeros((128, 128, 3), np.uint8), np.zeros((150, 250, 3), np.uint8)
    auto = Segmenter(pipeline, "cpu")
    assert [p.mask.shape for p in auto.many([small, large])] == [(128, 128), (150, 250)]
    assert shapes == [(1, 3, 128, 128), (1, 3, 150, 250), (3, 3, 150, 100)]
    shapes.clear()
    Segmenter(pipeline, "cpu", tiles="never")(large)
    assert shapes == [(1, 3, 150, 250)]
