"""Learning from strokes: only what was drawn counts."""

import torch
from torch.nn import functional

from smokescope.losses import PartialCrossEntropy, partial_cross_entropy, structure_loss, supervision_loss
from smokescope.losses.kl import kl_loss


def strokes() -> torch.Tensor:
    drawn = torch.zeros(2, 2, 6, 8)
    drawn[0, 0, 1, 2:5] = 1  # smoke
    drawn[0, 1, 4, :] = 1  # background
    drawn[1, 1, 0, :4] = 1
    return drawn


def test_against_cross_entropy_of_the_drawn_pixels() -> None:
    logits, drawn = torch.randn(2, 1, 6, 8), strokes()
    entropy = functional.binary_cross_entropy_with_logits
    smoke, back = logits[0, 0, 1, 2:5], logits[0, 0, 4]
    first = (entropy(smoke, torch.ones(3)) + entropy(back, torch.zeros(8))) / 2
    second = entropy(logits[1, 0, 0, :4], torch.zeros(4)) / 2  # nobody drew smoke there
    torch.testing.assert_close(partial_cross_entropy(logits, drawn), (first + second) / 2)
    torch.testing.assert_close(PartialCrossEntropy()(logits, drawn), (first + second) / 2)


def test_faint_strokes_weigh_as_much() -> None:
    """Shrunk with its picture, a short stroke may come to less than a pixel."""
    logits, drawn = torch.randn(2, 1, 6, 8), strokes()
    torch.testing.assert_close(
        partial_cross_entropy(logits, 0.01 * drawn), partial_cross_entropy(logits, drawn)
    )


def test_no_gradient_where_nobody_drew() -> None:
    logits, drawn = torch.randn(2, 1, 6, 8, requires_grad=True), strokes()
    partial_cross_entropy(logits, drawn).backward()
    assert logits.grad is not None
    assert ((logits.grad[:, 0] != 0) == (drawn.sum(1) > 0)).all()


def test_a_picture_without_strokes_teaches_nothing() -> None:
    assert partial_cross_entropy(torch.randn(1, 1, 4, 4), torch.zeros(1, 2, 4, 4)) == 0


def test_the_kind_of_annotation_decides_the_loss() -> None:
    logits, mask = torch.randn(2, 1, 40, 40), (torch.rand(2, 1, 40, 40) > 0.8).float()
    torch.testing.assert_close(supervision_loss(logits, mask), structure_loss(logits, mask))
    both = torch.cat((mask, 1 - mask), 1)
    torch.testing.assert_close(supervision_loss(logits, both), partial_cross_entropy(logits, both))


def test_gradcheck() -> None:
    logits = torch.randn(2, 1, 6, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: partial_cross_entropy(x, strokes().double()), logits)


def test_free_nats_cost_nothing() -> None:
    mean = torch.tensor([[0.1, 2.0]], requires_grad=True)
    log_variance = torch.zeros(1, 2)
    loss = kl_loss(mean, log_variance, free=0.5)
    torch.testing.assert_close(loss, torch.tensor(0.5 + 2.0))
    loss.backward()
    assert mean.grad is not None
    assert mean.grad.tolist() == [[0.0, 2.0]]
