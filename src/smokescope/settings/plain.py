"""Settings from the plain values that JSON and YAML hold; `dataclasses.asdict` is the way there.

A dataclass says which names there are, of what type, and what they are if nobody says otherwise; so a value
under a wrong name or of a wrong type is found here, and named, before it does nothing for hours.
"""

import dataclasses
import math
import types
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from smokescope.settings.ranges import refuse_other

Settings = TypeVar("Settings")

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def from_plain(kind: type[Settings], value: object, where: str = "") -> Settings:
    """Build a dataclass of a kind from plain values.

    Args:
        kind: The dataclass.
        value: Names and values; names that are left out have their defaults.
        where: The settings' own place, for complaints.

    Raises:
        ValueError: A name is unknown or missing, or a value is of another type or refused.
    """
    return cast(Settings, _read(kind, value, where))


def _read(kind: object, value: object, where: str) -> object:
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(cast(type, kind), value, where)
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        refuse_other(where, value, args)
        return value
    if origin in (Union, types.UnionType):  # only ever "or None" here
        return None if value is None else _read(next(a for a in args if a is not type(None)), value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{where} must be a list, not {value!r}")
        kinds = [args[0]] * len(value) if args[1:] == (...,) else list(args)
        if len(kinds) != len(value):
            raise ValueError(f"{where} must have {len(kinds)} values, not {len(value)}")
        return tuple(_read(k, v, f"{where}[{i}]") for i, (k, v) in enumerate(zip(kinds, value, strict=True)))
    if kind is float and isinstance(value, int | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            value = float(value)  # YAML reads 1e-4 as a text, for want of a point
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"{where} must be {_WORDS[cast(type, kind)]}, not {value!r}")
    return value


def _read_dataclass(kind: type, value: object, where: str) -> object:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where or 'settings'} must be names with values, not {value!r}")
    hints = get_type_hints(kind)
    prefix = f"{where}." if where else ""
    unknown = sorted(str(name) for name in value if name not in hints)
    if unknown:
        raise ValueError(
            f"there is no setting {prefix}{unknown[0]}: {where or 'the settings'} may hold {', '.join(hints)}"
        )
    read = {name: _read(hints[name], part, prefix + name) for name, part in value.items()}
    try:
        return kind(**read)
    except (TypeError, ValueError) as error:  # a name without default is missing, or a value is refused
        raise ValueError(f"{where or 'settings'}: {error}") from None
