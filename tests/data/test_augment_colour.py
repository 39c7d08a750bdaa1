"""Colours, air and camera: each change by its closed form, for the share of pictures it was asked for."""

import dataclasses
import io

import numpy as np
import pytest
import torch
from PIL import Image
from tests.off import COLOUR_OFF
from torch import Tensor

from smokescope.chance import make_keys
from smokescope.data.augment_colour import ColourSettings, add_haze, recolour
from smokescope.physics.camera import gaussian_blur, jpeg


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


KEYS = make_keys(0, torch.arange(50))


def colour(**changes: object) -> ColourSettings:
    """Nothing but these changes."""
    return dataclasses.replace(COLOUR_OFF, **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def pictures() -> Tensor:
    """A smooth scene in the middle of the range, where nothing clips, 50 times."""
    y, x = torch.meshgrid(torch.linspace(0, 1, 24), torch.linspace(0, 1, 32), indexing="ij")
    return torch.stack((0.3 + 0.2 * x, 0.5 - 0.1 * y, 0.4 + 0.1 * x * y)).expand(50, -1, -1, -1)


def luma(x: Tensor) -> Tensor:
    return (x * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1)


def test_brightness_multiplies(pictures: Tensor) -> None:
    factor = recolour(pictures, colour(brightness=1.2), KEYS) / pictures
    torch.testing.assert_close(factor, factor[:, :1, :1, :1].expand_as(factor))
    assert 1 / 1.2 <= factor.amin() < 0.9 < 1.1 < factor.amax() <= 1.2


def test_contrast_stretches_about_the_mean_grey(pictures: Tensor) -> None:
    result = recolour(pictures, colour(contrast=1.2), KEYS)
    mean = luma(pictures).mean((1, 2))
    torch.testing.assert_close(luma(result).mean((1, 2)), mean)
    factor = (result - mean[:, None, None, None]) / (pictures - mean[:, None, None, None])
    torch.testing.assert_close(factor, factor[:, :1, :1, :1].expand_as(factor), rtol=1e-3, atol=1e-3)
    assert 1 / 1.21 <= factor.amin() < 0.9 < 1.1 < factor.amax() <= 1.21


def test_contrast_keeps_the_mean_that_brightness_made(pictures: Tensor) -> None:
    both = colour(brightness=1.2, contrast=1.2)
    bright = recolour(pictures, colour(brightness=1.2), KEYS)
    torch.testing.assert_close(luma(recolour(pictures, both, KEYS)).mean((1, 2)), luma(bright).mean((1, 2)))


def test_saturation_keeps_luma(pictures: Tensor) -> None:
    result = recolour(pictures, colour(saturation=1.5), KEYS)
    torch.testing.assert_close(luma(result), luma(pictures))
    assert (result - pictures).abs().amax() > 0.02


def test_grey_has_no_colour_and_the_same_luma(pictures: Tensor) -> None:
    result = recolour(pictures, colour(grey=0.5), KEYS)
    grey = (result.amax(1) - result.amin(1)).amax((1, 2)) < 1e-6
    assert 15 <= grey.sum() <= 35
    torch.testing.assert_close(luma(result), luma(pictures))
    assert torch.equal(result[~grey], pictures[~grey])


def test_hue_turns_about_grey(pictures: Tensor) -> None:
    result = recolour(pictures, colour(hue=20.0), KEYS)
    torch.testing.assert_close(result.mean(1), pictures.mean(1))
    torch.testing.assert_close(result.norm(dim=1), pictures.norm(dim=1))
    before, after = (x - x.mean(1, keepdim=True) for x in (pictures, result))
    angle = torch.cosine_similarity(before, after, dim=1).clamp(max=1).acos().rad2deg()
    assert 15 < angle.amax() <= 20.1


def test_white_balance_is_a_gain_of_each_channel(pictures: Tensor) -> None:
    gain = recolour(pictures, colour(white_balance=1.1), KEYS) / pictures
    torch.testing.assert_close(gain, gain[:, :, :1, :1].expand_as(gain))
    assert 1 / 1.1 <= gain.amin() < gain.amax() <= 1.1
    assert (gain[:, 0] - gain[:, 2]).abs().amax() > 0.05


def test_gamma_is_a_power(pictures: Tensor) -> None:
    power = recolour(pictures, colour(gamma=1.3), KEYS).log() / pictures.log()
    torch.testing.assert_close(power, power[:, :1, :1, :1].expand_as(power), rtol=1e-4, atol=1e-4)
    assert 1 / 1.3 <= power.amin() < 0.9 < 1.1 < power.amax() <= 1.3


def test_haze_is_the_scattering_model() -> None:
    scene = torch.rand(2, 3, 40, 30, generator=generator())
    strength, horizon = torch.tensor([0.0, 0.4]), torch.tensor([0.25, 0.3])
    air = torch.tensor([[0.9, 0.9, 0.9], [0.8, 0.7, 0.6]])
    hazy = add_haze(scene, strength, horizon, air)
    assert torch.equal(hazy[0], scene[0])
    through = (hazy[1] - air[1, :, None, None]) / (scene[1] - air[1, :, None, None])
    through = through.median(2).values.mean(0)  # the same along a row and in every channel
    torch.testing.assert_close(
        through[:12], torch.full((12,), 0.6), rtol=1e-3, atol=0
    )  # at and above the horizon
    assert (through.diff() > -1e-4).all()
    assert through[26] == pytest.approx(0.6**0.5, abs=0.02)  # half way down from it
    assert through[-1] > 0.99
    assert through.diff().amax() < 0.05  # no edge


def test_haze_and_the_camera_meet_their_share_of_pictures(pictures: Tensor) -> None:
    for kind in ("haze", "blur", "noise", "jpeg"):
        result = recolour(pictures, colour(**{kind: 0.4}), KEYS)
        changed = ((result - pictures).abs().amax((1, 2, 3)) > 1e-4).sum()
        assert 10 <= changed <= 30, kind


def test_haze_replaces_as_much_light_as_was_asked_for_by_a_near_grey() -> None:
    black = torch.zeros(50, 3, 24, 32)
    hazy = recolour(black, colour(haze=1.0, haze_strength=(0.3, 0.3)), KEYS)
    airlight = hazy[:, :, 0, 0] / 0.3  # the first row is above every horizon
    green = airlight[:, 1]
    assert 0.65 <= green.amin() < 0.75 < 0.85 < green.amax() <= 0.95
    warmth = (airlight[:, 0] - airlight[:, 2]) / green / 2  # bluish as well as brownish
    assert -0.061 < warmth.amin() < -0.03 < 0.03 < warmth.amax() < 0.061
    clear = (hazy.amax((1, 3)) < 0.999 * hazy[:, :, :1].amax((1, 3))).float().argmax(1) / 24
    assert 0.1 <= clear.amin() < 0.3 < 0.5 < clear.amax() < 0.75  # where the horizon was


def test_the_camera_blurs_and_compresses_as_strongly_as_was_asked_for(pictures: Tensor) -> None:
    every = torch.ones(50)
    blurred = recolour(pictures, colour(blur=1.0, blur_sigma=(1.2, 1.2)), KEYS)
    torch.testing.assert_close(blurred, gaussian_blur(pictures, 1.2 * every))
    compressed = recolour(pictures, colour(jpeg=1.0, jpeg_quality=(30.0, 30.0)), KEYS)
    torch.testing.assert_close(compressed, jpeg(pictures, 30 * every))


def test_gain_is_noise_of_light_and_read_is_noise_of_the_dark() -> None:
    half_lit = torch.zeros(50, 3, 24, 32)
    half_lit[..., 16:] = 0.5
    shot = recolour(half_lit, colour(noise=1.0, noise_gain=(2e-3, 2e-3), noise_read=(0.0, 0.0)), KEYS)
    assert not shot[..., :16].any()
    assert shot[..., 16:].var() == pytest.approx(1e-3, rel=0.05)
    read = recolour(half_lit, colour(noise=1.0, noise_gain=(0.0, 0.0), noise_read=(0.02, 0.02)), KEYS)
    assert read[..., 16:].std() == pytest.approx(0.02, rel=0.05)


def test_haze_is_bounded(pictures: Tensor) -> None:
    result = recolour(pictures, colour(haze=1.0), KEYS)
    assert (result.std((1, 2, 3)) > 0.5 * pictures.std((1, 2, 3))).all()


def test_jpeg_is_what_is_stored_last() -> None:
    """After all other changes a picture is a JPEG's: saved again at the same quality, it hardly changes."""
    scenes = torch.rand(1, 3, 32, 32, generator=generator())
    changes = dataclasses.replace(ColourSettings(), grey=0.0, jpeg=1.0, jpeg_quality=(60.0, 60.0))
    result = recolour(scenes, changes, KEYS[:1])[0]
    pixels = (255 * result).round().byte().permute(1, 2, 0).numpy()
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=60)
    with Image.open(buffer) as image:
        again = np.asarray(image, np.float64)
    original = (255 * scenes[0]).permute(1, 2, 0).numpy()
    assert np.abs(again - pixels).mean() < 0.2 * np.abs(pixels - original).mean()
