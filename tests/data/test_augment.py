"""Augmentation: smoke is never lost, mask and picture move together, and what is off changes nothing."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.off import COLOUR_OFF, GEOMETRY_OFF, OFF
from torch import Tensor
from torch.nn import functional

from smokescope.chance import make_keys
from smokescope.data.augment import AugmentSettings, Batch, collate, crop_batch
from smokescope.data.augment_colour import recolour
from smokescope.data.augment_geometry import GeometrySettings, draw

ALL = AugmentSettings()
GEOMETRY = AugmentSettings(colour=COLOUR_OFF)
SOME = settings(max_examples=60, deadline=None)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Augmented(NamedTuple):
    pictures: Tensor
    masks: Tensor
    plain: Tensor


def augment(given: Batch, size: tuple[int, int], keys: Tensor, changes: AugmentSettings = ALL) -> Augmented:
    """Both halves, as training has them, with nothing rendered in between."""
    plain, masks = crop_batch(given, size, keys, changes.geometry)
    return Augmented(recolour(plain, changes.colour, keys), masks, plain)


def shake(given: Batch, size: tuple[int, int], seed: int = 0, changes: AugmentSettings = ALL) -> Augmented:
    return augment(given, size, make_keys(seed, torch.arange(len(given.pictures))), changes)


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
    chosen = dataclasses.replace(GEOMETRY_OFF, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(OFF, geometry=chosen)


def test_off_changes_nothing_at_all() -> None:
    given = batch(torch.rand(3, 1, 40, 56, generator=generator()))
    result = shake(given, (40, 56), 0, OFF)
    for ours, before in ((result.pictures, given.pictures), (result.masks, given.masks)):
        torch.testing.assert_close(ours, before, rtol=0, atol=0)
    torch.testing.assert_close(result.plain, given.pictures, rtol=0, atol=0)


def test_bytes_are_floats_over_255() -> None:
    eight = batch(
        torch.randint(0, 256, (2, 1, 20, 20), dtype=torch.uint8, generator=generator()),
        torch.randint(0, 256, (2, 3, 20, 20), dtype=torch.uint8, generator=generator()),
    )
    floats = Batch(eight.pictures / 255, eight.masks / 255, eight.sizes)
    for ours, theirs in zip(shake(eight, (16, 16), 1), shake(floats, (16, 16), 1), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("size", [(24, 31), (90, 120), (40, 100), (7, 5)])
def test_resizing_is_torchs_antialiased(size: tuple[int, int]) -> None:
    given = batch(torch.rand(2, 1, 60, 80, generator=generator()))
    result = shake(given, size, 0, OFF)
    for ours, before in ((result.plain, given.pictures), (result.masks, given.masks)):
        theirs = functional.interpolate(before, size, mode="bilinear", antialias=True)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


def test_flips_are_exact_and_as_many_as_asked() -> None:
    given = batch(torch.rand(200, 1, 4, 6, generator=generator()))
    result = shake(given, (4, 6), 0, geometry(flip=0.3))
    flipped = (result.plain == given.pictures.flip(3)).all((1, 2, 3))
    same = (result.plain == given.pictures).all((1, 2, 3))
    assert (flipped ^ same).all()
    assert 40 <= flipped.sum() <= 80
    assert torch.equal(result.masks[flipped], given.masks[flipped].flip(3))


def test_scale_magnifies_by_what_it_says() -> None:
    masks = square(100, 100, 40, 40, 20, count=40)
    result = shake(batch(masks), (100, 100), 0, geometry(scale=(1.5, 1.5)))
    torch.testing.assert_close(result.masks.sum((1, 2, 3)), torch.full((40,), 900.0), rtol=0.03, atol=0)


def test_some_pictures_are_seen_from_closer() -> None:
    own = make_keys(0, torch.arange(2000))
    usual, both = (draw(own, GeometrySettings(scale=(0.7, 1.4), close=c)).scale for c in (0.0, 0.2))
    closer = both != usual
    assert closer.float().mean() == pytest.approx(0.2, abs=0.03)
    assert (both[closer] >= 1.4).all()
    assert both.max() == pytest.approx(4.0, abs=0.1)
    assert (usual <= 1.4).all()
    assert usual.median() == pytest.approx(
        0.99, abs=0.02
    )  # shrunk as often as enlarged: the root of 0.7 * 1.4
    beyond = draw(own, GeometrySettings(scale=(1.0, 2.0), close=1.0, closest=1.5)).scale
    assert (beyond == 2).all()  # never back into the range


def test_some_pictures_are_shown_pixel_by_pixel() -> None:
    masks = square(60, 80, 20, 30, 3, count=300)
    given = batch(masks)
    some = geometry(untouched=0.3, scale=(0.5, 3.0), aspect=1.2, squash=False)
    result = shake(given, (30, 40), 0, some)
    # every window of the output's size, as many of them as there are
    windows = functional.unfold(given.pictures[:, :1], (30, 40)).transpose(1, 2)
    exact = (windows == result.plain[:, :1].flatten(1)[:, None]).all(2).any(1)
    assert exact.float().mean() == pytest.approx(0.3, abs=0.08)
    assert (result.masks[exact].sum((1, 2, 3)) == 9).all()
    mirrored = shake(given, (96, 120), 0, some)  # smaller than the output: whole, and beyond it mirrored
    copies = (mirrored.plain[:, 0, 0:1, 0:1] == given.pictures[:, 0]).any(2).any(1)
    assert copies.float().mean() == pytest.approx(0.3, abs=0.08)


def test_pictures_are_shown_pixel_by_pixel_only_in_a_scale_that_may_be() -> None:
    given = batch(square(60, 80, 20, 30, 4, count=40))  # twice the output: pixel by pixel is a scale of 2

    def areas(*scale: float) -> Tensor:
        shown = shake(given, (30, 40), 0, geometry(untouched=1.0, scale=scale, squash=False))
        return shown.masks.sum((1, 2, 3))

    assert (areas(1.0, 2.0) == 16).all()
    assert (areas(2.0, 3.0) == 16).all()
    assert areas(1.0, 1.9).amax() < 16
    assert areas(2.1, 3.0).amin() > 16


def test_pictures_are_stretched_and_squeezed_as_far_as_they_may() -> None:
    masks, own = square(100, 100, 40, 40, 20, count=200), make_keys(0, torch.arange(200))
    result = shake(batch(masks), (100, 100), 0, geometry(aspect=1.5)).masks[:, 0]
    ratio = result.amax(1).sum(1) / result.amax(2).sum(1)  # width to height; 1 before
    assert ratio.amin() == pytest.approx(1 / 1.5, rel=0.05)
    assert ratio.amax() == pytest.approx(1.5, rel=0.05)
    assert 0.4 < (ratio > 1).float().mean() < 0.6
    torch.testing.assert_close(result.sum((1, 2)), torch.full((200,), 400.0), rtol=0.05, atol=0)
    drawn = draw(own, GeometrySettings(aspect=1.5)).aspect
    torch.testing.assert_close(ratio, drawn, rtol=0.1, atol=0)


def test_below_scale_one_the_picture_is_mirrored_at_its_borders() -> None:
    given = batch(torch.rand(1, 1, 20, 20, generator=generator()))
    result = shake(given, (40, 40), 0, geometry(scale=(0.5, 0.5)))  # one pixel a pixel
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
        mask = shake(batch(masks), (60, 60), 0, geometry(squash=squash)).masks[0, 0]
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
    areas = shake(batch(masks), size, seed, dataclasses.replace(GEOMETRY, geometry=changes)).masks.sum(
        (1, 2, 3)
    )
    # a crop may cut through smoke that is large beside its window, but leaves some of what it must keep
    assert areas.amin() >= 0.25 * min(12, side**2)
    if side <= 4:
        window = 1 / 3 * min(height, width) / 1.3  # the smallest there can be
        if side < window / 8:
            assert areas.amin() >= 0.9 * min(12, side**2)


def test_crops_hold_smoke_and_not_strokes_of_background() -> None:
    strokes = torch.zeros(40, 2, 60, 80)
    strokes[:, 0, 5:9, 5:9] = 1
    strokes[:, 1, 40:, 40:] = 1
    kept = shake(batch(strokes), (30, 40), 0, geometry(scale=(4, 4))).masks
    assert (kept[:, 0].amax((1, 2)) > 0).all()


def test_small_smoke_would_be_shrunk_away_without() -> None:
    masks = square(400, 400, 100, 100, 4, count=16)
    kept = shake(batch(masks), (40, 40), 0, geometry(keep_area=12.0)).masks
    lost = shake(batch(masks), (40, 40), 0, geometry(keep_area=0.0)).masks
    torch.testing.assert_close(kept.sum((1, 2, 3)), torch.full((16,), 12.0), rtol=0.1, atol=0)
    assert lost.amax() < 0.2


def test_faint_smoke_counts_too() -> None:
    masks = 0.01 * square(64, 64, 60, 3, 2, count=32)
    result = shake(batch(masks), (32, 32), 0, geometry(scale=(3.0, 3.0)))
    assert (result.masks.amax((1, 2, 3)) > 0.005).all()


def test_crops_fall_anywhere_if_they_may() -> None:
    masks = square(64, 64, 2, 2, 4, count=200)
    losing = shake(batch(masks), (32, 32), 0, geometry(scale=(2.0, 2.0), keep_smoke=0.0)).masks
    share = (losing.amax((1, 2, 3)) > 0).float().mean()
    assert share < 0.3
    half = shake(batch(masks), (32, 32), 0, geometry(scale=(2.0, 2.0), keep_smoke=0.5)).masks
    assert 0.4 < (half.amax((1, 2, 3)) > 0).float().mean() < 0.8


def test_smoke_lies_all_over_the_crop() -> None:
    """Not always in its centre: the network would learn that."""
    masks = square(128, 128, 60, 60, 4, count=400)
    result = shake(batch(masks), (64, 64), 0, geometry(scale=(2.0, 2.0))).masks
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
    result = shake(batch(masks, red), (40, 36), seed, GEOMETRY)
    torch.testing.assert_close(result.plain[:, :1], result.masks, rtol=0, atol=1e-6)
    assert result.plain[:, 1:].amax() == 0
    assert torch.equal(result.plain, result.pictures)


def test_pictures_of_other_sizes_share_a_batch() -> None:
    """Each gives what it gives alone: nothing of the space that is left seeps in."""
    rng = np.random.default_rng(0)
    items = [
        (
            torch.from_numpy(rng.integers(0, 256, (h, w, 3), dtype=np.uint8)),
            torch.from_numpy(rng.integers(0, 256, (h, w), dtype=np.uint8))[None],
        )
        for h, w in ((30, 50), (60, 20), (64, 64))
    ]
    together = collate(items)
    assert together.pictures.shape == (3, 3, 64, 64)
    assert together.masks.shape == (3, 1, 64, 64)
    assert together.sizes.tolist() == [[30, 50], [60, 20], [64, 64]]
    loud = Batch(together.pictures.clone(), together.masks.clone(), together.sizes)
    for i, (height, width) in enumerate(together.sizes.tolist()):
        for values in (loud.pictures, loud.masks):
            values[i, :, height:] = 255
            values[i, :, :, width:] = 255
    for settings_ in (OFF, GEOMETRY):
        quiet, noisy = (shake(b, (32, 40), 4, settings_) for b in (together, loud))
        torch.testing.assert_close(quiet, noisy, rtol=0, atol=0)
    shown = shake(together, (32, 40), 0, OFF).plain
    for ours, (picture, _) in zip(shown, items, strict=True):
        alone = functional.interpolate(
            picture.permute(2, 0, 1)[None] / 255, (32, 40), mode="bilinear", antialias=True
        )
        torch.testing.assert_close(ours, alone[0], rtol=0, atol=1e-5)


def test_the_keys_decide_everything() -> None:
    given = batch(square(48, 64, 10, 10, 8, count=6))
    state = torch.get_rng_state()
    one, same, other = (shake(given, (32, 32), seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's dice were thrown
    for ours, theirs in zip(one, same, strict=True):
        assert torch.equal(ours, theirs)
    assert not torch.equal(one.pictures, other.pictures)
    assert not torch.equal(one.plain[0], one.plain[1])


def test_a_picture_does_not_depend_on_its_batch() -> None:
    given = batch(square(48, 64, 10, 10, 8, count=8))
    keys = make_keys(3, torch.arange(8))
    together = augment(given, (32, 32), keys)
    assert (together.pictures - together.plain).abs().mean((1, 2, 3)).amin() > 1e-3
    for some in (slice(2, 3), slice(3, 7)):
        part = augment(Batch(*(tensor[some] for tensor in given)), (32, 32), keys[some])
        torch.testing.assert_close(part.masks, together.masks[some])
        torch.testing.assert_close(part.plain, together.plain[some])
        # where rounding differs, JPEG may round a coefficient the other way
        assert ((part.pictures - together.pictures[some]).abs() > 0.01).float().mean() < 1e-2


def test_mixed_precision_is_for_networks() -> None:
    given = batch(square(48, 64, 10, 10, 8, count=4))
    keys = make_keys(3, torch.arange(4))
    with torch.autocast("cpu", torch.bfloat16):
        mixed = augment(given, (32, 32), keys)
    for ours, theirs in zip(mixed, augment(given, (32, 32), keys), strict=True):
        assert torch.equal(ours, theirs)


def test_results_are_in_range_and_the_plain_picture_is_plain() -> None:
    given = batch(square(48, 64, 10, 10, 8, count=16))
    result = shake(given, (32, 32), 0)
    for values in result:
        assert values.amin() >= 0
        assert values.amax() <= 1 + 1e-6
    without = shake(given, (32, 32), 0, GEOMETRY)
    torch.testing.assert_close(result.plain, without.plain, rtol=0, atol=0)
    torch.testing.assert_close(result.masks, without.masks, rtol=0, atol=0)
    assert (result.pictures - result.plain).abs().mean((1, 2, 3)).amin() > 1e-3


def test_autocast_does_not_spoil_it() -> None:
    given = batch(square(48, 64, 10, 10, 8, count=4))
    expected = shake(given, (32, 32), 0)
    with torch.autocast("cpu", torch.bfloat16):
        result = shake(given, (32, 32), 0)
    for ours, theirs in zip(result, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
