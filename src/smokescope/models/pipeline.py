"""Pictures as they come, to maps as they are given out: all that belongs to a model besides its network.

It is one module, so that what is trained, evaluated, exported and shipped is one and the same computation.

    >>> pipeline = Pipeline(SmokeBVM(DEFAULT), InputSettings(fit="aspect"), temperature=1.3).eval()
    >>> pipeline(torch.randint(256, (1, 3, 1080, 1920), dtype=torch.uint8)).probability.shape
    torch.Size([1, 1, 1080, 1920])
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from smokescope.models.build import SmokeModel
from smokescope.models.bvm import SmokeBVM
from smokescope.precision import at_least_float32
from smokescope.settings.input import InputSettings, network_size
from smokescope.settings.verdicts import VerdictSettings
from smokescope.uncertainty import Decomposition


def resize(maps: Tensor, size: Sequence[int]) -> Tensor:
    """Bilinear, [N, C, H, W] to another height and width; a smaller one averages all that a pixel covers."""
    return functional.interpolate(maps, list(size), mode="bilinear", align_corners=False, antialias=True)


class Pipeline(nn.Module):
    """A network, how pictures are resized for it, and how its output is read.

    Args:
        network: SmokeBVM or UNet.
        input: how a picture is resized.
        temperature: divisor of the logits, fitted on pictures that were not trained on.
        threshold: probability above which a pixel is called smoke.
        verdicts: thresholds by which regions are called smoke, or handed to a person.
    """

    def __init__(
        self,
        network: SmokeModel,
        input: InputSettings | None = None,
        temperature: float = 1.0,
        threshold: float = 0.5,
        verdicts: VerdictSettings | None = None,
    ) -> None:
        super().__init__()
        if not (temperature > 0 and math.isfinite(temperature)):
            raise ValueError(f"the temperature must be above 0, not {temperature}")
        if not 0 <= threshold <= 1:
            raise ValueError(f"the threshold must be in [0, 1], not {threshold}")
        self.network = network
        self.input = input or InputSettings()
        self.temperature, self.threshold = float(temperature), float(threshold)
        self.verdicts = verdicts or VerdictSettings()

    def forward(self, pictures: Tensor) -> Decomposition:
        """Predict without sampling, at the pictures' own size.

        Args:
            pictures: RGB [N, 3, H, W], uint8, or floating point in [0, 1].

        Returns:
            Maps [N, 1, H, W], all at the temperature; uncertainties in nats.
        """
        output = self.network(self.prepare(pictures), self.temperature)
        maps = (output.logits, output.total, output.aleatoric)
        logits, total, aleatoric = _resize_together(maps, pictures)
        return _decomposition(torch.sigmoid(logits), total, aleatoric)

    def prepare(self, pictures: Tensor) -> Tensor:
        """Pictures as the network sees them: floating point in [0, 1], of the network's size."""
        if pictures.dtype != torch.uint8 and not pictures.is_floating_point():
            raise ValueError(f"pictures must be uint8 or floating point in [0, 1], not {pictures.dtype}")
        scaled = pictures.float() / 255 if pictures.dtype == torch.uint8 else pictures.float()
        height, width = pictures.shape[-2:]
        return resize(scaled, network_size(height, width, self.input))

    @torch.no_grad()
    def sample(
        self, pictures: Tensor, count: int, keys: Tensor | None = None, block: int = 8
    ) -> Decomposition:
        """Predict by Monte Carlo, the reference that `forward` approximates; maps as there.

        Samples are decomposed at the network's size, as they were in training, and the maps then resized.

        Args:
            pictures: As for `forward`.
            count: Samples for each picture.
            keys: Random keys of the pictures, int64 [N] on their device; by default those of the
                numbers 0 to N - 1.
            block: Samples decoded at once; it changes no sample.

        Raises:
            ValueError: The network cannot draw samples.
        """
        if not isinstance(self.network, SmokeBVM):
            raise ValueError(f"a {self.network.settings.architecture} model cannot draw samples")
        maps = self.network.sample(self.prepare(pictures), count, keys, block, self.temperature)
        return enlarge_samples(maps, pictures)


def enlarge_samples(maps: Decomposition, pictures: Tensor) -> Decomposition:
    """Bring the maps of samples from the network's size to that of the pictures."""
    probability, total, aleatoric = _resize_together(maps[:3], pictures)
    return _decomposition(probability.clamp(0, 1), total, aleatoric)


def _resize_together(maps: Sequence[Tensor], pictures: Tensor) -> tuple[Tensor, ...]:
    """Bring maps [N, 1, h, w] to the pictures' size."""
    joint = torch.cat([at_least_float32(each) for each in maps], 1)
    return resize(joint, pictures.shape[-2:]).chunk(len(maps), 1)


def _decomposition(probability: Tensor, total: Tensor, aleatoric: Tensor) -> Decomposition:
    # in resizing, the two are rounded each for itself
    return Decomposition(probability, total, aleatoric, (total - aleatoric).clamp(min=0))
