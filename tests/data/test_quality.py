"""Picture quality: what blur, darkness and compression do to the figures."""

import io

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from smokescope.data import quality
from smokescope.data.attributes import channel_range
from smokescope.data.quality import Quality


def scene(height: int = 256, width: int = 256, seed: int = 0) -> NDArray[np.uint8]:
    """Smooth clouds with some grain, in colour."""
    noise = np.random.default_rng(seed).standard_normal((height, width, 3))
    cloud = cv2.GaussianBlur(noise, (0, 0), 6)
    return np.clip(128 + 500 * cloud + 8 * noise, 0, 255).astype(np.uint8)


def compressed(picture: NDArray[np.uint8], quality: int) -> NDArray[np.uint8]:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=quality)
    return np.array(Image.open(buffer))


def measured(picture: NDArray[np.uint8]) -> Quality:
    return quality.measure_quality(picture, channel_range(picture))


def test_sharpness_falls_with_blur() -> None:
    blurred = [
        scene(),
        *(np.asarray(cv2.GaussianBlur(scene(), (0, 0), s), np.uint8) for s in (0.7, 1.5, 3, 6)),
    ]
    found = [measured(picture).sharpness for picture in blurred]
    assert found == sorted(found, reverse=True)
    assert found[0] > 10 * found[2]


def test_sharpness_of_a_known_picture() -> None:
    board = np.zeros((64, 64, 3), np.uint8)
    board[::2, ::2] = board[1::2, 1::2] = 100
    # The Laplacian of a chequerboard is ±400 (reflected borders keep the pattern).
    assert measured(board).sharpness == pytest.approx(160_000)


def test_sharpness_compares_sizes() -> None:
    small = scene(128, 256)
    large = np.asarray(cv2.resize(small, (1024, 512), interpolation=cv2.INTER_NEAREST), np.uint8)
    assert measured(large).sharpness == pytest.approx(measured(small).sharpness, rel=0.01)


def test_blockiness_rises_with_compression() -> None:
    found = [measured(compressed(scene(), q)).blockiness for q in (95, 40, 10)]
    assert measured(scene()).blockiness == pytest.approx(1, abs=0.03)
    assert found == sorted(found)
    assert found[-1] > 1.5


def test_blocks_are_found_in_a_crop_and_in_a_mirror() -> None:
    blocky = compressed(scene(), 10)
    whole = measured(blocky).blockiness
    assert measured(blocky[3:, 5:]).blockiness == pytest.approx(whole, rel=0.05)
    assert measured(blocky[:, 250::-1]).blockiness == pytest.approx(whole, rel=0.05)


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (64, 64)])
def test_flat_and_tiny_pictures_have_no_blocks(shape: tuple[int, int]) -> None:
    assert measured(np.full((*shape, 3), 77, np.uint8)).blockiness == pytest.approx(1)


def test_exposure() -> None:
    picture = np.full((10, 10, 3), 100, np.uint8)
    picture[:2], picture[2:3] = 255, 2
    assert quality.clipped(channel_range(picture)) == pytest.approx((0.1, 0.2))
    picture[:2, :, 0] = 200  # a colour is not burnt out
    assert quality.clipped(channel_range(picture)) == pytest.approx((0.1, 0))
    picture[2:3, :, 0] = 200  # nor black
    assert quality.clipped(channel_range(picture)) == pytest.approx((0, 0))


@pytest.mark.parametrize(("level", "night"), [(20, True), (50, True), (52, False), (200, False)])
def test_night(level: int, night: bool) -> None:
    found = measured(np.full((40, 40, 3), level, np.uint8))
    assert found.luminance == pytest.approx(level / 255)
    assert found.night is night


def test_luminance_weighs_the_channels() -> None:
    assert measured(np.full((4, 4, 3), (255, 0, 0), np.uint8)).luminance == pytest.approx(0.299, abs=1e-4)
