"""What pictures are learned from: whole masks, or the few strokes that a hurried person drew."""

from torch import Tensor, nn
from torch.nn import functional

from smokescope.losses.structure import Edges, structure_loss
from smokescope.precision import at_least_float32


def partial_cross_entropy(logits: Tensor, strokes: Tensor) -> Tensor:
    """Cross-entropy where somebody drew, and nothing elsewhere; per picture, then the mean.

    A picture's strokes of smoke and of background weigh the same in sum, since how long a stroke got says
    little about how much there is of either. A picture without any stroke adds 0.

    Args:
        logits: prediction s [N, 1, H, W].
        strokes: strokes of smoke and of background, in [0, 1], [N, 2, H, W].
    """
    logits, strokes = at_least_float32(logits), at_least_float32(strokes)
    entropies = (functional.softplus(-logits), functional.softplus(logits))
    dims = (-2, -1)
    terms = [
        (stroke * entropy[:, 0]).sum(dims) / stroke.sum(dims).clamp(min=1e-6)
        for stroke, entropy in zip(strokes.unbind(1), entropies, strict=True)
    ]
    return ((terms[0] + terms[1]) / 2).mean()


def supervision_loss(logits: Tensor, mask: Tensor, edges: Edges = "surround") -> Tensor:
    """Structure loss for whole masks [N, 1, H, W], partial cross-entropy for strokes [N, 2, H, W]."""
    if mask.shape[1] == 1:
        return structure_loss(logits, mask, edges)
    return partial_cross_entropy(logits, mask)


class PartialCrossEntropy(nn.Module):
    """Module of `partial_cross_entropy`."""

    def forward(self, logits: Tensor, strokes: Tensor) -> Tensor:
        """Call `partial_cross_entropy`."""
        return partial_cross_entropy(logits, strokes)
