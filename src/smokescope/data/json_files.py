"""JSON files: for people to read, the same bytes for the same values, and without NaN, which is no JSON."""

import json
from pathlib import Path
from typing import NoReturn, cast

from smokescope.data.files import open_input


def encode_json(document: object, indent: int = 1) -> bytes:
    """The bytes of a file.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    return (json.dumps(document, indent=indent, allow_nan=False) + "\n").encode()


def read_json(path: Path) -> object:
    """What a file holds.

    Raises:
        SmokescopeError: It cannot be opened.
        ValueError: It is no JSON, or was cut short.
    """
    with open_input(path) as stream:
        try:
            return cast(object, json.load(stream, parse_constant=_refuse))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")
