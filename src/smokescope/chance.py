"""Chance that can be repeated: numbers that depend on a key and a place, and on nothing else.

Every sample has a key. What is drawn for it is the same whichever device draws it, in whatever batch it
lies, on whichever of many machines, and whatever was drawn before: nothing is kept from draw to draw.

    value(key, place) = mix(key + place * gamma)

with SplitMix64's mix and gamma (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014), in 64-bit integers that wrap around.

    >>> keys = make_keys(0, torch.arange(4))
    >>> uniform(keys, 3, 480, 640).shape
    torch.Size([4, 3, 480, 640])
    >>> normal(fold_in(keys, 1), 8).shape               # another purpose, other numbers
    torch.Size([4, 8])
"""

import math

import torch
from torch import Tensor

# What keys are folded with first, so that those who are given the same keys do not draw the same numbers.
GEOMETRY, COLOURS, SMOKE, LOOKALIKES, LATENT, DROPOUT, LANDSCAPE, TRANSPLANT = range(1000, 1008)

_GAMMA = -7046029254386353131  # 0x9E3779B97F4A7C15, as the signed integer of the same bits
_INVERSE = -1018231460777725123  # of gamma, modulo 2^64
_FIRST = -4658895280553007687  # 0xBF58476D1CE4E5B9
_SECOND = -7723592293110705685  # 0x94D049BB133111EB


def make_keys(seed: int, numbers: Tensor) -> Tensor:
    """Keys of numbered samples: int64, of the numbers' shape and device. Another seed, other keys."""
    return fold_in(torch.full_like(numbers, seed, dtype=torch.int64), numbers)


def fold_in(keys: Tensor, number: int | Tensor) -> Tensor:
    """Keys for another purpose; `number`, which tells purposes apart, may be a tensor to broadcast with."""
    # twice mixed: numbers drawn of the old keys are mixed once, and must not become keys
    return _mix(_mix(keys ^ _SECOND) + number)


def uniform(keys: Tensor, *shape: int) -> Tensor:
    """Uniform numbers in [0, 1), float32 [*keys.shape, *shape]: multiples of 2^-24."""
    return _fraction(_bits(keys, math.prod(shape)), 40).view(*keys.shape, *shape)


def normal(keys: Tensor, *shape: int) -> Tensor:
    """Standard normal numbers, float32 [*keys.shape, *shape]: two of each hash, by Box and Muller."""
    count = math.prod(shape)
    bits = _bits(keys, (count + 1) // 2)
    radius = _fraction(bits, 40).neg_().log1p_().mul_(-2).sqrt_()
    angle = _fraction(bits, 16).mul_(2 * math.pi)
    both = torch.cat((radius * angle.cos(), radius * angle.sin()), -1)
    return both[..., :count].reshape(*keys.shape, *shape)


def _bits(keys: Tensor, count: int) -> Tensor:
    """Random integers [*keys.shape, count]."""
    places = torch.arange(1, count + 1, device=keys.device)
    # key + place * gamma; but compilers take a place for a loop's counter, which must not wrap around
    return _mix(((keys * _INVERSE)[..., None] + places).mul_(_GAMMA))


def _fraction(bits: Tensor, place: int) -> Tensor:
    """24 bits, from `place` upwards, as a number in [0, 1)."""
    return (bits >> place).bitwise_and_((1 << 24) - 1).float().mul_(2.0**-24)


def _mix(x: Tensor) -> Tensor:
    """Change x into its hash, in place: on a CPU that is ten times faster than fresh memory each time."""
    for bits, factor in ((30, _FIRST), (27, _SECOND)):
        x.bitwise_xor_(_shift(x, bits)).mul_(factor)
    return x.bitwise_xor_(_shift(x, 31))


def _shift(x: Tensor, bits: int) -> Tensor:
    """Shift right, filling with zeros; torch's own shift fills with the sign."""
    return (x >> bits).bitwise_and_((1 << (64 - bits)) - 1)
