"""Small JSON files that say what they are: format, version, and contents that are checked on reading."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from smokescope.data.json_files import encode_json, read_json
from smokescope.errors import SmokescopeError

VERSION = 1

Expected = TypeVar("Expected")

_WORDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number", float: "a number"}


class Record(NamedTuple):
    """A part of such a file, and where it stands, so that a complaint can say so."""

    path: Path
    where: str
    value: object

    def take(self, key: str) -> "Record":
        """The part under a key."""
        fields = self.read(dict)
        if key not in fields:
            raise self.wrong(f'lacks "{key}"')
        return Record(self.path, f"{self.where}.{key}".lstrip("."), fields[key])

    def parts(self) -> dict[str, "Record"]:
        """All that an object holds, by key."""
        return {key: self.take(key) for key in self.read(dict)}

    def items(self) -> list["Record"]:
        """All that a list holds."""
        return [Record(self.path, f"{self.where}[{i}]", value) for i, value in enumerate(self.read(list))]

    def read(self, kind: type[Expected]) -> Expected:
        """The value, if it is of a kind; a whole number is also a number.

        Raises:
            SmokescopeError: It is something else.
        """
        value = float(self.value) if kind is float and type(self.value) is int else self.value
        if type(value) is not kind:  # a bool is no int
            raise self.wrong(f"should be {_WORDS[kind]}")
        return value

    def wrong(self, what: str) -> SmokescopeError:
        """A complaint about this part."""
        return SmokescopeError(f"{self.path} is damaged: {self.where or 'the file'} {what}")


def encode_record(form: str, contents: Mapping[str, object]) -> bytes:
    """The bytes of a file of a format, readable by people and the same for the same contents."""
    return encode_json({"format": form, "version": VERSION, **contents})


def read_record(path: Path, form: str) -> Record:
    """Read a file of a format.

    Raises:
        SmokescopeError: It is missing, not JSON, of another format or of a later version.
    """
    try:
        value = read_json(path)
    except ValueError:
        raise SmokescopeError(f"{path} is not a JSON file, or was cut short") from None
    if not isinstance(value, dict) or value.get("format") != form:
        found = value.get("format") if isinstance(value, dict) else None
        told = f"; its format is {found}" if isinstance(found, str) else ""
        raise SmokescopeError(f"{path} is not a {form} file{told}")
    record = Record(path, "", value)
    if record.take("version").read(int) > VERSION:
        raise SmokescopeError(f"{path} was written by a later smokescope: upgrade to read it")
    return record
