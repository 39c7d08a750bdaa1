"""The whole model: encoder, inference net, Bayesian decoder and uncertainty net, composed.

"Transmission-Guided Bayesian Generative Model for Smoke Segmentation", AAAI 2022, and its Figure 2.

    >>> model = SmokeBVM(PAPER).eval()
    >>> prediction = model(torch.rand(1, 3, 480, 480))     # one pass, no sampling
    >>> reference = model.sample(torch.rand(1, 3, 480, 480), 50)   # what that approximates
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from smokescope.chance import LATENT, fold_in, make_keys, normal
from smokescope.models.decoder import BayesianDecoder
from smokescope.models.enlarge import enlarge
from smokescope.models.inference_net import InferenceNet, Posterior
from smokescope.models.normalise import Normalise
from smokescope.models.resnet import Encoder, ResNet
from smokescope.models.settings import PAPER, ModelSettings
from smokescope.models.uncertainty_net import UncertaintyNet
from smokescope.precision import at_least_float32
from smokescope.uncertainty import Decomposition, decompose


class Encoding(NamedTuple):
    """What is computed once for a picture, before any sampling."""

    shared: list[Tensor]
    """Reduced features, of BayesianDecoder.prepare."""
    posterior: Posterior
    """P(z given x)."""
    size: tuple[int, int]
    """Height and width of the picture."""


class Output(NamedTuple):
    """Sampling-free prediction, [N, 1, H, W] each."""

    logits: Tensor
    total: Tensor
    aleatoric: Tensor

    @property
    def probability(self) -> Tensor:
        """Probability of smoke, in [0, 1]."""
        return torch.sigmoid(at_least_float32(self.logits))

    @property
    def epistemic(self) -> Tensor:
        """Total less aleatoric uncertainty; never negative, by the form of the uncertainty net."""
        return self.total - self.aleatoric


class SmokeBVM(nn.Module):
    """Bayesian latent variable model for smoke: y = f_theta(x, z) (Eq. 1), theta and z both distributions.

    Pictures of every size are taken as RGB in [0, 1]; they are normalised inside.

    Args:
        settings: PAPER, DEFAULT or your own.
        encoder: another network to replace the ResNet of the settings.
    """

    def __init__(self, settings: ModelSettings = PAPER, encoder: Encoder | None = None) -> None:
        super().__init__()
        s = self.settings = settings
        self.normalise = Normalise(s.mean, s.std)
        self.encoder = encoder or ResNet(s.encoder_stride, s.encoder_layers, s.encoder_width)
        self.inference = InferenceNet(s.latent, s.inference_width)
        self.decoder = BayesianDecoder(
            self.encoder.channels,
            latent=s.latent,
            width=s.decoder_width,
            dropout=s.dropout,
            dropout_unit=s.dropout_unit,
            injection=s.injection,
            bottleneck=s.aspp_bottleneck,
            growth=s.aspp_growth,
            fusion=s.fusion,
            reduction=s.reduction,
        )
        self.uncertainty = UncertaintyNet(s.uncertainty_width, s.uncertainty_base)

    def encode(self, pictures: Tensor) -> Encoding:
        """Run the deterministic part: encoder, reductions, inference net."""
        x = self.normalise(pictures)
        shared = self.decoder.prepare(self.encoder(x))
        return Encoding(shared, self.inference(x), (pictures.shape[-2], pictures.shape[-1]))

    def decode(self, encoding: Encoding, z: Tensor, keys: Tensor | None) -> Tensor:
        """Logits [B * N, 1, H, W] for latent variables z [B * N, latent]; without keys, no dropout."""
        return enlarge(self.decoder(encoding.shared, z, keys), encoding.size)

    def decode_kept(self, encoding: Encoding, z: Tensor, kept: Sequence[Tensor]) -> Tensor:
        """As `decode`, with dropout's masks in place of their keys; see `BayesianDecoder.draw_masks`."""
        return enlarge(self.decoder.decode(encoding.shared, z, kept), encoding.size)

    def forward(self, pictures: Tensor, temperature: float = 1.0) -> Output:
        """Predict without sampling: z at its mean, no dropout, uncertainties by the uncertainty net.

        Args:
            pictures: RGB in [0, 1], [N, 3, H, W].
            temperature: divisor of the logits, applied before the uncertainty net sees the prediction.
        """
        encoding = self.encode(pictures)
        logits = self.decode(encoding, encoding.posterior.mean, keys=None) / temperature
        total, aleatoric = self.estimate_uncertainty(pictures, logits)
        return Output(logits, total, aleatoric)

    def estimate_uncertainty(self, pictures: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Total and aleatoric uncertainty by the uncertainty net, of the deterministic pass's logits."""
        total, aleatoric = self.uncertainty(self.normalise(pictures), torch.sigmoid(at_least_float32(logits)))
        return total, aleatoric

    def draw(self, encoding: Encoding, keys: Tensor) -> Tensor:
        """One stochastic prediction for each key: z of its posterior, dropout on. Gradients flow.

        Args:
            encoding: encoding of N pictures.
            keys: random keys, int64 [B * N]; sample b of picture n at b * N + n.

        Returns:
            Logits [B * N, 1, H, W].
        """
        return self.decode(encoding, self.draw_latent(encoding, keys), keys)

    def draw_latent(self, encoding: Encoding, keys: Tensor) -> Tensor:
        """The z of `draw`, [B * N, latent]."""
        mean = encoding.posterior.mean
        noise = normal(fold_in(keys, LATENT), mean.shape[1]).to(mean.dtype).view(-1, *mean.shape)
        return encoding.posterior.sample(noise).flatten(0, 1)

    @torch.no_grad()
    def sample(
        self,
        pictures: Tensor,
        count: int,
        keys: Tensor | None = None,
        block: int = 8,
        temperature: float = 1.0,
    ) -> Decomposition:
        """Predict by Monte Carlo (Eq. 3 and 5): one pass of the encoder, `count` of the decoder.

        Runs in MC mode: batch norm on its running statistics, dropout on, a fresh z for each sample; whatever
        mode the model is in, and leaves it as it was. No gradient flows: samples are targets and references.

        Args:
            pictures: RGB in [0, 1], [N, 3, H, W].
            count: B, samples for each picture.
            keys: random keys of the pictures, int64 [N], on their device; by default those of the
                numbers 0 to N - 1, so that the same call gives the same answer.
            block: samples decoded at once; memory grows with it, not with `count`. It changes no sample.
            temperature: divisor of their logits.
        """
        if keys is None:
            keys = make_keys(0, torch.arange(len(pictures), device=pictures.device))
        with evaluating(self):
            blocks = self.sample_blocks(self.encode(pictures), keys, count, block)
            return decompose(logits / temperature for logits in blocks)

    def sample_blocks(self, encoding: Encoding, keys: Tensor, count: int, block: int = 8) -> Iterator[Tensor]:
        """Draw `count` samples of the logits, in blocks [at most `block`, N, 1, H, W]. Expects eval mode."""
        if count < 1 or block < 1:
            raise ValueError(f"count and block must be 1 or more, not {count} and {block}")
        for start in range(0, count, block):
            numbers = torch.arange(start, min(start + block, count), device=keys.device)
            logits = self.draw(encoding, fold_in(keys, numbers[:, None]).flatten())
            yield logits.reshape(len(numbers), -1, *logits.shape[1:])


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module into eval mode for a while; each part gets its own mode back."""
    modes = [(m, m.training) for m in module.modules() if m.training]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode
