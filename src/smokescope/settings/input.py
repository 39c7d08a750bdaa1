"""How a picture is resized for the network."""

import math
from dataclasses import dataclass
from typing import Literal

from smokescope.settings.ranges import refuse_other_choices

STRIDE = 32  # of the encoder's last feature: sides that are multiples of it divide evenly all the way down
PARTS = 500  # into which height and width together are divided, to have their ratio in small numbers


@dataclass(frozen=True, kw_only=True)
class InputSettings:
    """How a picture is resized for the network.

    Attributes:
        height: Height that the network sees.
        width: Width that the network sees.
        fit: "squash" gives every picture that height and width; "aspect" keeps a picture's own aspect and
            has about as many pixels as height x width; see `network_size`.
    """

    height: int = 480
    width: int = 480
    fit: Literal["squash", "aspect"] = "squash"

    def __post_init__(self) -> None:
        refuse_other_choices(self)
        for name in ("height", "width"):
            value = getattr(self, name)
            if type(value) is not int or value < STRIDE:
                raise ValueError(f"{name} must be a whole number of {STRIDE} or more, not {value!r}")


def network_size(height: int, width: int, settings: InputSettings) -> tuple[int, int]:
    """Height and width that the network sees of a picture.

    To keep the aspect r = height / width and the number of pixels, sides would be in proportion to sqrt(r)
    and 1 / sqrt(r). The root is taken as (1 + 10 r + 5 r^2) / (5 + 10 r + r^2): off by about 1 % at 4 : 1,
    where rounding to multiples of 32 is off by more, and never above 5, so that a panorama is squashed a
    little rather than left with a side of nothing. It also needs only whole numbers, which an exported graph
    can compute from a picture's size, unlike a square root.
    """
    if settings.fit == "squash":
        return settings.height, settings.width
    square = round(math.sqrt(settings.height * settings.width))
    return _side(height, width, square), _side(width, height, square)


def _side(along: int, across: int, square: int) -> int:
    """Multiple of 32 nearest to `square` times the root of along / across; at least 64.

    A side of 32 would be one pixel in the encoder's last feature: exported graphs are not made for that.
    No number on the way exceeds 31 bits, for a `square` up to 1600: OpenVINO computes with no more.
    """
    share = (2 * PARTS * along + along + across) // (2 * (along + across))
    rest = PARTS - share
    numerator = rest * rest + 10 * share * rest + 5 * share * share
    denominator = 5 * rest * rest + 10 * share * rest + share * share
    blocks = (square * numerator + STRIDE // 2 * denominator) // (STRIDE * denominator)
    # at least 2, as a sum of what is missing: `max` would decide it once and for all when exported
    return STRIDE * (blocks + 3 // (blocks + 2) + 2 // (blocks + 2))
