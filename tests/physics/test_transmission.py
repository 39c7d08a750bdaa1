"""Transmission against independent implementations, and on pictures that break divisions."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kornia.filters import guided_blur
from scipy.ndimage import minimum_filter as scipy_minimum
from torch import Tensor

from smokescope.physics.filters import guided_filter, minimum_filter
from smokescope.physics.transmission import airlight, dark_channel, transmission


def picture(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@given(
    height=st.integers(1, 20), width=st.integers(1, 20), radius=st.integers(0, 9), seed=st.integers(0, 2**16)
)
@settings(max_examples=60, deadline=None)
def test_minimum_filter_is_scipys(height: int, width: int, radius: int, seed: int) -> None:
    x = picture(2, 1, height, width, seed=seed)
    ours = minimum_filter(x, 2 * radius + 1)
    for one, other in zip(x[:, 0].numpy(), ours[:, 0].numpy(), strict=True):
        np.testing.assert_array_equal(other, scipy_minimum(one, 2 * radius + 1, mode="nearest"))


@pytest.mark.parametrize("size", [0, 2, -3])
def test_minimum_filter_refuses_a_window_without_centre(size: int) -> None:
    with pytest.raises(ValueError, match="odd"):
        minimum_filter(torch.zeros(1, 1, 4, 4), size)


def brute_force_guided(guide: np.ndarray, x: np.ndarray, radius: int, eps: float) -> np.ndarray:
    """He's definition, window by window, over the pixels that exist."""
    height, width = guide.shape
    fits = np.zeros((2, height, width))
    windows = {
        (i, j): (
            slice(max(0, i - radius), min(height, i + radius + 1)),
            slice(max(0, j - radius), min(width, j + radius + 1)),
        )
        for i, j in itertools.product(range(height), range(width))
    }
    for at, window in windows.items():
        g, v = guide[window], x[window]
        a = np.mean((g - g.mean()) * (v - v.mean())) / (g.var() + eps)
        fits[:, *at] = a, v.mean() - a * g.mean()
    out = np.zeros_like(guide)
    for at, window in windows.items():
        out[at] = fits[0][window].mean() * guide[at] + fits[1][window].mean()
    return out


@pytest.mark.parametrize(
    ("height", "width", "radius"), [(9, 12, 2), (5, 5, 7), (1, 6, 2), (7, 1, 60), (1, 1, 3)]
)
def test_guided_filter_is_its_definition(height: int, width: int, radius: int) -> None:
    guide = picture(1, 1, height, width, seed=1, dtype=torch.float64)
    x = picture(1, 1, height, width, seed=2, dtype=torch.float64)
    expected = brute_force_guided(guide[0, 0].numpy(), x[0, 0].numpy(), radius, 1e-2)
    np.testing.assert_allclose(guided_filter(guide, x, radius, 1e-2)[0, 0], expected, atol=1e-12)


def test_guided_filter_is_kornias_away_from_the_border() -> None:
    radius, eps = 7, 1e-4
    guide, x = picture(2, 1, 64, 80, seed=3), picture(2, 1, 64, 80, seed=4)
    ours = guided_filter(guide, x, radius, eps)
    kornias = guided_blur(guide, x, 2 * radius + 1, eps)
    inside = (..., slice(2 * radius, -2 * radius), slice(2 * radius, -2 * radius))
    torch.testing.assert_close(ours[inside], kornias[inside], atol=2e-5, rtol=0)


def test_guided_filter_keeps_float32_accurate_on_a_large_bright_picture() -> None:
    """Prefix sums grow with the picture; the result must not drift from double precision."""
    guide = 0.9 + 0.05 * picture(1, 1, 1200, 1600, seed=5)
    x = picture(1, 1, 1200, 1600, seed=6)
    exact = guided_filter(guide.double(), x.double(), 60, 1e-4)
    torch.testing.assert_close(guided_filter(guide, x, 60, 1e-4).double(), exact, atol=1e-4, rtol=0)


def brute_force_dark_channel(x: np.ndarray, patch: int) -> np.ndarray:
    return np.asarray([scipy_minimum(channel, patch, mode="nearest") for channel in x]).min(axis=0)


@pytest.mark.parametrize("size", [(3, 40, 37), (3, 5, 4)])
def test_dark_channel_is_eq_15(size: tuple[int, int, int]) -> None:
    x = picture(*size, seed=7)
    np.testing.assert_array_equal(dark_channel(x[None], 15)[0, 0], brute_force_dark_channel(x.numpy(), 15))


def brute_force_transmission(x: np.ndarray, patch: int, fraction: float) -> np.ndarray:
    """Algorithm 1, steps 1 to 3, pixel by pixel where order matters."""
    dark = brute_force_dark_channel(x, patch).ravel()
    least = np.sort(dark)[::-1][: max(1, int(fraction * dark.size))].min()
    candidates = [i for i in range(dark.size) if dark[i] >= least]
    light = max((x.reshape(3, -1)[:, i] for i in candidates), key=lambda colour: float(colour.sum()))
    return 1 - brute_force_dark_channel(x / light[:, None, None], patch)


@pytest.mark.parametrize(("height", "width"), [(60, 75), (31, 17), (3, 2)])
def test_transmission_is_algorithm_1(height: int, width: int) -> None:
    x = picture(2, 3, height, width, seed=8, dtype=torch.float64) ** 0.3
    for one, ours in zip(x.numpy(), transmission(x, patch=5, radius=0, fraction=0.01), strict=True):
        np.testing.assert_allclose(ours[0], brute_force_transmission(one, 5, 0.01).clip(0, 1), atol=1e-12)


def test_refined_transmission_is_the_guided_filter_on_grey() -> None:
    x = picture(1, 3, 40, 50, seed=9, dtype=torch.float64)
    haze = brute_force_transmission(x[0].numpy(), 15, 0.001)
    grey = np.tensordot([0.299, 0.587, 0.114], x[0].numpy(), 1)
    expected = brute_force_guided(grey, haze, 8, 1e-4).clip(0, 1)
    np.testing.assert_allclose(transmission(x, radius=8)[0, 0], expected, atol=1e-10)


def test_airlight_is_a_pixel_of_the_haziest_and_does_not_depend_on_ties() -> None:
    x = torch.full((1, 3, 30, 30), 0.2)
    x[..., 10:25, 10:25] = torch.tensor([0.7, 0.8, 0.9]).view(1, 3, 1, 1)  # haze: its dark channel is high
    x[..., 0, 0] = 1.0  # brighter, but alone: its dark channel is low
    light = airlight(x, dark_channel(x, 5))
    torch.testing.assert_close(light.flatten(), torch.tensor([0.7, 0.8, 0.9]))
    flipped = x.flip(-1)
    torch.testing.assert_close(airlight(flipped, dark_channel(flipped, 5)), light)


def test_haze_lowers_transmission_and_follows_the_image_formation() -> None:
    """I = J t + A (1 - t) with a scene J that has a dark channel of 0 must give t back."""
    scene = picture(1, 3, 96, 96, seed=10) * (picture(1, 3, 96, 96, seed=11) > 0.3)
    light = torch.tensor([0.9, 0.92, 0.95]).view(1, 3, 1, 1)
    clear = 0.35
    hazy = scene * clear + light * (1 - clear)
    hazy[..., :15, :15] = light  # somewhere the haze is opaque, or the airlight cannot be known
    estimate = transmission(hazy, radius=0)[..., 40:, 40:]
    torch.testing.assert_close(estimate, torch.full_like(estimate, clear), atol=2e-3, rtol=0)


def lamps() -> Tensor:
    """Specks on two greys: refined, the map goes beyond both ends before it is clipped."""
    x = torch.full((1, 3, 40, 60), 0.5)
    x[..., 30:] = 0.6
    x[..., ::7, 20], x[..., ::5, 50] = 1.0, 0.0
    return x


PICTURES = {
    "black": torch.zeros(1, 3, 33, 21),
    "white": torch.ones(1, 3, 33, 21),
    "grey": torch.full((1, 3, 33, 21), 0.5),
    "red": torch.tensor([1.0, 0, 0]).view(1, 3, 1, 1).expand(1, 3, 33, 21),
    "one pixel": torch.full((1, 3, 1, 1), 0.3),
    "one row": picture(1, 3, 1, 50, seed=12),
    "almost black": torch.full((1, 3, 16, 16), 1e-8),
    "lamps": lamps(),
}
EXPECTED = {"black": 1.0, "white": 0.0, "grey": 0.0, "red": 1.0, "one pixel": 0.0, "almost black": 1.0}


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_never_nan_and_always_within_bounds(name: str, dtype: torch.dtype) -> None:
    result = transmission(PICTURES[name].to(dtype))
    assert result.shape == (1, 1, *PICTURES[name].shape[2:])
    assert result.dtype == torch.float32
    assert result.isfinite().all()
    assert 0 <= result.min() <= result.max() <= 1
    if name in EXPECTED:
        torch.testing.assert_close(result, torch.full_like(result, EXPECTED[name]), atol=1e-4, rtol=0)


def test_a_picture_does_not_depend_on_the_others_in_its_batch() -> None:
    x = picture(3, 3, 40, 50, seed=13) * torch.tensor([0.2, 0.6, 1.0]).view(3, 1, 1, 1)
    alone = torch.cat([transmission(one[None]) for one in x])
    torch.testing.assert_close(transmission(x), alone)


def test_no_gradient_flows_into_the_picture() -> None:
    assert not transmission(picture(1, 3, 8, 8).requires_grad_()).requires_grad
