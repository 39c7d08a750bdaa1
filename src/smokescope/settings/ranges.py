"""Bounds of settings: what cannot work is refused where it is said, not hours later where it is used.

>>> refuse_outside(settings, 0, 1, "dropout", "warmup")
"""


def refuse_outside(settings: object, least: float, most: float, *names: str) -> None:
    """Check numbers, and numbers in tuples, that settings have under some names.

    Raises:
        ValueError: One is below `least`, above `most`, or no number (NaN).
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
            raise ValueError(f"{name} must not end before it begins, as {start} to {end} does")
