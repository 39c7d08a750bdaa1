"""What other light, other cameras and worse pictures cost: the same pictures, changed in one way at a time.

    python -m benchmarks.robustness --data DIR [--negatives DIR] [--folds F --fold 1] [--match REAL]
        [--model M] [--every N]

Masks stay what they are. A change that a camera of another make or place brings along should cost little;
what hides the smoke itself, as blur and haze do, must cost something.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.experiment import summary
from benchmarks.pictures import chosen, options
from benchmarks.timing import table
from smokescope import load
from smokescope.data.augment_colour import add_haze
from smokescope.data.pairs import read_pair
from smokescope.metrics import SmokeMetrics
from smokescope.physics.camera import gaussian_blur, jpeg, sensor_noise
from smokescope.physics.transmission import grey


def main() -> None:
    given = options(__doc__).parse_args()
    pairs = chosen(given)
    segmenter = load(given.model, tiles="never")
    found = {name: SmokeMetrics() for name in CHANGES}
    for pair in pairs:
        picture, mask = read_pair(pair)
        smoke = torch.from_numpy(mask)[None] > 0.5
        for name, metrics in found.items():
            seen = changed(name, torch.from_numpy(picture))[0].permute(1, 2, 0).numpy()
            metrics.update(segmenter.maps([seen]).probability[:, 0].cpu(), smoke)
    rows = [(name, *summary(metrics.compute())) for name, metrics in found.items()]
    table(f"{len(pairs)} pictures", ("", "F mean", "F max", "ece image", "found", "false alarms"), rows)


def changed(name: str, picture: Tensor) -> Tensor:
    """A picture, uint8 [H, W, 3], after one of `CHANGES`, uint8 [1, 3, H, W]."""
    x = picture.permute(2, 0, 1)[None] / 255
    return (CHANGES[name](x).clamp(0, 1) * 255).round().byte()


def _one(value: float) -> Tensor:
    return torch.tensor([value])


def _grey(x: Tensor) -> Tensor:
    return grey(x).expand_as(x)


def _balance(red: float, blue: float) -> Callable[[Tensor], Tensor]:
    return lambda x: x * torch.tensor([red, 1.0, blue])[:, None, None]


def _smaller(x: Tensor) -> Tensor:
    """Half the size, as of a worse camera, and enlarged again."""
    size = x.shape[-2:]
    small = torch.nn.functional.interpolate(x, scale_factor=0.5, mode="bilinear", antialias=True)
    return torch.nn.functional.interpolate(small, size, mode="bilinear")


CHANGES: dict[str, Callable[[Tensor], Tensor]] = {
    "as they are": lambda x: x,
    "no colour at all": _grey,
    "half the saturation": lambda x: (x + _grey(x)) / 2,
    "twice the saturation": lambda x: 2 * x - _grey(x),
    "warm light (red 1.2, blue 0.8)": _balance(1.2, 0.8),
    "cold light (red 0.8, blue 1.2)": _balance(0.8, 1.2),
    "dark (gamma 1.6)": lambda x: x**1.6,
    "bright (gamma 0.6)": lambda x: x**0.6,
    "two thirds of the contrast": lambda x: x.mean() + (x - x.mean()) * 2 / 3,
    "haze, 0.3 at the horizon": lambda x: add_haze(x, _one(0.3), _one(0.5), torch.full((1, 3), 0.85)),
    "blur of 1.5 pixels": lambda x: gaussian_blur(x, _one(1.5)),
    "noise (read 0.03)": lambda x: sensor_noise(x, _one(2e-3), _one(0.03), torch.zeros(1, dtype=torch.int64)),
    "JPEG of quality 20": lambda x: jpeg(x, _one(20)),
    "half the resolution": _smaller,
}


if __name__ == "__main__":
    main()
