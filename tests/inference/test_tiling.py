"""Tiles: weights that sum to one, no seams, and the plain pass where one tile is enough."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.small import TINY

from smokescope.inference import Segmenter
from smokescope.inference.engines.maps import Maps, Pixels
from smokescope.inference.engines.torch import TorchEngine
from smokescope.inference.tiles import BATCH, place, wants_tiles
from smokescope.inference.tiling import predict_tiled
from smokescope.models import InputSettings, Pipeline, UNet
from smokescope.settings.choices import Tiles
from smokescope.uncertainty import LN2

SETTINGS = InputSettings(height=32, width=48)  # tiles of 64 x 96


def entropy(p: float) -> float:
    return -(p * math.log(p) + (1 - p) * math.log(1 - p))


def linear(pictures: Sequence[Pixels]) -> Maps:
    """A network that says what it sees: probability red, aleatoric a third of green, epistemic of blue."""
    red, green, blue = np.moveaxis(np.stack(pictures).astype(np.float32) / 255, -1, 0)
    return Maps(red, (green + blue) / 3, green / 3, blue / 3)


def blank(height: int, width: int) -> Pixels:
    return np.zeros((height, width, 3), np.uint8)


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
    x, y = np.meshgrid(np.linspace(0, 255, 333), np.linspace(0, 255, 201))
    picture = np.stack([x, y, 255 - x], -1).astype(np.uint8)
    maps = predict_tiled(linear, picture, SETTINGS, whole)
    for found, plain in zip(maps, linear([picture]), strict=True):
        np.testing.assert_allclose(found, plain, atol=1e-5, rtol=0)


def test_tiles_that_differ_leave_no_seam() -> None:
    """Each tile answers with its own level; between them the map goes over smoothly."""
    levels = iter(np.linspace(0.1, 0.9, 100))

    def moody(pictures: Sequence[Pixels]) -> Maps:
        values = np.stack([np.full(each.shape[:2], next(levels), np.float32) for each in pictures])
        return Maps(*(values / np.float32(part) for part in (1, 2, 4, 4)))

    probability = predict_tiled(moody, blank(300, 500), SETTINGS).probability
    steps = max(float(np.abs(np.diff(probability, axis=axis)).max()) for axis in (-2, -1))
    assert np.ptp(probability) > 0.15
    assert steps < 0.02


def test_views_that_disagree_are_doubt_of_the_model() -> None:
    def split_minds(pictures: Sequence[Pixels]) -> Maps:
        sure = 0.9 if pictures[0].shape[1] > 96 else 0.2  # the whole, and tiles
        of_size = (len(pictures), *pictures[0].shape[:2])
        return Maps(*(np.full(of_size, level, np.float32) for level in (sure, 0.3, 0.2, 0.1)))

    maps = predict_tiled(split_minds, blank(150, 200), SETTINGS)  # half and half
    disagreement = entropy(0.55) - (entropy(0.9) + entropy(0.2)) / 2
    assert maps.probability.shape == maps.aleatoric.shape == maps.epistemic.shape == (1, 150, 200)
    np.testing.assert_allclose(maps.probability, 0.55, atol=1e-5, rtol=0)
    np.testing.assert_allclose(maps.aleatoric, 0.2, atol=1e-5, rtol=0)
    np.testing.assert_allclose(maps.epistemic, 0.1 + disagreement, atol=1e-5, rtol=0)


def test_uncertainty_keeps_its_bounds() -> None:
    rng = np.random.default_rng(0)

    def random(pictures: Sequence[Pixels]) -> Maps:
        p, share = rng.random((2, len(pictures), *pictures[0].shape[:2]), np.float32)
        total = np.full_like(p, LN2)
        return Maps(p.round(), total, total * share, total * (1 - share))

    maps = predict_tiled(random, blank(150, 200), SETTINGS)
    assert maps.total.max() <= LN2 + 1e-6
    assert maps.epistemic.min() >= 0
    np.testing.assert_allclose(maps.aleatoric + maps.epistemic, maps.total, atol=1e-6, rtol=0)


def test_doubt_of_views_that_disagree_utterly_ends_at_its_bound() -> None:
    def view(pictures: Sequence[Pixels]) -> Maps:
        level = 100 if pictures[0].shape[1] > 96 else 150  # the whole, and tiles
        red, green, _ = np.moveaxis(np.stack(pictures), -1, 0)
        aleatoric = (LN2 / 255 * green).astype(np.float32)
        total = np.full_like(aleatoric, LN2)
        return Maps((red > level).astype(np.float32), total, aleatoric, total - aleatoric)

    picture = np.random.default_rng(0).integers(0, 256, (150, 200, 3), dtype=np.uint8)
    red, aleatoric = picture[..., 0], LN2 / 255 * picture[..., 1]
    expected = ((red > 100) / 2 + (red > 150) / 2, aleatoric, LN2 - aleatoric)
    probability, total, *parts = predict_tiled(view, picture, SETTINGS)
    np.testing.assert_allclose(total, LN2, atol=1e-5)
    for found, maps in zip((probability, *parts), expected, strict=True):
        np.testing.assert_allclose(found[0], maps, atol=1e-5)


def test_one_tile_is_the_plain_pass() -> None:
    calls: list[Pixels] = []

    def counted(pictures: Sequence[Pixels]) -> Maps:
        calls.extend(pictures)
        return linear(pictures)

    picture = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    maps = predict_tiled(counted, picture, SETTINGS)
    assert [each.shape for each in calls] == [(64, 96, 3)]
    assert all(map(np.array_equal, maps, linear([picture])))


def test_tiles_come_in_batches_of_bounded_size() -> None:
    sizes: list[list[tuple[int, ...]]] = []

    def counted(pictures: Sequence[Pixels]) -> Maps:
        sizes.append([each.shape for each in pictures])
        return linear(pictures)

    predict_tiled(counted, blank(200, 300), SETTINGS)
    assert sizes[0] == [(200, 300, 3)]
    assert sum(map(len, sizes[1:])) == 4 * 4
    assert all(len(batch) <= BATCH and set(batch) == {(62, 93, 3)} for batch in sizes[1:])


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
    small, large = blank(128, 128), blank(150, 250)
    auto = Segmenter(TorchEngine(pipeline, "cpu"))
    assert [p.mask.shape for p in auto.many([small, large])] == [(128, 128), (150, 250)]
    assert shapes == [(1, 3, 128, 128), (1, 3, 150, 250), (3, 3, 150, 100)]
    shapes.clear()
    Segmenter(TorchEngine(pipeline, "cpu"), tiles="never")(large)
    assert shapes == [(1, 3, 150, 250)]
