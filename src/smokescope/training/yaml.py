"""Settings as YAML files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

import yaml

from smokescope.data.files import open_input
from smokescope.errors import SmokescopeError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def to_yaml(settings: "DataclassInstance") -> bytes:
    """Bytes of a YAML file that reads as the same settings."""
    return yaml.safe_dump(asdict(settings), sort_keys=False, width=110, default_flow_style=None).encode()


def read_yaml(path: Path) -> dict[str, object]:
    """Read names and values from a YAML file.

    Raises:
        SmokescopeError: The file is missing, is not YAML, or holds anything else.
    """
    with open_input(path) as stream:
        try:
            text = stream.read().decode()
        except UnicodeDecodeError:
            raise SmokescopeError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    values = parse_yaml(text, str(path))
    if not isinstance(values, dict):
        raise SmokescopeError(f"{path} must hold names with values, such as `epochs: 50`")
    return values


@contextmanager
def naming(where: Path) -> Iterator[None]:
    """Put the file's name before what is wrong with the values in it: a `ValueError` of `from_plain`'s."""
    try:
        yield
    except ValueError as error:
        raise SmokescopeError(f"{where}: {error}") from None


def parse_yaml(text: str, where: str) -> object:
    """Read a YAML text; a `SmokescopeError` says where if it is none."""
    try:
        return cast(object, yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise SmokescopeError(f"{where} is not YAML: {str(error).splitlines()[0]}") from None
