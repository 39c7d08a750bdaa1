"""Settings as dataclasses, and the plain values that YAML and JSON hold: there and back, checked.

A dataclass says which names there are, of what type, and what they are if nobody says otherwise; so a value
under a wrong name or of a wrong type is found here, and named, before it does nothing for hours.
"""

import dataclasses
import math
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml

from smokescope.data.files import open_input
from smokescope.errors import SmokescopeError

Settings = TypeVar("Settings")

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def to_plain(settings: object) -> object:
    """Turn a dataclass, and all that it holds, into dicts, lists and scalars."""
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        return {f.name: to_plain(getattr(settings, f.name)) for f in dataclasses.fields(settings)}
    if isinstance(settings, list | tuple):
        return [to_plain(value) for value in settings]
    return settings


def from_plain(kind: type[Settings], value: object, where: str = "") -> Settings:
    """Build a dataclass of a kind from plain values.

    Args:
        kind: The dataclass.
        value: Names and values; names that are left out have their defaults.
        where: The settings' own place, for complaints.

    Raises:
        SmokescopeError: A name is unknown or missing, or a value is of another type or refused.
    """
    return cast(Settings, _read(kind, value, where))


def to_yaml(settings: object) -> bytes:
    """As the bytes of a YAML file that reads as the same settings."""
    return yaml.safe_dump(to_plain(settings), sort_keys=False, width=110, default_flow_style=None).encode()


def read_yaml(path: Path) -> dict[str, object]:
    """Read names and values from a YAML file.

    Raises:
        SmokescopeError: The file is missing, is not YAML, or holds anything else.
    """
    with open_input(path) as stream:
        try:
            text = stream.read().decode()
        except UnicodeDecodeError:
            raise SmokescopeError(f"{path} is not UTF-8, as YAML must be") from None
    values = parse_yaml(text, str(path))
    if not isinstance(values, dict):
        raise SmokescopeError(f"{path} holds no names and values")
    return values


@contextmanager
def naming(where: Path) -> Iterator[None]:
    """Put the file's name before what is wrong with the values in it."""
    try:
        yield
    except SmokescopeError as error:
        raise SmokescopeError(f"{where}: {error.sentence}", error.details) from None


def parse_yaml(text: str, where: str) -> object:
    """Read a YAML text; a `SmokescopeError` says where if it is none."""
    try:
        return cast(object, yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise SmokescopeError(f"{where} is not YAML: {str(error).splitlines()[0]}") from None


def _read(kind: object, value: object, where: str) -> object:
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(cast(type, kind), value, where)
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        if value not in args:
            raise SmokescopeError(f"{where} must be {' or '.join(map(str, args))}, not {value!r}")
        return value
    if origin in (Union, types.UnionType):  # only ever "or None" here
        return None if value is None else _read(next(a for a in args if a is not type(None)), value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise SmokescopeError(f"{where} must be a list, not {value!r}")
        kinds = [args[0]] * len(value) if args[1:] == (...,) else list(args)
        if len(kinds) != len(value):
            raise SmokescopeError(f"{where} must have {len(kinds)} values, not {len(value)}")
        return tuple(_read(k, v, f"{where}[{i}]") for i, (k, v) in enumerate(zip(kinds, value, strict=True)))
    if kind is float and isinstance(value, int | str) and not isinstance(value, bool):
        with suppress(ValueError):
            value = float(value)  # YAML reads 1e-4 as a text, for want of a point
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise SmokescopeError(f"{where} must be {_WORDS[cast(type, kind)]}, not {value!r}")
    return value


def _read_dataclass(kind: type, value: object, where: str) -> object:
    if not isinstance(value, Mapping):
        raise SmokescopeError(f"{where or 'settings'} must be names and values, not {value!r}")
    hints = get_type_hints(kind)
    prefix = f"{where}." if where else ""
    unknown = sorted(str(name) for name in value if name not in hints)
    if unknown:
        raise SmokescopeError(
            f"there is no setting {prefix}{unknown[0]}: {where or 'the settings'} may hold {', '.join(hints)}"
        )
    read = {name: _read(hints[name], part, prefix + name) for name, part in value.items()}
    try:
        return kind(**read)
    except (TypeError, ValueError) as error:  # a name without default is missing, or a value is refused
        raise SmokescopeError(f"{where or 'settings'}: {error}") from None
