"""The uncertainty network: total and aleatoric uncertainty in one pass, without sampling (Eq. 6).

>>> total, aleatoric = UncertaintyNet()(torch.rand(2, 3, 480, 480), torch.rand(2, 1, 480, 480))
>>> total.shape
torch.Size([2, 1, 480, 480])
"""

from typing import Literal

import torch
from torch import Tensor, nn

from smokescope.models.enlarge import enlarge
from smokescope.models.narrow import NarrowConv2d
from smokescope.precision import at_least_float32
from smokescope.uncertainty import LN2

Base = Literal["nothing", "entropy"]


class UncertaintyNet(nn.Module):
    """A shared encoder of five convolutions and two decoders of three, one for each uncertainty.

    The paper gives the layers, batch norm and leaky ReLU on all but the last of each decoder, and the input:
    picture and prediction. Channels, strides and skips are decided here (0.8 GMAC at 480 x 480), and so is
    the form of the output: total = ln 2 * sigmoid(a), aleatoric = total * sigmoid(b), which keeps
    0 <= aleatoric <= total <= ln 2 whatever the weights.

    With the base "entropy", a is a correction to the entropy H(p) of the deterministic prediction, which
    follows that of the mean of samples closely: total = ln 2 * sigmoid(a + logit(H(p) / ln 2)). On a trained
    model the untrained net then already has r = 0.99 with the total of 24 samples; from nothing, it reached
    0.5 in the time that the other took to refine it.

    Args:
        width: channels of the first convolution.
        base: what is corrected: "nothing", or the "entropy" of the prediction.
    """

    def __init__(self, width: int = 16, base: Base = "nothing") -> None:
        super().__init__()
        self.base, w = base, width
        self.encoder = nn.ModuleList(
            (
                _layer(4, w, 2),  # stride 2
                _layer(w, 2 * w, 2),  # stride 4
                _layer(2 * w, 4 * w, 2),  # stride 8
                _layer(4 * w, 6 * w, 2),  # stride 16
                _layer(6 * w, 6 * w, 1),
            )
        )
        self.total = _Decoder(w)
        self.aleatoric = _Decoder(w)
        if base == "entropy":  # no correction yet, and nearly all of it aleatoric
            nn.init.zeros_(self.total.head.weight)
            self.total.head.bias = nn.Parameter(torch.zeros(1))
            self.aleatoric.head.bias = nn.Parameter(torch.full((1,), 4.0))

    def forward(self, x: Tensor, probability: Tensor) -> tuple[Tensor, Tensor]:
        """Estimate total and aleatoric uncertainty, [N, 1, H, W] each, in nats.

        Args:
            x: normalised pictures [N, 3, H, W].
            probability: probability of smoke in the deterministic pass [N, 1, H, W]. No gradient flows back
                through it: this network observes the other and must not bend it.
        """
        y = torch.cat((x, probability.detach()), 1)
        features = []
        for layer in self.encoder:
            y = layer(y)
            features.append(y)
        _, fine, middle, _, coarse = features
        a, b = self.total(fine, middle, coarse), self.aleatoric(fine, middle, coarse)
        maps = enlarge(torch.cat((a, b), 1), x.shape[-2:])
        # halves would round a total near ln 2 above it
        maps = at_least_float32(maps)
        correction, share = maps[:, :1], torch.sigmoid(maps[:, 1:])
        if self.base == "entropy":
            correction = correction + _entropy_logit(at_least_float32(probability.detach()))
        total = LN2 * torch.sigmoid(correction)
        return total, total * share


def _entropy_logit(probability: Tensor) -> Tensor:
    """Logit of H(p) / ln 2, kept within 9: certainty beyond one in ten thousand is all the same."""
    p = probability.clamp(1e-6, 1 - 1e-6)
    entropy = -(p * torch.log(p) + (1 - p) * torch.log1p(-p)) / LN2
    return torch.logit(entropy.clamp(1e-4, 1 - 1e-4))


class _Decoder(nn.Module):
    """From stride 16 to one map at stride 4, with what the encoder saw there."""

    def __init__(self, w: int) -> None:
        super().__init__()
        self.coarse = _layer((6 + 4) * w, 3 * w // 2, 1)
        self.middle = _layer(3 * w // 2 + 2 * w, w, 1)
        self.head = NarrowConv2d(w, 1, 3, padding=1)

    def forward(self, fine: Tensor, middle: Tensor, coarse: Tensor) -> Tensor:
        y = self.coarse(torch.cat((enlarge(coarse, middle.shape[-2:]), middle), 1))
        y = self.middle(torch.cat((enlarge(y, fine.shape[-2:]), fine), 1))
        result: Tensor = self.head(y)
        return result


def _layer(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        NarrowConv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.LeakyReLU(0.2, inplace=True),
    )
