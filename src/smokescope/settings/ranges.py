"""Bounds and choices of settings: what cannot work is refused where it is said, not hours later where used.

>>> refuse_outside(settings, 0, 1, "dropout", "warmup")
"""

from collections.abc import Sequence
from typing import Literal, get_args, get_origin, get_type_hints


def refuse_outside(settings: object, least: float, most: float, *names: str) -> None:
    """Check the named settings, numbers or tuples of numbers.

    Raises:
        ValueError: A number is below `least`, above `most`, or NaN.
    """
    for name in names:
        value = getattr(settings, name)
        for number in value if isinstance(value, tuple) else (value,):
            if not least <= number <= most:
                bound = f"at most {most}" if number > most else f"at least {least}"
                raise ValueError(f"{name} must be {bound}, not {number}")


def refuse_up_to_zero(settings: object, *names: str) -> None:
    """As `refuse_outside`, for what must be above 0: a `ValueError` names what is not."""
    for name in names:
        value = getattr(settings, name)
        if not value > 0:
            raise ValueError(f"{name} must be above 0, not {value}")


def refuse_unordered(settings: object, *names: str) -> None:
    """As `refuse_outside`, for ranges, whose end must not lie before their beginning."""
    for name in names:
        start, end = getattr(settings, name)
        if not start <= end:
            raise ValueError(f"{name} must run from low to high, not from {start} to {end}")


def refuse_other_choices(settings: object) -> None:
    """As `refuse_outside`, for all settings whose type is a Literal."""
    for name, kind in get_type_hints(type(settings)).items():
        if get_origin(kind) is Literal:
            refuse_other(name, getattr(settings, name), get_args(kind))


def refuse_other(name: str, value: object, choices: Sequence[object]) -> None:
    """As `refuse_outside`, for one choice; 1 is not True here."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ValueError(f"{name} must be {' or '.join(map(str, choices))}, not {value!r}")
