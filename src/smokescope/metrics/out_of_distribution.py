"""Does a picture without smoke look unfamiliar to the model? Its mean epistemic uncertainty says so."""

from torch import Tensor

from smokescope.metrics.base import StreamingMetric, joined
from smokescope.metrics.checks import check_nats
from smokescope.metrics.curves import auroc


class OutOfDistribution(StreamingMetric):
    """`ood_auroc`: a picture's mean epistemic uncertainty, negatives against smoke pictures.

    A picture whose mask is empty is a negative. None unless both kinds came in.
    """

    means: list[Tensor]
    labels: list[Tensor]  # 1.0 for smoke

    def __init__(self) -> None:
        super().__init__()
        self.add_scores("means")
        self.add_scores("labels")

    def update(self, mask: Tensor, epistemic: Tensor) -> None:
        """Take in pictures with and without smoke: mask and epistemic uncertainty in nats, both [N, H, W]."""
        epistemic = check_nats("epistemic uncertainty", epistemic, mask.shape)
        self.means.append(epistemic.double().mean((-2, -1)))
        self.labels.append((mask > 0.5).flatten(1).any(1).double())

    def compute(self) -> float | None:
        """Return the figure."""
        means, smoke = joined(self.means), joined(self.labels) > 0.5
        return auroc(positive=means[~smoke], negative=means[smoke])
