"""The camera against independent ones: SciPy's Gaussian, Pillow's JPEG, and the statistics of noise."""

import io
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from torch import Tensor

from smokescope.chance import make_keys
from smokescope.physics.camera import gaussian_blur, jpeg, sensor_noise

QUALITIES = (30, 50, 75, 95)


def scene(height: int, width: int, texture: float, seed: int = 0) -> NDArray[np.uint8]:
    """Slopes of colour, waves and grain."""
    y, x = np.mgrid[:height, :width]
    waves = 128 + 60 * np.sin(x / 5) * np.cos(y / 9)
    smooth = np.stack((200 * x / width, 255 * y / height, waves), -1)
    return (
        (smooth + np.random.default_rng(seed).normal(0, texture, smooth.shape)).clip(0, 255).astype(np.uint8)
    )


def batch(*pictures: NDArray[np.uint8]) -> Tensor:
    return torch.stack([torch.from_numpy(picture).permute(2, 0, 1) / 255 for picture in pictures])


def levels(picture: Tensor) -> NDArray[np.float64]:
    """Back to H x W x 3 grey levels."""
    return 255 * picture.permute(1, 2, 0).double().numpy()


def by_pillow(picture: NDArray[np.uint8], quality: int) -> NDArray[np.float64]:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality)
    with Image.open(buffer) as image:
        return np.asarray(image, np.float64)


@pytest.mark.parametrize("texture", [0, 6])
@pytest.mark.parametrize("shape", [(96, 128), (123, 177)])
def test_jpeg_is_pillows(shape: tuple[int, int], texture: float) -> None:
    picture = scene(*shape, texture)
    ours = jpeg(batch(*[picture] * len(QUALITIES)), torch.tensor(QUALITIES))
    for result, quality in zip(ours, QUALITIES, strict=True):
        theirs = by_pillow(picture, quality)
        difference = np.abs(levels(result) - theirs).mean()
        assert difference < 1.2
        # without grain a good JPEG is no further off than its own rounding; with it, the loss is ours as well
        assert texture == 0 or difference < 0.5 * np.abs(theirs - picture).mean()


def test_jpeg_of_grey_is_pillows_to_a_fraction_of_a_level() -> None:
    grain = np.random.default_rng(1).normal(128, 12, (96, 128, 1)).clip(0, 255)
    picture = np.repeat(grain, 3, 2).astype(np.uint8)
    for quality in (10, 49, 50, 51, 100):  # the rule for the tables changes at 50
        ours = jpeg(batch(picture), torch.tensor([quality]))
        assert np.abs(levels(ours[0]) - by_pillow(picture, quality)).mean() < 0.4


def test_jpeg_at_full_contrast_is_pillows_at_the_worst_qualities() -> None:
    board = np.random.default_rng(2).integers(0, 2, (24, 32, 1)).repeat(3, 2).repeat(4, 0).repeat(4, 1)
    picture = (255 * board).astype(np.uint8)
    for quality in (3, 10, 41):  # steps end at 255; 5000 / 41 is no whole number
        ours = jpeg(batch(picture), torch.tensor([quality]))
        assert np.abs(levels(ours[0]) - by_pillow(picture, quality)).mean() < 0.2


def test_colours_beyond_the_border_do_not_shine_in() -> None:
    picture = np.full((18, 34, 3), (255, 0, 0), np.uint8)  # even sides that are no multiples of 16
    picture[:, -1] = (0, 255, 0)
    ours = jpeg(batch(picture), torch.tensor([95]))
    assert np.abs(levels(ours[0]) - by_pillow(picture, 95))[:, -2:].mean() < 2


@given(height=st.integers(1, 40), width=st.integers(1, 40), quality=st.integers(1, 100))
@settings(max_examples=25, deadline=None)
def test_jpeg_takes_any_size_and_gives_8_bits(height: int, width: int, quality: int) -> None:
    pictures = torch.rand(2, 3, height, width, generator=torch.Generator().manual_seed(0))
    result = jpeg(pictures, torch.full((2,), quality)) * 255
    assert result.shape == pictures.shape
    assert torch.allclose(result, result.round(), atol=1e-3)
    assert result.amin() >= 0
    assert result.amax() <= 255


def test_jpeg_of_one_colour_keeps_it() -> None:
    pictures = torch.tensor([200.0, 100.0, 50.0])[:, None, None].expand(1, 3, 19, 35) / 255
    assert (255 * (jpeg(pictures, torch.tensor([90])) - pictures)).abs().max() < 2.5


def test_each_picture_has_its_own_quality() -> None:
    picture = scene(48, 48, 6)
    together = jpeg(batch(picture, picture), torch.tensor([20, 90]))
    for i, quality in enumerate((20, 90)):
        torch.testing.assert_close(together[i : i + 1], jpeg(batch(picture), torch.tensor([quality])))
    assert not torch.equal(together[0], together[1])


@pytest.mark.parametrize("shape", [(40, 56), (5, 7), (1, 30)])
def test_blur_is_scipys(shape: tuple[int, int]) -> None:
    pictures = torch.rand(3, 3, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sigmas = (0.4, 1.0, 2.5)
    blurred = gaussian_blur(pictures, torch.tensor(sigmas, dtype=torch.float64))
    for result, picture, sigma in zip(blurred, pictures, sigmas, strict=True):
        for ours, plane in zip(result, picture, strict=True):
            theirs = ndimage.gaussian_filter(
                plane.numpy(), sigma, mode="nearest", radius=math.ceil(3 * sigma)
            )
            np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-12)


def test_no_blur_is_exactly_none_even_beside_much() -> None:
    pictures = torch.rand(2, 3, 20, 20)
    torch.testing.assert_close(gaussian_blur(pictures, torch.zeros(2)), pictures, rtol=0, atol=0)
    torch.testing.assert_close(
        gaussian_blur(pictures, torch.tensor([0.0, 3.0]))[0], pictures[0], rtol=0, atol=0
    )


def test_noise_has_the_variance_it_claims() -> None:
    light = torch.tensor([0.2, 0.5, 0.8])
    pictures = light[None, :, None, None].expand(2, 3, 200, 200)
    gain, read = torch.tensor([1e-3, 0.0]), torch.tensor([0.01, 0.02])
    noisy = sensor_noise(pictures, gain, read, torch.tensor([3, 4]))
    expected = gain[:, None] * light + read[:, None] ** 2
    torch.testing.assert_close(noisy.var((2, 3)), expected, rtol=0.05, atol=0)
    torch.testing.assert_close(noisy.mean((2, 3)), light.expand(2, 3), rtol=0, atol=1e-3)


def test_noise_depends_on_the_key_alone_and_stays_in_range() -> None:
    pictures = torch.rand(2, 3, 16, 16).round()
    strength = torch.full((2,), 0.1)

    def noisy(seed: int) -> Tensor:
        return sensor_noise(pictures, strength, strength, make_keys(seed, torch.arange(2)))

    assert torch.equal(noisy(1), noisy(1))
    assert not torch.equal(noisy(1), noisy(2))
    alone = sensor_noise(pictures[1:], strength[1:], strength[1:], make_keys(1, torch.arange(1, 2)))
    torch.testing.assert_close(alone, noisy(1)[1:])
    assert noisy(1).amin() == 0
    assert noisy(1).amax() == 1


def test_no_noise_is_exactly_none() -> None:
    pictures = torch.rand(2, 3, 16, 16)
    assert torch.equal(sensor_noise(pictures, torch.zeros(2), torch.zeros(2), torch.arange(2)), pictures)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_computed_in_float32(dtype: torch.dtype) -> None:
    pictures = torch.rand(1, 3, 16, 16).to(dtype)
    one = torch.ones(1)
    for result in (
        gaussian_blur(pictures, one),
        sensor_noise(pictures, one, one, torch.tensor([5])),
        jpeg(pictures, 90 * one),
    ):
        assert result.dtype == torch.float32
