"""Decoded pictures for training: each is decoded and shrunk once, then read as fast as memory is.

A cache lives in memory or in one file; both hold the same bytes:

    "smokescope cache"          16 bytes that tell the file from somebody else's
    per pair, in any order      red, green and blue of the picture, then the mask (0 to 255), H x W each;
                                for scribbles two such planes: strokes of smoke, strokes of background
    index                       JSON: the key, and each pair's place, size and checksum
    length of the index         8 bytes, little-endian
    "smokescope cache"          again: a file that was cut short does not end so

The file takes its name when it is whole. The key covers all that decides the content: paths, sizes and times
of the pictures' files, the side, and `VERSION`. With another key the cache is made afresh; also where a
checksum says that its bytes were damaged.

    >>> cache = PictureCache(list_pairs(Path("smoke5k/train")), side=640, file=Path("train.cache"))
    >>> picture, mask = cache[0]
"""

import glob
import hashlib
import io
import json
import os
import secrets
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import BinaryIO, NamedTuple, TypedDict

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smokescope.data.files import plain_reason
from smokescope.data.layouts import Listing, Pair, Progress, for_each_pair, read_pair, refuse_problems
from smokescope.data.pictures import shrink
from smokescope.data.scribbles import BACKGROUND, SMOKE, read_scribbled
from smokescope.errors import SmokescopeError

VERSION = 3  # to be raised with any change in how pictures are decoded, shrunk or stored
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
    """Of its bytes."""


class Index(TypedDict):
    """What stands at the end of a cache."""

    key: str
    places: list[Place]
    problems: list[str]


class PictureCache:
    """Pictures and masks of a data set, decoded, at most `side` pixels long.

    Threads decode when it is made; a file made before for the same data is opened instead. Workers of a
    DataLoader share the bytes: each maps the file, or inherits the memory.
    """

    def __init__(
        self,
        listing: Listing,
        side: int,
        file: Path | None = None,
        *,
        scribbles: bool = False,
        skip_bad: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Open or make the cache.

        Args:
            listing: What to decode.
            side: Longest side; larger pictures are shrunk by averaging, smaller ones left as they are.
            file: Where to keep the cache; None keeps it in memory.
            scribbles: The masks are scribbles: 0 unknown, 1 smoke, 2 background.
            skip_bad: Go on without the pairs that cannot be used.
            progress: Told after each pair that was decoded.

        Raises:
            SmokescopeError: Pairs cannot be used, all of them named; or the file is not ours to overwrite,
                or cannot be written.
        """
        self.file = file
        self.key = _key(listing, side, scribbles)
        self._planes = 2 if scribbles else 1
        found = None if file is None else _open(file)
        if found is None or not self._is_ours(*found, listing, skip_bad):
            decode = _Decode(side, _read_scribbled if scribbles else _read_masked)
            found = _build(listing, decode, file, self.key, skip_bad, progress)
        index, self._bytes = found
        self._places = index["places"]
        self.pairs: list[Pair] = [listing.pairs[place.pair] for place in self._places]
        self.problems = [*listing.problems, *map(SmokescopeError, index["problems"])]
        refuse_problems(Listing(self.pairs, self.problems), skip_bad)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        """A picture, H x W x 3, and its mask, 1 x H x W, as 8-bit values: views to read, not to write to.

        Of scribbles the mask is 2 x H x W: strokes of smoke and of background.
        """
        _, offset, height, width, _ = self._places[number]
        planes = self._bytes[offset : offset + (3 + self._planes) * height * width].view(-1, height, width)
        return planes[:3].permute(1, 2, 0), planes[3:]

    def _is_ours(self, index: Index, content: Tensor, listing: Listing, skip_bad: bool) -> bool:
        """Whether a file's content is what would be made now, undamaged."""
        if index["key"] != self.key or len(index["places"]) + len(index["problems"]) != len(listing.pairs):
            return False
        if index["problems"] and not skip_bad:  # who wants to hear of what was left out is not served by it
            return False
        pixels = content.numpy().data

        def intact(place: Place) -> bool:
            end = place.offset + (3 + self._planes) * place.height * place.width
            known = 0 <= place.pair < len(listing.pairs)
            return known and zlib.crc32(pixels[place.offset : end]) == place.checksum

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return all(pool.map(intact, index["places"]))

    def checksum(self, number: int) -> int:
        """Of a picture and its mask as they were decoded, wherever their files lie."""
        return self._places[number].checksum

    def __getstate__(self) -> dict[str, object]:
        # For a worker that is not forked: the file is mapped anew; memory goes through torch's shared memory.
        return {**self.__dict__, "_bytes": self._bytes if self.file is None else None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        if self.file is not None:
            found = _open(self.file)
            if found is None or found[0]["key"] != self.key:
                raise SmokescopeError(f"{self.file} was changed while in use: start again")
            index, self._bytes = found
            self._places = index["places"]  # made anew for the same data, the order may differ


def _key(listing: Listing, side: int, scribbles: bool) -> str:
    def stamp(path: Path | None) -> list[str | int]:
        if path is None:
            return []
        try:
            status = path.stat()
        except OSError:  # decoding will say what is wrong
            return [path.name]
        return [str(path.absolute()), status.st_size, status.st_mtime_ns, status.st_ctime_ns]

    stamps = [[pair.name, stamp(pair.picture), stamp(pair.mask)] for pair in listing.pairs]
    return hashlib.sha256(json.dumps([VERSION, side, scribbles, stamps]).encode()).hexdigest()


def _open(file: Path) -> tuple[Index, Tensor] | None:
    """Map a cache file; None where there is no file, or an incomplete one of ours.

    Raises:
        SmokescopeError: The file is somebody else's.
    """
    try:
        with file.open("rb") as stream:
            if stream.read(len(MAGIC)) != MAGIC:
                raise SmokescopeError(f"{file} is not a smokescope cache and stays as it is: name another")
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
    return index, torch.from_numpy(content)


def _build(
    listing: Listing,
    decode: "_Decode",
    file: Path | None,
    key: str,
    skip_bad: bool,
    progress: Progress | None,
) -> tuple[Index, Tensor]:
    """Decode everything into memory, or into a file that takes its name when it is whole."""
    if file is None:
        stream = io.BytesIO()
        try:
            index = _decode_into(stream, listing, decode, key, skip_bad, progress)
        except MemoryError:
            raise SmokescopeError(
                "the decoded pictures do not fit into memory: keep them in files, by train --cache"
            ) from None
        return index, torch.frombuffer(stream.getbuffer(), dtype=torch.uint8)
    # Two processes that build at once have a file of their own each, and the later name stays.
    part = file.with_name(f".{file.name}.{secrets.token_hex(8)}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        _remove_old_parts(file)
        with part.open("xb") as target:
            index = _decode_into(target, listing, decode, key, skip_bad, progress)
            target.flush()
            os.fsync(target.fileno())
        content = np.memmap(part, np.uint8, "c")
        part.replace(file)
        return index, torch.from_numpy(content)
    except OSError as error:
        raise SmokescopeError(f"{file} cannot be written: {plain_reason(error)}") from error
    finally:
        with suppress(OSError):  # nothing is left of a part by that name if all went well
            part.unlink()


def _remove_old_parts(file: Path) -> None:
    """Remove what processes that were killed left of a file, a day ago or more: nobody writes it now."""
    for part in file.parent.glob(f".{glob.escape(file.name)}.*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > DAY:
                part.unlink()


def _decode_into(
    stream: BinaryIO, listing: Listing, decode: "_Decode", key: str, skip_bad: bool, progress: Progress | None
) -> Index:
    numbers = {pair: number for number, pair in enumerate(listing.pairs)}
    lock = Lock()

    def store(pair: Pair) -> Place:
        planes = decode(pair)
        checksum = 0
        for plane in planes:
            checksum = zlib.crc32(plane.data, checksum)
        with lock:
            offset = stream.tell()
            stream.writelines(plane.data for plane in planes)
        height, width = planes[0].shape
        return Place(numbers[pair], offset, height, width, checksum)

    stream.write(MAGIC)
    results = for_each_pair(store, listing.pairs, progress)
    places = [result for result in results if isinstance(result, Place)]
    problems = [result for result in results if isinstance(result, SmokescopeError)]
    good = Listing([listing.pairs[place.pair] for place in places], [*listing.problems, *problems])
    refuse_problems(good, skip_bad)
    index = Index(key=key, places=places, problems=list(map(str, problems)))
    text = json.dumps(index).encode()
    stream.write(text + len(text).to_bytes(8, "little") + MAGIC)
    return index


Masks = list[NDArray[np.float32]]


class _Decode(NamedTuple):
    """How a pair becomes planes of 8 bits."""

    side: int
    read: Callable[[Pair], tuple[NDArray[np.uint8], Masks]]

    def __call__(self, pair: Pair) -> list[NDArray[np.uint8]]:
        picture, masks = self.read(pair)
        # planes, as batches have them: 4 times as fast to collate
        colours = [np.asarray(plane, np.uint8) for plane in cv2.split(shrink(picture, self.side))]
        return [*colours, *(np.rint(255 * shrink(mask, self.side)).astype(np.uint8) for mask in masks)]


def _read_masked(pair: Pair) -> tuple[NDArray[np.uint8], Masks]:
    picture, mask = read_pair(pair)
    return picture, [mask]


def _read_scribbled(pair: Pair) -> tuple[NDArray[np.uint8], Masks]:
    picture, scribble = read_scribbled(pair)
    return picture, [(scribble == label).astype(np.float32) for label in (SMOKE, BACKGROUND)]
