"""What a camera does to a scene: blurs it, adds noise, compresses it.

Batched, each picture with a strength of its own, on any device. No gradient flows through any of it, and the
CPU, where strengths are at home, never waits for a GPU.

    >>> jpeg(torch.rand(2, 3, 480, 640), torch.tensor([30, 90])).shape
    torch.Size([2, 3, 480, 640])
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

from smokescope.chance import normal
from smokescope.precision import at_least_float32

# ITU-T T.81, tables K.1 and K.2: what nearly every encoder scales by its quality setting.
_LUMA = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
_CHROMA = (
    (17, 18, 24, 47, 99, 99, 99, 99),
    (18, 21, 26, 66, 99, 99, 99, 99),
    (24, 26, 56, 99, 99, 99, 99, 99),
    (47, 66, 99, 99, 99, 99, 99, 99),
    *((99,) * 8 for _ in range(4)),
)
# JFIF: red, green, blue to luma and two colour differences.
_TO_YCC = ((0.299, 0.587, 0.114), (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312))
_TO_RGB = ((1.0, 0.0, 1.402), (1.0, -0.344136, -0.714136), (1.0, 1.772, 0.0))


@torch.no_grad()
def gaussian_blur(pictures: Tensor, sigma: Tensor) -> Tensor:
    """Blur each picture by its own Gaussian, cut at three sigma; border pixels are repeated outside.

    Args:
        pictures: [N, C, H, W].
        sigma: pixels, [N]; 0 leaves a picture as it is. The largest sets the window: best on the CPU.

    Returns:
        Blurred pictures [N, C, H, W].
    """
    x = at_least_float32(pictures)
    batch, channels, height, width = x.shape
    radius = math.ceil(3 * float(sigma.max()))
    offsets = torch.arange(-radius, radius + 1, dtype=x.dtype)
    spread = sigma.to("cpu", x.dtype).clamp(min=1e-3)[:, None]  # at 1e-3 all neighbours weigh exactly 0
    kernels = torch.exp(-0.5 * (offsets / spread) ** 2) * (offsets.abs() <= (3 * spread).ceil())
    kernels = (kernels / kernels.sum(1, keepdim=True)).repeat_interleave(channels, 0)
    kernels = kernels.to(x.device, non_blocking=True)
    planes = x.reshape(1, batch * channels, height, width)
    planes = functional.pad(planes, (radius, radius, radius, radius), mode="replicate")
    planes = functional.conv2d(planes, kernels[:, None, None, :], groups=batch * channels)
    planes = functional.conv2d(planes, kernels[:, None, :, None], groups=batch * channels)
    return planes.reshape(batch, channels, height, width)


@torch.no_grad()
def sensor_noise(pictures: Tensor, gain: Tensor, read: Tensor, keys: Tensor) -> Tensor:
    """Add the noise of a sensor: shot noise that grows with the light, and read noise that does not.

    The variance of a value x is gain * x + read ** 2.

    Args:
        pictures: in [0, 1], [N, C, H, W].
        gain: [N]; the variance that full light adds.
        read: standard deviation in the dark, [N].
        keys: int64 [N]; the noise is drawn where the pictures are.

    Returns:
        Noisy pictures, clipped to [0, 1], [N, C, H, W].
    """
    x = at_least_float32(pictures)
    noise = normal(keys.to(x.device, non_blocking=True), *x.shape[1:]).to(x.dtype)
    gain, read = (strength.to(x, non_blocking=True)[:, None, None, None] for strength in (gain, read))
    deviation = (x.clamp(min=0) * gain).add_(read**2).sqrt_()
    return torch.addcmul(x, noise, deviation).clamp_(0, 1)


@torch.no_grad()
def jpeg(pictures: Tensor, quality: Tensor) -> Tensor:
    """Compress and decompress: 8 x 8 cosine transforms, quantised, colours at half the resolution (4:2:0).

    Follows libjpeg in its tables, quality scaling, padding and smooth upsampling of colours; only the
    rounding of intermediate integers is left out.

    Args:
        pictures: RGB in [0, 1], [N, 3, H, W].
        quality: 1 (worst) to 100, [N]; as in Pillow and OpenCV.

    Returns:
        Pictures of 8-bit values over 255, [N, 3, H, W].
    """
    x = at_least_float32(pictures)
    height, width = x.shape[-2:]
    x = x.mul(255).round_().clamp_(0, 255)
    x = functional.pad(x, (0, -width % 16, 0, -height % 16), mode="replicate")
    ycc = _mix(x, _TO_YCC).round_()
    luma = _quantise(ycc[:, :1] - 128, _table(_LUMA, quality).to(x, non_blocking=True)) + 128
    chroma = _quantise(
        functional.avg_pool2d(ycc[:, 1:], 2).round_(), _table(_CHROMA, quality).to(x, non_blocking=True)
    )
    # Colours are upsampled from what belongs to the picture, not from the padding, and smoothly.
    chroma = chroma[..., : (height + 1) // 2, : (width + 1) // 2]
    chroma = functional.interpolate(chroma, scale_factor=2, mode="bilinear")
    ycc = torch.cat((luma[..., :height, :width], chroma[..., :height, :width]), 1)
    return _mix(ycc, _TO_RGB).round_().clamp_(0, 255).div_(255)


def _mix(x: Tensor, matrix: tuple[tuple[float, ...], ...]) -> Tensor:
    """A linear map of the channels, [N, 3, H, W]."""
    return (torch.tensor(matrix).to(x, non_blocking=True) @ x.flatten(2)).reshape(x.shape)


def _table(base: tuple[tuple[int, ...], ...], quality: Tensor) -> Tensor:
    """Quantisation steps [N, 1, 1, 64] by libjpeg's rule."""
    quality = quality.float().round().clamp(1, 100)
    percent = torch.where(quality < 50, (5000 / quality).floor(), 200 - 2 * quality)
    steps = torch.tensor(base).flatten().to(quality, non_blocking=True) * percent[:, None]
    return ((steps + 50) / 100).floor().clamp(1, 255)[:, None, None, :]


def _quantise(planes: Tensor, steps: Tensor) -> Tensor:
    """What is left of planes [N, C, H, W], H and W multiples of 8, after their blocks are quantised."""
    batch, channels, height, width = planes.shape
    transform = _cosine_transform(planes)
    blocks = planes.reshape(batch, channels, height // 8, 8, width // 8, 8).transpose(3, 4)
    coefficients = blocks.reshape(batch, channels, -1, 64) @ transform.T
    coefficients = coefficients.div_(steps).round_().mul_(steps)
    blocks = (coefficients @ transform).reshape(batch, channels, height // 8, width // 8, 8, 8)
    return blocks.transpose(3, 4).reshape(planes.shape)


def _cosine_transform(like: Tensor) -> Tensor:
    """The orthonormal two-dimensional DCT-II of an 8 x 8 block as one matrix [64, 64]."""
    k = torch.arange(8, dtype=torch.float64)
    rows = torch.cos(math.pi / 8 * k[:, None] * (k + 0.5)) / 2
    rows[0] /= math.sqrt(2)
    return torch.kron(rows, rows).to(like, non_blocking=True)
