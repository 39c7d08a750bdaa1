"""Rendered smoke: the image formation holds, sizes are real, keys repeat, nothing else is called smoke."""

import pytest
import torch
from torch import Tensor

from smokescope.chance import make_keys
from smokescope.physics.rendering import smoke
from smokescope.physics.rendering.backdrop import Backdrop, survey
from smokescope.physics.rendering.lookalikes import KINDS, render_lookalikes
from smokescope.physics.rendering.noise import ROW, Dice, turbulence
from smokescope.physics.rendering.plume import FACE, Habit, Plumes, draw_habits, grow
from smokescope.physics.rendering.smoke import draw_shares, outline, render_smoke

HEIGHT, WIDTH = 120, 160


def keys(count: int, seed: int = 0) -> Tensor:
    return make_keys(seed, torch.arange(count))


def dice(count: int, seed: int = 0) -> Dice:
    return Dice(keys(count, seed))


def hills(count: int = 2, horizon: float = 0.45) -> Tensor:
    """Bright sky over dark, textured land."""
    pictures = torch.empty(count, 3, HEIGHT, WIDTH)
    edge = int(horizon * HEIGHT)
    pictures[:, :, :edge] = torch.tensor([0.5, 0.65, 0.9]).view(3, 1, 1)
    land = torch.rand(count, 1, HEIGHT - edge, WIDTH, generator=torch.Generator().manual_seed(1))
    pictures[:, :, edge:] = 0.15 + 0.15 * land
    return pictures


def test_returns_picture_mask_opacity_and_transmission() -> None:
    result = render_smoke(hills(3), keys(3, 0))
    assert result.picture.shape == (3, 3, HEIGHT, WIDTH)
    for map_ in (result.mask, result.opacity, result.transmission):
        assert map_.shape == (3, 1, HEIGHT, WIDTH)
        assert map_.isfinite().all()
    assert 0 <= result.picture.min() <= result.picture.max() <= 1
    assert set(result.mask.unique().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(result.opacity, 1 - result.transmission)


def test_is_reproducible_by_seed_and_differs_between_seeds() -> None:
    first, again, other = (render_smoke(hills(), keys(2, seed)) for seed in (5, 5, 6))
    for a, b in zip(first, again, strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(first.opacity, other.opacity)


@pytest.mark.parametrize("place", [0, 4])
def test_smoke_is_the_same_alone_and_in_a_batch(place: int) -> None:
    """So that rendered data does not depend on batch sizes or on how many machines share the work."""
    backgrounds, own = torch.cat((hills(2), hills(3, horizon=0.6))), keys(5, 3)
    alone = render_smoke(backgrounds[place : place + 1], own[place : place + 1])
    together = render_smoke(backgrounds, own)
    for one, many in zip(alone[1:], together[1:], strict=True):
        torch.testing.assert_close(one[0], many[place], atol=1e-4, rtol=1e-4)
    # where rounding differs, JPEG may round a coefficient the other way
    assert ((alone.picture[0] - together.picture[place]).abs() > 0.01).float().mean() < 1e-3


def test_lookalikes_are_the_same_alone_and_in_a_batch() -> None:
    backgrounds, own = hills(12), keys(12, 3)
    together = render_lookalikes(backgrounds, own)
    for place in range(0, 12, 3):
        alone = render_lookalikes(backgrounds[place : place + 1], own[place : place + 1])
        assert ((alone[0] - together[place]).abs() > 0.01).float().mean() < 1e-3


def test_dice_draw_what_they_are_asked_for() -> None:
    one = dice(20_000)
    low, high = one.uniform(2, 5), one.log_uniform(1, 100)
    assert 2 <= low.min() < 2.01 < 4.99 < low.max() < 5
    assert low.mean().item() == pytest.approx(3.5, abs=0.03)
    assert high.log10().mean().item() == pytest.approx(1, abs=0.02)
    normal = one.normal(3, 2)
    assert (normal.mean().item(), normal.std().item()) == pytest.approx((3, 2), abs=0.05)
    shares = torch.bincount(one.choose([3.0, 0.0, 1.0]), minlength=3) / 20_000
    assert shares.tolist() == pytest.approx([0.75, 0, 0.25], abs=0.01)
    assert one.lattice(2, 3).shape == (20_000, 2, 3)


def test_no_two_calls_of_dice_give_the_same() -> None:
    """Beyond a row of numbers drawn at once, too, and between the kinds of calls."""
    one = dice(200)
    drawn = torch.stack([*(one.uniform() for _ in range(3 * ROW)), one.lattice(1)[:, 0] / 2 + 0.5])
    assert drawn.corrcoef().fill_diagonal_(0).abs().max() < 0.35
    assert len(torch.cat((one.keys(), one.keys())).unique()) == 400


def test_follows_the_image_formation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the camera, I = J t + A (1 - t): untouched where t is 1, the airlight where t is 0."""
    monkeypatch.setattr(smoke, "photograph", lambda dice, pictures: pictures)
    monkeypatch.setattr(smoke, "_airlight", lambda *_: torch.full((1, 3, 1, 1), 0.77))
    backgrounds = hills(6)
    result = render_smoke(backgrounds, keys(6, 3))
    t = result.transmission
    torch.testing.assert_close(result.picture, backgrounds * t + 0.77 * (1 - t))
    clear = (t == 1).expand_as(backgrounds)
    assert clear.float().mean() > 0.5
    assert torch.equal(result.picture[clear], backgrounds[clear])


def test_sizes_follow_real_smoke() -> None:
    shares = draw_shares(dice(20_000))
    assert shares.median().item() == pytest.approx(0.0033, rel=0.05)
    assert shares.min().item() == pytest.approx(0.0005)
    assert 0.01 < (shares < 0.0006).float().mean() < 0.2
    assert shares.max() > 0.3
    assert (shares > 0.1).float().mean().item() == pytest.approx(0.031, abs=0.006)  # FILLING, and a thin tail


def test_masks_have_about_the_size_that_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoke, "draw_shares", lambda dice: torch.full((len(dice),), 0.02))
    result = render_smoke(hills(24), keys(24, 1))
    share = result.mask.mean((1, 2, 3))
    assert 0.012 < share.median() < 0.035


def test_no_smoke_is_lost_below_a_ridge_or_beyond_the_border() -> None:
    """Ridges and borders may hide a part; a picture in which nothing is left to see is the exception."""
    masks = torch.cat([render_smoke(hills(16), keys(16, seed)).mask for seed in range(4)])
    assert (masks.flatten(1).sum(1) > 0).float().mean() > 0.95


def test_unites_with_smoke_that_was_there() -> None:
    there = torch.zeros(2, 1, HEIGHT, WIDTH)
    there[..., 100:110, 20:40] = 1
    plain, united = render_smoke(hills(), keys(2, 2)), render_smoke(hills(), keys(2, 2), there)
    assert torch.equal(united.mask, torch.maximum(plain.mask, there))
    assert torch.equal(united.picture, plain.picture)


def test_the_mask_ends_where_the_opacity_says() -> None:
    opacity = torch.zeros(1, 1, 60, 200)
    opacity[..., 10:50, :] = torch.linspace(0, 0.5, 200)
    mask = outline(opacity)[0, 0, 30]
    edge = int(mask.nonzero().min())
    assert opacity[0, 0, 30, edge].item() == pytest.approx(smoke.EDGE_OPACITY, abs=0.02)
    assert mask[edge:].all()


def test_plumes_rise_from_their_source_and_lean_with_the_wind() -> None:
    habit = draw_habits(dice(32, 4))
    plumes = grow(dice(32, 4), habit)
    weight = plumes.depth[:, 0] / plumes.depth[:, 0].sum((1, 2), keepdim=True)
    cells = (torch.arange(FACE) + 0.5) / FACE
    x, y = (weight.sum(1) * cells).sum(1), (weight.sum(2) * cells).sum(1)
    assert (y < plumes.source[:, 1]).all()  # rows count downwards
    strong = habit.wind.abs() > 0.8
    assert strong.any()
    assert ((x - plumes.source[:, 0]).sign() == habit.wind.sign())[strong].all()
    assert 0 <= plumes.sunlight.min() <= plumes.sunlight.max() <= 1
    at_x, at_y = (plumes.source * FACE).long().unbind(1)
    begins = [
        depth[0, y - 6 : y + 4, x - 4 : x + 5].amax()
        for depth, x, y in zip(plumes.depth, at_x, at_y, strict=True)
    ]
    assert torch.stack(begins).median() > 0.3 * plumes.depth.amax((1, 2, 3)).median()


class SunAt(Dice):
    """Dice that put the sun where they are told."""

    azimuth = 0.0

    def uniform(self, low: float = 0.0, high: float = 1.0) -> Tensor:
        drawn = super().uniform(low, high)
        return torch.full_like(drawn, self.azimuth) if low == -torch.pi else drawn


@pytest.mark.parametrize("azimuth", [-torch.pi / 2, torch.pi / 2])
def test_the_side_away_from_the_sun_is_darker(azimuth: float) -> None:
    sun = SunAt(keys(16, 7))
    sun.azimuth = azimuth
    upright = draw_habits(sun)._replace(thickness=torch.full((16,), 8.0), wind=torch.zeros(16))
    plumes = grow(sun, upright)
    column = (torch.arange(FACE) + 0.5) / FACE
    right = (column > plumes.source[:, :1]).view(16, 1, 1, FACE)
    weight = plumes.depth.clamp(max=2)
    lit = [(plumes.sunlight * weight * side).sum() / (weight * side).sum() for side in (right, ~right)]
    assert abs(lit[0] - lit[1]) > 0.03
    assert (lit[0] > lit[1]) == (azimuth > 0)


def thick_column(azimuth: float) -> Plumes:
    sun = SunAt(keys(16, 7))
    sun.azimuth = azimuth
    return grow(sun, draw_habits(sun)._replace(thickness=torch.full((16,), 8.0)))


def test_smoke_is_darker_below() -> None:
    """The sun stands above: down each column of thick smoke there is less and less of its light."""
    plumes = thick_column(0.0)
    weight = plumes.depth.clamp(max=2)
    row = torch.arange(FACE).view(-1, 1) - (weight * torch.arange(FACE).view(-1, 1)).sum(
        2, keepdim=True
    ) / weight.sum(2, keepdim=True).clamp(min=1e-6)
    assert ((weight * row * plumes.sunlight).sum((1, 2, 3)) < 0).float().mean() > 0.9


def test_smoke_before_the_sun_is_darker() -> None:
    """What is seen of thick smoke is its near side, which a sun behind the camera shines upon."""
    behind_us, behind_it = (
        (plumes.sunlight * plumes.depth.clamp(max=2)).sum() / plumes.depth.clamp(max=2).sum()
        for plumes in (thick_column(0.0), thick_column(torch.pi))
    )
    assert behind_us > behind_it + 0.05


def upright(**changes: float) -> tuple[Habit, Plumes]:
    """Smooth columns that neither lean nor fade, but for the changes."""
    plain = {"wind": 0.0, "fade": 0.0, "dissolved": 0.0, "roughness": 0.0} | changes
    habit = draw_habits(dice(16, 7))._replace(**{k: torch.full((16,), v) for k, v in plain.items()})
    return habit, grow(dice(16, 7), habit)


def test_the_denser_part_is_as_thick_as_the_habit_says() -> None:
    habit, plumes = upright(roughness=1.2)
    densest = plumes.depth.flatten(1).topk(FACE * FACE // 50, 1).values
    torch.testing.assert_close(densest[:, -1], habit.thickness)


def test_smoke_thins_out_on_its_way() -> None:
    """As it spreads, it settles and dissolves: the share of it in the upper half falls with each."""

    def upper(**changes: float) -> Tensor:
        rows = upright(**changes)[1].depth.sum((1, 3))
        return rows[:, : FACE // 2].sum(1) / rows.sum(1)

    assert (upper(fade=2.0) < upper()).all()
    assert (upper(dissolved=1.0) < upper()).all()
    _, plumes = upright()
    height = plumes.depth[:, 0].amax(2)  # of each row
    near = height.gather(1, (plumes.source[:, 1:] * FACE).long() - 2)[:, 0]
    middle = height[:, FACE // 2]
    assert (near > 1.3 * middle).all()


def test_the_later_the_wind_takes_hold_the_less_it_carries_off() -> None:
    drift = []
    for shear in (0.5, 1.3):
        _, plumes = upright(wind=1.2, shear=shear)
        columns = plumes.depth.sum((1, 2)) / plumes.depth.sum((1, 2, 3))[:, None]
        drift.append((columns * (torch.arange(FACE) + 0.5) / FACE).sum(1) - plumes.source[:, 0])
    assert (drift[1] < drift[0]).all()


def test_thin_smoke_is_lit_through() -> None:
    thick, thin = (
        grow(dice(32, 7), draw_habits(dice(32, 7))._replace(thickness=torch.full((32,), depth)))
        for depth in (6.0, 0.05)
    )
    assert thin.sunlight[thin.depth > 0.02].mean() > thick.sunlight[thick.depth > 2].mean() + 0.1


def test_a_ridge_hides_what_is_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoke, "draw_shares", lambda dice: torch.full((len(dice),), 0.1))
    for share, hidden in ((1.0, True), (0.0, False)):
        monkeypatch.setattr(smoke, "BEHIND", share)
        t = render_smoke(hills(16, horizon=0.5), keys(16, 2)).transmission[:, 0]
        assert (t[:, : HEIGHT // 2 - 4] < 0.9).any()
        assert (t[:, HEIGHT // 2 + 4 :] == 1).all() == hidden


def test_the_camera_adds_noise_and_compression() -> None:
    flat = torch.full((4, 3, 64, 64), 0.5)
    assert not torch.equal(smoke.photograph(dice(4), flat), flat)
    assert not torch.equal(smoke.photograph(dice(4), flat), smoke.photograph(dice(4, 1), flat))


def test_shaded_smoke_is_darker() -> None:
    backdrop = survey(hills(8))
    bright, dark = (
        smoke._airlight(dice(8, 3), backdrop, torch.full((8, 1, 4, 4), sunlight)) for sunlight in (1.0, 0.0)
    )
    assert (bright > dark).all()


def test_smoke_has_the_colour_of_the_light_and_of_the_air() -> None:
    backdrop, sunlight = survey(hills(64)), torch.ones(64, 1, 1, 1)
    red = torch.tensor([1.0, 0.0, 0.0]).view(1, 3, 1, 1).expand(64, -1, -1, -1)

    def redness(seen: Backdrop) -> Tensor:
        colour = smoke._airlight(dice(64, 3), seen, sunlight)
        return (colour[:, 0] / colour.sum(1).clamp(min=1e-6)).flatten()

    plain = redness(backdrop)
    assert (redness(backdrop._replace(light=0.2 * backdrop.light + 0.8 * red)) > plain).all()
    assert (redness(backdrop._replace(horizon=red)) > plain).float().mean() > 0.95


def test_finds_the_skyline_and_knows_when_there_is_none() -> None:
    snow = torch.full((1, 3, HEIGHT, WIDTH), 0.2)
    snow[..., HEIGHT // 2 :, :] = 0.8  # brighter than the sky
    pictures = torch.cat((hills(1, 0.3), hills(1, 0.7), torch.full((1, 3, HEIGHT, WIDTH), 0.5), snow))
    backdrop = survey(pictures)
    assert backdrop.visible.tolist() == [True, True, False, False]
    assert (backdrop.skyline[2:] == 0.5).all()  # a guess, and the air has the picture's mean colour
    torch.testing.assert_close(backdrop.horizon[2:], torch.full((2, 3, 1, 1), 0.5), atol=0.01, rtol=0)
    torch.testing.assert_close(
        backdrop.skyline[0], torch.full_like(backdrop.skyline[0], 0.3), atol=0.04, rtol=0
    )
    torch.testing.assert_close(
        backdrop.skyline[1], torch.full_like(backdrop.skyline[1], 0.7), atol=0.04, rtol=0
    )
    torch.testing.assert_close(
        backdrop.horizon[0].flatten(), torch.tensor([0.5, 0.65, 0.9]), atol=0.02, rtol=0
    )


def test_what_is_put_into_a_black_and_white_picture_is_grey(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoke, "draw_shares", lambda dice: torch.full((len(dice),), 0.1))
    grey = hills(8).mean(1, keepdim=True).expand(-1, 3, -1, -1).contiguous()
    made = [kind(dice(8), grey, survey(grey)) for kind, _ in KINDS]
    for picture in (render_smoke(grey, keys(8)).picture, *made):
        assert (picture.amax(1) - picture.amin(1)).max() < 0.02


@pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=lambda kind: kind.__name__)
def test_each_lookalike_changes_the_picture_and_stays_in_range(kind: object) -> None:
    assert callable(kind)
    pictures = hills(8)
    result = kind(dice(8), pictures, survey(pictures))
    assert result.shape == pictures.shape
    assert result.isfinite().all()
    assert (result - pictures).abs().flatten(1).amax(1).median() > 0.03


def test_lookalikes_are_reproducible() -> None:
    assert torch.equal(render_lookalikes(hills(12), keys(12, 3)), render_lookalikes(hills(12), keys(12, 3)))
    assert not torch.equal(
        render_lookalikes(hills(12), keys(12, 3)), render_lookalikes(hills(12), keys(12, 4))
    )


def test_turbulence_has_detail_at_every_scale() -> None:
    field = turbulence(dice(4), (128, 128), (4, 4), octaves=5)
    coarse = turbulence(dice(4), (128, 128), (4, 4), octaves=1)
    assert field.mean().abs() < 0.05
    assert 0.1 < field.std() < 0.5
    roughness = [(f[..., 1:] - f[..., :-1]).std() / f.std() for f in (field, coarse)]
    assert roughness[0] > 1.5 * roughness[1]
