"""Pictures as they come, to maps as they are given out: all that belongs to a model besides its network.

It is one module, so that what is trained, evaluated, exported and shipped is one and the same computation.

    >>> pipeline = Pipeline(SmokeBVM(DEFAULT), InputSettings(fit="aspect"), temperature=1.3).eval()
    >>> pipeline(torch.randint(256, (1, 3, 1080, 1920), dtype=torch.uint8)).probability.shape
    torch.Size([1, 1, 1080, 1920])
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from smokescope.chance import make_keys
from smokescope.models.build import SmokeModel
from smokescope.models.bvm import SmokeBVM, evaluating
from smokescope.models.settings import PlainSettings
from smokescope.models.verdicts import VerdictSettings
from smokescope.precision import at_least_float32
from smokescope.uncertainty import Decomposition, decompose

STRIDE = 32  # of the encoder's last feature: sides that are multiples of it divide evenly all the way down


@dataclass(frozen=True, kw_only=True)
class InputSettings(PlainSettings):
    """How a picture is brought to the network.

    Attributes:
        height: that the network sees.
        width: that the network sees.
        fit: "squash" gives every picture that height and width; "aspect" keeps a picture's own aspect and
            takes about as many pixels as those two make, see `network_size`.
    """

    height: int = 480
    width: int = 480
    fit: Literal["squash", "aspect"] = "squash"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("height", "width"):
            value = getattr(self, name)
            if type(value) is not int or value < STRIDE:
                raise ValueError(f"{name} must be a whole number from {STRIDE} on, not {value!r}")


def network_size(height: int, width: int, settings: InputSettings) -> tuple[int, int]:
    """Height and width that the network sees of a picture.

    To keep the aspect r = height / width and the number of pixels, sides would be in proportion to sqrt(r)
    and 1 / sqrt(r). The root is taken as (1 + 10 r + 5 r^2) / (5 + 10 r + r^2): off by under 1 % up to 4 : 1,
    where rounding to multiples of 32 is off by more, and never above 5, so that a panorama is squashed a
    little rather than left with a side of nothing. And it is of whole numbers, which exported graphs can
    compute from a picture's size; a square root is not.
    """
    if settings.fit == "squash":
        return settings.height, settings.width
    square = math.sqrt(settings.height * settings.width)
    return _side(height, width, square), _side(width, height, square)


def _side(along: int, across: int, square: float) -> int:
    """Multiple of 32 nearest to `square` times the root of along / across; at least 64.

    A side of 32 would be one pixel in the encoder's last feature: exported graphs are not made for that.
    """
    numerator = across * across + 10 * along * across + 5 * along * along
    denominator = 5 * across * across + 10 * along * across + along * along
    scaled = round(1024 * square / STRIDE)  # so that it is a whole number too
    blocks = (2 * scaled * numerator + 1024 * denominator) // (2048 * denominator)
    # `max` would fix the answer when exported
    side: int = STRIDE * torch.sym_max(2, blocks)  # type: ignore[no-untyped-call]
    return side


def resize(maps: Tensor, size: Sequence[int]) -> Tensor:
    """Bilinear, [N, C, H, W] to another height and width; a smaller one averages all that a pixel covers."""
    return functional.interpolate(maps, list(size), mode="bilinear", align_corners=False, antialias=True)


class Pipeline(nn.Module):
    """A network, how pictures are brought to it, and how its answer is read.

    Args:
        network: SmokeBVM or UNet.
        input: how a picture is resized.
        temperature: that logits are divided by, fitted on pictures that were not trained on.
        threshold: above which a probability is called smoke.
        verdicts: by which regions are called smoke, or handed to a person.
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
        if pictures.dtype == torch.uint8:
            pictures = pictures.float() / 255
        elif not pictures.is_floating_point():
            raise ValueError(f"pictures must be uint8 or floating point in [0, 1], not {pictures.dtype}")
        height, width = pictures.shape[-2:]
        return resize(pictures, network_size(height, width, self.input))

    @torch.no_grad()
    def sample(
        self, pictures: Tensor, count: int, keys: Tensor | None = None, block: int = 8
    ) -> Decomposition:
        """Predict by Monte Carlo, the reference that `forward` approximates; maps as there.

        Samples are decomposed at the network's size, as they were in training, and the maps then resized.

        Args:
            pictures: As for `forward`.
            count: Samples for each picture.
            keys: Of all that is drawn for each picture, int64 [N] on their device; by default those of the
                numbers 0 to N - 1.
            block: Samples decoded at once; it changes no sample.

        Raises:
            ValueError: The network has nothing to draw samples from.
        """
        network = self.network
        if not isinstance(network, SmokeBVM):
            raise ValueError(f"a {network.settings.architecture} has one answer, and nothing to sample")
        if keys is None:
            keys = make_keys(0, torch.arange(len(pictures), device=pictures.device))
        with evaluating(network):
            blocks = network.sample_blocks(network.encode(self.prepare(pictures)), keys, count, block)
            maps = decompose(logits / self.temperature for logits in blocks)
        probability, total, aleatoric = _resize_together(maps[:3], pictures)
        return _decomposition(probability.clamp(0, 1), total, aleatoric)


def _resize_together(maps: Sequence[Tensor], pictures: Tensor) -> tuple[Tensor, ...]:
    """Bring maps [N, 1, h, w] to the pictures' size."""
    joint = torch.cat([at_least_float32(each) for each in maps], 1)
    return resize(joint, pictures.shape[-2:]).chunk(len(maps), 1)


def _decomposition(probability: Tensor, total: Tensor, aleatoric: Tensor) -> Decomposition:
    # in resizing, the two are rounded each for itself
    return Decomposition(probability, total, aleatoric, (total - aleatoric).clamp(min=0))
