"""Decoded pictures as bytes, in memory or in one file.

Both hold the same:

    "smokescope cache"          16 bytes that tell the file from somebody else's
    per pair, in any order      red, green and blue of the picture, then the mask (0 to 255), H x W each;
                                for scribbles two such planes: strokes of smoke, strokes of background
    index                       JSON: the key, and each pair's place, size and checksum
    length of the index         8 bytes, little-endian
    "smokescope cache"          again: a file that was cut short does not end so

A file takes its name when it is whole.
"""

import glob
import io
import json
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypedDict

import numpy as np
import torch
from torch import Tensor

from smokescope.data.files import plain_reason
from smokescope.errors import SmokescopeError

MAGIC = b"smokescope cache"
DAY = 24 * 60 * 60  # seconds


class Place(NamedTuple):
    """Where one pair is stored."""

    pair: int
    """Its number in the listing."""
    offset: int
    height: int
    width: int
    checksum: int
    """Checksum of its bytes."""


class Index(TypedDict):
    """What stands at the end of a cache."""

    key: str
    places: list[Place]
    problems: list[str]


@dataclass(frozen=True)
class Content:
    """A cache as it is used."""

    index: Index
    pixels: Tensor
    """All bytes of it, to be read at the places of the index."""


Fill = Callable[[BinaryIO], Index]
"""Appends the planes of all pairs to a stream, and says where they are."""


def read_cache(file: Path) -> Content | None:
    """Map a cache file; None where there is no file, or an incomplete one of ours.

    Raises:
        SmokescopeError: The file is somebody else's.
    """
    try:
        with file.open("rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise SmokescopeError(
                    f"{file} is not a smokescope cache, and was left as it is: name another folder"
                )
            # index and pixels by one handle: the name may stand for another file a moment later
            content = np.memmap(stream, np.uint8, "c")  # "c": nothing that is written reaches the file
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SmokescopeError(f"{file} cannot be read: {plain_reason(error)}") from error
    end = len(content) - 8 - len(MAGIC)
    if content[end + 8 :].tobytes() != MAGIC:
        return None
    start = end - int.from_bytes(content[end : end + 8].tobytes(), "little")
    try:
        read = json.loads(content[start:end].tobytes())
        places = [Place(*map(int, place)) for place in read["places"]]
        index = Index(key=read["key"], places=places, problems=[str(each) for each in read["problems"]])
    except (ValueError, TypeError, KeyError):  # not what we write: damaged
        return None
    return Content(index, torch.from_numpy(content))


def write_cache(file: Path | None, fill: Fill) -> Content:
    """Make a cache in memory, or in a file that takes its name when it is whole.

    Raises:
        SmokescopeError: There is no room for it, or the file cannot be written; nothing is left of it then.
    """
    if file is None:
        memory = io.BytesIO()
        try:
            index = _write(memory, fill)
        except MemoryError:
            raise SmokescopeError(
                "the decoded pictures do not fit into memory: keep them in files, by train --cache"
            ) from None
        return Content(index, torch.frombuffer(memory.getbuffer(), dtype=torch.uint8))
    # Two processes that build at once have a file of their own each, and the later name stays.
    part = file.with_name(f".{file.name}.{secrets.token_hex(8)}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _remove_old_parts(file)
        with part.open("xb") as stream:
            index = _write(stream, fill)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(file)  # only then is it mapped: Windows renames nothing that is
    except OSError as error:
        raise SmokescopeError(f"{file} cannot be written: {plain_reason(error)}") from error
    finally:
        with suppress(OSError):  # nothing is left of a part by that name if all went well
            part.unlink()
    return reread_cache(file, index["key"])


def reread_cache(file: Path, key: str) -> Content:
    """Map a cache file that is known to be there.

    Raises:
        SmokescopeError: By now it is another, or damaged.
    """
    content = read_cache(file)
    if content is None or content.index["key"] != key:
        raise SmokescopeError(f"{file} was changed while in use: run the command again")
    return content


def _write(stream: BinaryIO, fill: Fill) -> Index:
    stream.write(MAGIC)
    index = fill(stream)
    text = json.dumps(index).encode()
    stream.write(text + len(text).to_bytes(8, "little") + MAGIC)
    return index


def _remove_old_parts(file: Path) -> None:
    """Remove what processes that were killed left of a file, a day ago or more: nobody writes it now."""
    for part in file.parent.glob(f".{glob.escape(file.name)}.*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > DAY:
                part.unlink()
