"""The Bayesian decoder P(y given x, z): features and a latent variable to logits, by dropout a distribution.

What depends neither on z nor on dropout is computed once for a picture (`prepare`), however many samples are
drawn from it (`forward`). That reaches far: the convolutions that z and the features enter side by side are
linear, so that conv([f, z]) = conv_f(f) + conv_z(z), and only the second, narrow term is repeated.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from smokescope.chance import DROPOUT, fold_in
from smokescope.models.attention import RCAB
from smokescope.models.dense_aspp import DenseASPP
from smokescope.models.dropout import DropoutUnit, draw_mask, drop
from smokescope.models.enlarge import enlarge
from smokescope.models.narrow import NarrowConv2d
from smokescope.precision import at_least_float32

Injection = Literal["full", "light"]
Fusion = Literal["fine", "coarse"]
Reduction = Literal[1, 3]


class LatentReduction(nn.Module):
    """Brings z into f4 and reduces the result, in two terms that add up.

    "full" is the paper's: z is tiled to f4's size, concatenated, taken by a 3x3 convolution to f4' with f4's
    channels (38 M weights for ResNet-50), then by another to `outputs`. "light" leaves f4' out: one 3x3
    convolution takes f4 and z to `outputs` (0.6 M).

    Args:
        channels: channels of f4.
        latent: dimensions of z.
        outputs: channels of the result.
        injection: "full" or "light".
        kernel: side of the convolutions' kernels, 3 or 1.
    """

    def __init__(
        self, channels: int, latent: int, outputs: int, injection: Injection, kernel: Reduction = 3
    ) -> None:
        super().__init__()
        self.channels = channels
        inner = channels if injection == "full" else outputs
        self.inject = _reducing(channels + latent, inner, kernel)
        self.reduce = _reducing(inner, outputs, kernel) if injection == "full" else None

    def features(self, f4: Tensor) -> Tensor:
        """The term of f4 [N, channels, h, w], with every bias: [N, outputs, h, w]."""
        weight = self.inject.weight[:, : self.channels]
        x = functional.conv2d(f4, weight, self.inject.bias, padding=self.inject.padding)
        return x if self.reduce is None else self.reduce(x)

    def latent(self, z: Tensor, size: Sequence[int]) -> Tensor:
        """The term of z [N, latent], without any bias: [N, outputs, h, w]."""
        tiled = z[:, :, None, None].expand(-1, -1, *size)
        padding = self.inject.padding
        x = functional.conv2d(tiled, self.inject.weight[:, self.channels :], padding=padding)
        return x if self.reduce is None else functional.conv2d(x, self.reduce.weight, padding=padding)


class BayesianDecoder(nn.Module):
    """Reduced features, dropout, channel attention, and DenseASPP to one logit map at the finest stride.

    The paper gives the modules and their order; that features are fused at f1's size, after bilinear
    upsampling, and that the convolutions before dropout have neither norm nor activation is decided here.

    That is the fusion called "fine". "coarse" brings f2..f4 together at f2's size, where DenseASPP costs a
    quarter and reaches twice as far, and only its digest up to f1, whose detail joins it for the last two
    convolutions.

    Args:
        channels: channels of f1..f4.
        latent: dimensions of z.
        width: channels each feature is reduced to.
        dropout: share of the reduced features that dropout drops.
        dropout_unit: "element" (the paper's) or "channel".
        injection: how z enters, see LatentReduction.
        bottleneck: bottleneck channels of DenseASPP.
        growth: growth channels of DenseASPP.
        fusion: "fine" (the paper's) or "coarse".
        reduction: side of the kernels that reduce features, 3 (the paper's) or 1.
    """

    def __init__(
        self,
        channels: Sequence[int],
        latent: int = 8,
        width: int = 32,
        dropout: float = 0.3,
        dropout_unit: DropoutUnit = "element",
        injection: Injection = "full",
        bottleneck: int = 64,
        growth: int = 32,
        fusion: Fusion = "fine",
        reduction: Reduction = 3,
    ) -> None:
        super().__init__()
        self.dropout, self.dropout_unit = dropout, dropout_unit
        self.reduce = nn.ModuleList(_reducing(c, width, reduction) for c in channels[:-1])
        self.reduce_latent = LatentReduction(channels[-1], latent, width, injection, reduction)
        self.attention = nn.ModuleList(RCAB(width) for _ in channels)
        fused = len(channels) if fusion == "fine" else len(channels) - 1
        self.context = DenseASPP(width * fused, bottleneck, growth)
        self.detail = None if fusion == "fine" else _Detail(self.context.outputs, width)
        self.head = NarrowConv2d(width if self.detail else self.context.outputs, 1, 3, padding=1)

    def prepare(self, features: Sequence[Tensor]) -> list[Tensor]:
        """Reduce f1..f4 [N, C_k, h_k, w_k] to what all samples share, [N, width, h_k, w_k] each."""
        reduced = [conv(f) for conv, f in zip(self.reduce, features[:-1], strict=True)]
        return [*reduced, self.reduce_latent.features(features[-1])]

    def forward(self, shared: Sequence[Tensor], z: Tensor, keys: Tensor | None) -> Tensor:
        """Decode one sample of each picture.

        Args:
            shared: result of `prepare`, for N pictures.
            z: latent variables [N * B, latent]; sample b of picture n at b * N + n.
            keys: random keys of dropout, int64 [N * B], in the order of z; without them nothing is dropped.
                The caller decides, rather than the module's mode, so that threads that sample from one model
                in eval mode do not disturb each other.

        Returns:
            Logits [N * B, 1, h_1, w_1].
        """
        return self.decode(shared, z, None if keys is None else self.draw_masks(shared, keys))

    def draw_masks(self, shared: Sequence[Tensor], keys: Tensor) -> list[Tensor]:
        """What dropout keeps of s_1..s_4 for each of the keys; see `draw_mask`."""
        own = fold_in(keys, DROPOUT)
        return [
            draw_mask(fold_in(own, i), s.shape[1:], self.dropout, self.dropout_unit)
            for i, s in enumerate(shared)
        ]

    def decode(self, shared: Sequence[Tensor], z: Tensor, kept: Sequence[Tensor] | None) -> Tensor:
        """As `forward`, with masks of `draw_masks` that may have been drawn elsewhere."""
        repeats = z.shape[0] // shared[0].shape[0]
        maps = [s if repeats == 1 else s.repeat(repeats, 1, 1, 1) for s in shared]
        maps[-1] = maps[-1] + self.reduce_latent.latent(z, maps[-1].shape[-2:])
        if kept is not None:
            maps = [drop(m, mask, self.dropout) for m, mask in zip(maps, kept, strict=True)]  # s_1..s_4
        maps = [attend(m) for attend, m in zip(self.attention, maps, strict=True)]
        fine, joined = (None, maps) if self.detail is None else (maps[0], maps[1:])
        size = joined[0].shape[-2:]
        context = self.context(torch.cat([joined[0], *(enlarge(m, size) for m in joined[1:])], 1))
        logits: Tensor = self.head(context if self.detail is None else self.detail(fine, context))
        return at_least_float32(logits)  # they are enlarged next, which sums many gradients into one


class _Detail(nn.Module):
    """Brings what DenseASPP found, narrowed, up to f1's size and together with f1."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.narrow = nn.Conv2d(inputs, width, 1)
        self.join = nn.Sequential(
            nn.Conv2d(2 * width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
        )

    def forward(self, fine: Tensor, context: Tensor) -> Tensor:
        """Join f1 [N, width, h_1, w_1] and context [N, inputs, h_2, w_2] to [N, width, h_1, w_1]."""
        joined: Tensor = self.join(torch.cat((fine, enlarge(self.narrow(context), fine.shape[-2:])), 1))
        return joined


def _reducing(inputs: int, outputs: int, kernel: Reduction) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2)
