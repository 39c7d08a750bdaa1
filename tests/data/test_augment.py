"""Augmentation: smoke is never lost, mask and picture move together, and what is off changes nothing."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from smokescope.data.augment import AugmentSettings, Batch, augment, collate
from smokescope.data.augment_colour import ColourSettings
from smokescope.data.augment_geometry import GeometrySettings

OFF = AugmentSettings.off()
GEOMETRY = AugmentSettings(colour=ColourSettings.off())
SOME = settings(max_examples=60, deadline=None)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch(masks: Tensor, pictures: Tensor | None = None) -> Batch:
    """Masks [N, 1, H, W] under pictures, noise unless they are given."""
    count, _, height, width = masks.shape
    if pictures is None:
        pictures = torch.rand(count, 3, height, width, generator=generator(99))
    return Batch(pictures, masks, torch.tensor([[height, width]] * count))


def square(height: int, width: int, top: int, left: int, side: int, count: int = 1) -> Tensor:
    masks = torch.zeros(count, 1, height, width)
    masks[..., top : top + side, left : left + side] = 1
    return masks


def geometry(**changes: object) -> AugmentSettings:
    """Nothing but a part of the geometry."""
    chosen = dataclasses.replace(GeometrySettings.off(), **changes)  # type: ignore[arg-type]
    return dataclasses.replace(OFF, geometry=chosen)


def test_off_changes_nothing_at_all() -> None:
    given = batch(torch.rand(3, 1, 40, 56, generator=generator()))
    result = augment(given, (40, 56), generator(), OFF)
    for ours, before in ((result.pictures, given.pictures), (result.masks, given.masks)):
        torch.testing.assert_close(ours, before, rtol=0, atol=0)
    torch.testing.assert_close(result.plain, given.pictures, rtol=0, atol=0)


def test_bytes_are_floats_over_255() -> None:
    eight = batch(
        torch.randint(0, 256, (2, 1, 20, 20), dtype=torch.uint8, generator=generator()),
        torch.randint(0, 256, (2, 3, 20, 20), dtype=torch.uint8, generator=generator()),
    )
    floats = Batch(eight.pictures / 255, eight.masks / 255, eight.sizes)
    for ours, theirs in zip(
        augment(eight, (16, 16), generator(1)), augment(floats, (16, 16), generator(1)), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("size", [(24, 31), (90, 120), (40, 100), (7, 5)])
def test_resizing_is_torchs_antialiased(size: tuple[int, int]) -> None:
    given = batch(torch.rand(2, 1, 60, 80, generator=generator()))
    result = augment(given, size, generator(), OFF)
    for ours, before in ((result.plain, given.pictures), (result.masks, given.masks)):
        theirs = functional.interpolate(before, size, mode="bilinear", antialias=True)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_flips_are_exact_and_as_many_as_asked() -> None:
    given = batch(torch.rand(200, 1, 4, 6, generator=generator()))
    result = augment(given, (4, 6), generator(), geometry(flip=0.3))
    flipped = (result.plain == given.pictures.flip(3)).all((1, 2, 3))
    same = (result.plain == given.pictures).all((1, 2, 3))
    assert (flipped ^ same).all()
    assert 40 <= flipped.sum() <= 80
    assert torch.equal(result.masks[flipped], given.masks[flipped].flip(3))


def test_scale_magnifies_by_what_it_says() -> None:
    masks = square(100, 100, 40, 40, 20, count=40)
    result = augment(batch(masks), (100, 100), generator(), geometry(scale=(1.5, 1.5)))
    torch.testing.assert_close(result.masks.sum((1, 2, 3)), torch.full((40,), 900.0), rtol=0.03, atol=0)


def test_below_scale_one_the_picture_is_mirrored_at_its_borders() -> None:
    given = batch(torch.rand(1, 1, 20, 20, generator=generator()))
    result = augment(given, (40, 40), generator(), geometry(scale=(0.5, 0.5)))  # one pixel a pixel
    tiled = torch.cat([given.pictures, given.pictures.flip(3)], 3).repeat(1, 1, 1, 2)
    tiled = torch.cat([tiled, tiled.flip(2)], 2).repeat(1, 1, 2, 1)
    # the window begins anywhere between pixels: at the nearest whole one it is nearly that
    best = min(
        (tiled[..., y : y + 40, x : x + 40] - result.plain).abs().mean().item()
        for y in range(40)
        for x in range(40)
    )
    assert best < 0.2 < (tiled[..., 1:41, 1:41] - tiled[..., 3:43, 3:43]).abs().mean().item()


def test_aspect_is_kept_unless_squashed() -> None:
    masks = square(60, 120, 20, 50, 20, count=1)

    def extent(squash: bool) -> tuple[float, float]:
        mask = augment(batch(masks), (60, 60), generator(), geometry(squash=squash)).masks[0, 0]
        return mask.amax(1).sum().item(), mask.amax(0).sum().item()

    assert extent(squash=False) == pytest.approx((20, 20), abs=1.1)
    assert extent(squash=True) == pytest.approx((20, 10), abs=1.1)


@SOME
@given(
    height=st.integers(20, 90),
    width=st.integers(20, 90),
    side=st.integers(1, 12),
    place=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    seed=st.integers(0, 2**31),
    size=st.sampled_from([(32, 32), (24, 48), (64, 64)]),
)
def test_smoke_is_never_lost_nor_shrunk_away(
    height: int, width: int, side: int, place: tuple[float, float], seed: int, size: tuple[int, int]
) -> None:
    top, left = int(place[0] * (height - side)), int(place[1] * (width - side))
    changes = GeometrySettings(scale=(0.3, 3.0), aspect=1.3)
    masks = square(height, width, top, left, side, count=8)
    areas = augment(
        batch(masks), size, generator(seed), dataclasses.replace(GEOMETRY, geometry=changes)
    ).masks.sum((1, 2, 3))
    # a crop may cut through smoke that is large beside its window, but leaves some of what it must keep
    assert areas.amin() >= 0.25 * min(12, side**2)
    if side <= 4:
        window = 1 / 3 * min(height, width) / 1.3  # the smallest there can be
        if side < window / 8:
            assert areas.amin() >= 0.9 * min(12, side**2)


def test_small_smoke_would_be_shrunk_away_without() -> None:
    masks = square(400, 400, 100, 100, 4, count=16)
    kept = augment(batch(masks), (40, 40), generator(), geometry(keep_area=12.0)).masks
    lost = augment(batch(masks), (40, 40), generator(), geometry(keep_area=0.0)).masks
    torch.testing.assert_close(kept.sum((1, 2, 3)), torch.full((16,), 12.0), rtol=0.1, atol=0)
    assert lost.amax() < 0.2


def test_faint_smoke_counts_too() -> None:
    masks = 0.01 * square(64, 64, 60, 3, 2, count=32)
    result = augment(batch(masks), (32, 32), generator(), geometry(scale=(3.0, 3.0)))
    assert (result.masks.amax((1, 2, 3)) > 0.005).all()


def test_crops_fall_anywhere_if_they_may() -> None:
    masks = square(64, 64, 2, 2, 4, count=200)
    losing = augment(batch(masks), (32, 32), generator(), geometry(scale=(2.0, 2.0), keep_smoke=0.0)).masks
    share = (losing.amax((1, 2, 3)) > 0).float().mean()
    assert share < 0.3
    half = augment(batch(masks), (32, 32), generator(), geometry(scale=(2.0, 2.0), keep_smoke=0.5)).masks
    assert 0.4 < (half.amax((1, 2, 3)) > 0).float().mean() < 0.8


def test_smoke_lies_all_over_the_crop() -> None:
    """Not always in its centre: the network would learn that."""
    masks = square(128, 128, 60, 60, 4, count=400)
    result = augment(batch(masks), (64, 64), generator(), geometry(scale=(2.0, 2.0))).masks
    columns = (result.sum((1, 2)) * torch.arange(64)).sum(1) / result.sum((1, 2, 3))
    assert columns.amin() < 12
    assert columns.amax() > 52
    assert 9 < columns.std() < 18


@SOME
@given(
    height=st.integers(16, 80),
    width=st.integers(16, 80),
    box=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0.2, 0.9)),
    seed=st.integers(0, 2**31),
)
def test_mask_and_picture_move_together(
    height: int, width: int, box: tuple[float, float, float], seed: int
) -> None:
    side = max(2, int(box[2] * min(height, width)))
    masks = square(height, width, int(box[0] * (height - side)), int(box[1] * (width - side)), side, count=4)
    red = torch.tensor([1.0, 0, 0])[:, None, None] * masks
    result = augment(batch(masks, red), (40, 36), generator(seed), GEOMETRY)
    torch.testing.assert_close(result.plain[:, :1], result.masks, rtol=0, atol=1e-6)
    assert result.plain[:, 1:].amax() == 0
    assert torch.equal(result.plain, result.pictures)


def test_pictures_of_other_sizes_share_a_batch() -> None:
    """Each gives what it gives alone: nothing of the space that is left seeps in."""
    rng = np.random.default_rng(0)
    items = [
        (
            torch.from_numpy(rng.integers(0, 256, (h, w, 3), dtype=np.uint8)),
            torch.from_numpy(rng.integers(0, 256, (h, w), dtype=np.uint8)),
        )
        for h, w in ((30, 50), (60, 20), (64, 64))
    ]
    together = collate(items)
    assert together.pictures.shape == (3, 3, 64, 64)
    assert together.sizes.tolist() == [[30, 50], [60, 20], [64, 64]]
    loud = Batch(together.pictures.clone(), together.masks.clone(), together.sizes)
    for i, (height, width) in enumerate(together.sizes.tolist()):
        for values in (loud.pictures, loud.masks):
            values[i, :, height:] = 255
            values[i, :, :, width:] = 255
    for settings_ in (OFF, GEOMETRY):
        quiet, noisy = (augment(b, (32, 40), generator(4), settings_) for b in (together, loud))
        torch.testing.assert_close(quiet, noisy, rtol=0, atol=0)
    shown = augment(together, (32, 40), generator(), OFF).plain
    for ours, (picture, _) in zip(shown, items, strict=True):
        alone = functional.interpolate(
            picture.permute(2, 0, 1)[None] / 255, (32, 40), mode="bilinear", antialias=True
        )
        torch.testing.assert_close(ours, alone[0], rtol=0, atol=1e-5)


def test_the_seed_decides_everything() -> None:
    given = batch(square(48, 64, 10, 10, 8, count=6))
    state = torch.get_rng_state()
    one, same, other = (augment(given, (32, 32), generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's dice were thrown
    for ours, theirs in zip(one, same, strict=True):
        assert torch.equal(ours, theirs)
    assert not torch.equal(one.pictures, other.pictures)
    assert not torch.equal(one.plain[0], one.plain[1])


def test_results_are_in_range_and_the_plain_picture_is_plain() -> None:
    given = batch(square(48, 64, 10, 10, 8, count=16))
    result = augment(given, (32, 32), generator())
    for values in result:
        assert values.amin() >= 0
        assert values.amax() <= 1 + 1e-6
    without = augment(given, (32, 32), generator(), GEOMETRY)
    torch.testing.assert_close(result.plain, without.plain, rtol=0, atol=0)
    torch.testing.assert_close(result.masks, without.masks, rtol=0, atol=0)
    assert (result.pictures - result.plain).abs().mean((1, 2, 3)).amin() > 1e-3


def test_autocast_does_not_spoil_it() -> None:
    given = batch(square(48, 64, 10, 10, 8, count=4))
    expected = augment(given, (32, 32), generator())
    with torch.autocast("cpu", torch.bfloat16):
        result = augment(given, (32, 32), generator())
    for ours, theirs in zip(result, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
