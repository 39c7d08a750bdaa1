"""Smoke lifted off one picture and put over another: where it was, as dense as it was, if it shows at all."""

import pytest
import torch
from torch import Tensor

from smokescope.chance import make_keys
from smokescope.physics.rendering.transplant import fill, transplant

HEIGHT, WIDTH = 96, 128
GREY = torch.tensor([0.8, 0.8, 0.8]).view(3, 1, 1)


def hills(horizon: float = 0.5) -> Tensor:
    """Bright sky over dark land, [1, 3, H, W]."""
    edge = int(horizon * HEIGHT)
    picture = torch.empty(1, 3, HEIGHT, WIDTH)
    picture[:, :, :edge] = torch.tensor([0.55, 0.65, 0.75]).view(3, 1, 1)
    picture[:, :, edge:] = 0.2
    return picture


def smoke(top: int = 52, opacity: float = 0.7) -> tuple[Tensor, Tensor]:
    """Hills with a plume before the land, twice as dense in its middle, and its mask."""
    mask = torch.zeros(1, 1, HEIGHT, WIDTH)
    mask[..., top : top + 20, 40:70] = 1
    dense = mask * opacity / 2
    dense[..., top + 5 : top + 15, 48:62] = opacity
    return hills() * (1 - dense) + GREY * dense, mask


def keys(count: int = 1) -> Tensor:
    return make_keys(0, torch.arange(count))


def test_what_is_behind_smoke_is_found_beside_it() -> None:
    picture, mask = smoke(top=40)  # across the skyline
    torch.testing.assert_close(fill(picture, mask), hills(), atol=0.02, rtol=0)


def test_rows_that_are_covered_whole_are_filled_from_above_and_below() -> None:
    mask = torch.zeros(1, 1, HEIGHT, WIDTH)
    mask[..., 70:80, :] = 1
    assert (fill(hills(), mask)[..., 70:80, :] - 0.2).abs().max() < 0.25
    assert fill(hills(), torch.ones_like(mask)).isfinite().all()  # nothing is known


def test_smoke_over_its_own_background_is_the_picture_again() -> None:
    picture, mask = smoke()
    moved = transplant(picture, mask, hills(), keys())
    inside = mask.bool().expand(-1, 3, -1, -1)
    assert (moved.picture - picture)[inside].abs().mean() < 0.05  # the rim is softened
    torch.testing.assert_close(moved.mask, mask)
    outside = moved.mask[0, 0, :40].sum() + (moved.picture - hills())[..., :40, :].abs().sum()
    assert outside == 0


def test_smoke_keeps_its_height_above_the_skyline() -> None:
    picture, mask = smoke()
    moved = transplant(picture, mask, hills(horizon=0.7), keys())
    top = int(moved.mask[0, 0].amax(1).nonzero()[0])
    assert top == pytest.approx(52 + 0.2 * HEIGHT, abs=2)


@pytest.mark.parametrize("light", [(0.7, 0.7, 0.7), (1.0, 0.85, 0.7), (1.2, 1.2, 1.2)])
def test_smoke_takes_the_light_of_its_new_scene(light: tuple[float, float, float]) -> None:
    picture, mask = smoke()
    tint = torch.tensor(light).view(3, 1, 1)  # dusk, sunset, noon
    moved = transplant(picture, mask, tint * hills(), keys()).picture
    torch.testing.assert_close(moved, tint * transplant(picture, mask, hills(), keys()).picture)


def test_smoke_that_cannot_be_seen_is_not_called_smoke() -> None:
    picture, mask = smoke(opacity=0.02)
    moved = transplant(picture, mask, hills(), keys())
    assert not moved.mask.any()
    assert torch.equal(moved.picture, hills())


def test_a_black_and_white_camera_sees_smoke_without_colour() -> None:
    picture, mask = smoke()
    picture = picture + mask * torch.tensor([0.1, 0.0, -0.1]).view(3, 1, 1)
    behind = hills().mean(1, keepdim=True).expand(-1, 3, -1, -1)
    moved = transplant(picture, mask, behind, keys()).picture
    assert (moved - moved.mean(1, keepdim=True)).abs().max() < 0.03


def test_a_picture_is_the_same_alone_and_in_a_batch() -> None:
    (first, mask), (second, other) = smoke(), smoke(top=60, opacity=0.4)
    both = transplant(
        torch.cat((first, second)), torch.cat((mask, other)), torch.cat((hills(0.6), hills(0.4))), keys(2)
    )
    alone = transplant(second, other, hills(0.4), keys(2)[1:])
    torch.testing.assert_close(both.picture[1:], alone.picture)
    torch.testing.assert_close(both.mask[1:], alone.mask)


def test_a_picture_without_smoke_changes_nothing() -> None:
    empty = torch.zeros(1, 1, HEIGHT, WIDTH)
    moved = transplant(hills(), empty, hills(0.3), keys())
    assert torch.equal(moved.picture, hills(0.3))
    assert not moved.mask.any()
