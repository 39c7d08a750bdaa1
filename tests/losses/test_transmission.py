"""The transmission loss against its formula, pair by pair."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from smokescope.losses.transmission import TransmissionLoss, transmission_loss


def maps(*shape: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    p, t = torch.rand((2, *shape), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return p, t


def brute_force(p: Tensor, t: Tensor, window: int, sigma_p: float, sigma_t: float) -> float:
    """Eq. 7 and 8, one pair of pixels after the other."""
    radius, (height, width) = window // 2, p.shape[-2:]
    losses = []
    for n, y, x in itertools.product(range(p.shape[0]), range(height), range(width)):
        kernel, distance = [], []
        rows = range(max(0, y - radius), min(height, y + radius + 1))
        columns = range(max(0, x - radius), min(width, x + radius + 1))
        for v, u in itertools.product(rows, columns):
            near = ((y - v) ** 2 + (x - u) ** 2) / (2 * sigma_p**2)
            alike = (t[n, 0, y, x] - t[n, 0, v, u]).item() ** 2 / (2 * sigma_t**2)
            kernel.append(math.exp(-near - alike))
            distance.append(abs(p[n, 0, y, x] - p[n, 0, v, u]).item())
        coherence = sum(k * d for k, d in zip(kernel, distance, strict=True)) / sum(kernel)
        losses.append((1 - t[n, 0, y, x].item()) * coherence)
    return sum(losses) / len(losses)


@pytest.mark.parametrize(
    ("shape", "window", "sigma_p", "sigma_t"),
    [
        ((2, 1, 7, 9), 5, 3.0, 0.1),
        ((1, 1, 6, 5), 11, 2.0, 0.3),  # the window is larger than the picture
        ((2, 1, 1, 8), 3, 3.0, 0.1),
        ((1, 1, 5, 1), 5, 1.0, 1.0),
        ((1, 1, 1, 1), 5, 3.0, 0.1),
        ((1, 1, 4, 4), 1, 3.0, 0.1),
    ],
)
def test_is_eq_7_and_8(shape: tuple[int, ...], window: int, sigma_p: float, sigma_t: float) -> None:
    p, t = maps(*shape)
    loss = transmission_loss(p, t, window, sigma_p, sigma_t, shrink=1)
    assert loss.item() == pytest.approx(brute_force(p, t, window, sigma_p, sigma_t), abs=1e-12)


@given(height=st.integers(1, 8), width=st.integers(1, 8), radius=st.integers(0, 4), seed=st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_is_eq_7_and_8_at_any_size(height: int, width: int, radius: int, seed: int) -> None:
    p, t = maps(1, 1, height, width, seed=seed)
    loss = transmission_loss(p, t, 2 * radius + 1, 3.0, 0.2, shrink=1)
    assert loss.item() == pytest.approx(brute_force(p, t, 2 * radius + 1, 3.0, 0.2), abs=1e-12)


@pytest.mark.parametrize("shrink", [1, 2])
def test_passes_gradcheck(shrink: int) -> None:
    p, t = maps(2, 1, 6, 7, seed=1)
    p.requires_grad_()
    assert torch.autograd.gradcheck(lambda p: transmission_loss(p, t, 5, 3.0, 0.2, shrink), p)


def test_gradient_is_that_of_the_unfolded_formula() -> None:
    p, t = maps(2, 1, 12, 10, seed=2)
    ours, theirs = p.clone().requires_grad_(), p.clone().requires_grad_()
    (3 * transmission_loss(ours, t, 5, 3.0, 0.1, shrink=1)).backward()
    (3 * unfolded(theirs, t, 5, 3.0, 0.1)).backward()
    torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-12, rtol=0)


def unfolded(p: Tensor, t: Tensor, window: int, sigma_p: float, sigma_t: float) -> Tensor:
    """The formula with all windows laid out side by side, for autograd to differentiate."""
    radius = window // 2
    outside = torch.ones_like(t)
    p_n, t_n, inside = (
        functional.unfold(m, window, padding=radius).unflatten(-1, m.shape[-2:]) for m in (p, t, outside)
    )
    offsets = torch.arange(-radius, radius + 1, dtype=p.dtype)
    distance = (offsets[:, None] ** 2 + offsets**2).flatten().view(1, -1, 1, 1)
    kernel = inside * torch.exp(-distance / (2 * sigma_p**2) - (t - t_n) ** 2 / (2 * sigma_t**2))
    return ((1 - t) * (kernel * (p - p_n).abs()).sum(1, keepdim=True) / kernel.sum(1, keepdim=True)).mean()


def test_averages_to_a_quarter_first_as_the_paper_setting_says() -> None:
    p, t = maps(2, 1, 24, 32, seed=3)
    quarter = [m.unflatten(-1, (-1, 4)).unflatten(-3, (-1, 4)).mean((-1, -3)) for m in (p, t)]
    expected = brute_force(quarter[0], quarter[1], 5, 3.0, 0.1)
    assert TransmissionLoss()(p, t).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", [(1, 1, 10, 13), (2, 1, 9, 8), (1, 1, 3, 2)])
def test_the_last_block_is_averaged_over_the_pixels_it_has(shape: tuple[int, ...]) -> None:
    corners = itertools.product(range(0, shape[2], 4), range(0, shape[3], 4))
    p, t = maps(*shape, seed=4)
    blocks = [(slice(y, y + 4), slice(x, x + 4)) for y, x in corners]
    small = [
        torch.stack([m[:, :, rows, columns].mean((-2, -1)) for rows, columns in blocks], -1).unflatten(
            -1, (-1, math.ceil(shape[3] / 4))
        )
        for m in (p, t)
    ]
    expected = brute_force(small[0], small[1], 5, 3.0, 0.1)
    assert transmission_loss(p, t).item() == pytest.approx(expected, abs=1e-12)


def test_the_module_hands_its_arguments_on() -> None:
    p, t = maps(1, 1, 12, 10, seed=5)
    halves = [m.unflatten(-1, (-1, 2)).unflatten(-3, (-1, 2)).mean((-1, -3)) for m in (p, t)]
    loss = TransmissionLoss(window=3, sigma_p=0.7, sigma_t=0.4, shrink=2)(p, t)
    assert loss.item() == pytest.approx(brute_force(halves[0], halves[1], 3, 0.7, 0.4), abs=1e-12)


def test_means_what_it_says() -> None:
    """Coherent predictions cost nothing; a step costs more in haze, and less where transmission steps."""
    step = torch.zeros(1, 1, 8, 8, dtype=torch.float64)
    step[..., 4:] = 1

    def cost(p: Tensor, t: Tensor) -> float:
        return transmission_loss(p, t, shrink=1).item()

    assert cost(torch.full_like(step, 0.7), torch.rand_like(step)) == 0
    assert cost(step, torch.full_like(step, 0.2)) > cost(step, torch.full_like(step, 0.8)) > 0
    assert cost(step, torch.full_like(step, 1.0)) == 0
    edge_agrees = 0.2 + 0.5 * step
    assert cost(step, edge_agrees) < 0.05 * cost(step, torch.full_like(step, 0.2))


def test_transmission_gets_no_gradient() -> None:
    p, t = (m.requires_grad_() for m in maps(1, 1, 8, 8))
    transmission_loss(p, t).backward()
    assert p.grad is not None
    assert t.grad is None


def test_keeps_one_map_for_the_backward_pass() -> None:
    p, t = (m.float() for m in maps(2, 1, 64, 64))
    kept: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        transmission_loss(p.requires_grad_(), t, window=11, shrink=1)
    assert sum(x.nbytes for x in kept) <= 2 * p.nbytes  # the gradient, and the zeros it multiplies


@pytest.mark.parametrize("window", [0, 4, -1])
def test_refuses_a_window_without_centre(window: int) -> None:
    with pytest.raises(ValueError, match="odd"):
        transmission_loss(*maps(1, 1, 4, 4), window=window)
