"""How much light comes through: the dark channel prior (Eq. 9, 15 and 16, Algorithm 1).

He, Sun and Tang, "Single Image Haze Removal Using Dark Channel Prior", CVPR 2009, as the paper uses it: no
omega, and refined by a guided filter.

    >>> transmission(torch.rand(2, 3, 480, 640)).shape
    torch.Size([2, 1, 480, 640])
"""

import torch
from torch import Tensor

from smokescope.physics.filters import guided_filter, minimum_filter
from smokescope.precision import at_least_float32


def grey(pictures: Tensor) -> Tensor:
    """Luma by ITU-R BT.601, what "grey" means in this field's code: [N, 3, H, W] -> [N, 1, H, W]."""
    red, green, blue = pictures[:, 0:1], pictures[:, 1:2], pictures[:, 2:3]
    return (0.299 * red).add(green, alpha=0.587).add(blue, alpha=0.114)


def see_through(scene: Tensor, t: Tensor, light: Tensor) -> Tensor:
    """I = J t + A (1 - t): what a camera sees of a scene J through smoke or haze of the colour A."""
    return scene * t + light * (1 - t)


def dark_channel(pictures: Tensor, patch: int = 15) -> Tensor:
    """Darkest value of any channel in the patch around each pixel (Eq. 15).

    Args:
        pictures: RGB [N, 3, H, W].
        patch: odd side of the window.

    Returns:
        Dark channel [N, 1, H, W].
    """
    # the two minima commute: taking the channels' first leaves one map to filter, not three
    return minimum_filter(pictures.amin(1, keepdim=True), patch)


def airlight(pictures: Tensor, dark: Tensor, fraction: float = 0.001) -> Tensor:
    """Colour of the haze: the brightest pixel among the haziest (Algorithm 1, step 2).

    The haziest are the `fraction` of pixels with the largest dark channel, at least one; pixels that tie with
    the last of them belong to them, so that the result does not depend on any order. The brightest has the
    largest sum of channels, the first in reading order where several do.

    Args:
        pictures: RGB [N, 3, H, W].
        dark: their dark channel [N, 1, H, W].
        fraction: share of pixels that count as haziest.

    Returns:
        Airlight [N, 3, 1, 1].
    """
    flat, dark = pictures.flatten(2), dark.flatten(2)
    count = max(1, int(fraction * flat.shape[-1]))
    least = dark.topk(count, dim=-1, sorted=False).values.amin(-1, keepdim=True)
    brightness = torch.where(dark < least, -1.0, flat.sum(1, keepdim=True))
    brightest = brightness.argmax(-1, keepdim=True).expand(-1, flat.shape[1], -1)
    return flat.gather(-1, brightest).unsqueeze(-1)


def transmission(
    pictures: Tensor, patch: int = 15, radius: int = 60, eps: float = 1e-4, fraction: float = 0.001
) -> Tensor:
    """Transmission T(m) = 1 - min over channels and patch of I / A (Eq. 9), refined and clipped.

    A black picture has no haze and so T = 1; one of a single brighter grey is all haze, T = 0.

    Args:
        pictures: RGB in [0, 1], [N, 3, H, W]; halves are computed in float32.
        patch: odd side of the dark channel's window.
        radius: radius of the guided filter; 0 leaves the map unrefined.
        eps: regularisation of the guided filter.
        fraction: share of pixels that the airlight is chosen from.

    Returns:
        Transmission in [0, 1], [N, 1, H, W]. No gradient flows to the pictures.
    """
    with torch.no_grad():
        pictures = at_least_float32(pictures)
        light = airlight(pictures, dark_channel(pictures, patch), fraction)
        haze = dark_channel(pictures / light.clamp(min=1 / 255), patch)  # one grey level: black stays black
        if radius > 0:
            haze = guided_filter(grey(pictures), haze, radius, eps)
        return (1 - haze).clamp_(0, 1)
