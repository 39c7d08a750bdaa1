"""Decoded pictures for training: each is decoded and shrunk once, then read as fast as memory is.

A cache lives in memory or in one file (`cache_file`). Its key covers all that decides the content: paths,
sizes and times of the pictures' files, the side, and `VERSION`. With another key the cache is made afresh;
also where a checksum says that its bytes were damaged.

    >>> cache = PictureCache(list_pairs(Path("smoke5k/train")), side=640, file=Path("train.cache"))
    >>> picture, mask = cache[0]
"""

import hashlib
import json
import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import BinaryIO, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from smokescope.data.cache_file import Content, Index, Place, read_cache, reread_cache, write_cache
from smokescope.data.layouts import Listing, Pair
from smokescope.data.pairs import Progress, for_each_pair, read_pair, refuse_problems
from smokescope.data.pictures import shrink
from smokescope.data.scribbles import BACKGROUND, SMOKE, read_scribbled
from smokescope.errors import SmokescopeError

VERSION = 5  # to be raised with any change in how pictures are decoded, shrunk or stored


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
        found = None if file is None else read_cache(file)
        if found is None or not self._is_ours(found, listing, skip_bad):
            found = None  # let go of it: on Windows, what is mapped cannot be replaced
            decode = _Decode(side, _read_scribbled if scribbles else _read_masked)

            def fill(stream: BinaryIO) -> Index:
                places, problems = _decode_into(stream, listing, decode, skip_bad, progress)
                return Index(key=self.key, places=places, problems=problems)

            found = write_cache(file, fill)
        self._bytes, self._places = found.pixels, found.index["places"]
        self.pairs: list[Pair] = [listing.pairs[place.pair] for place in self._places]
        self.problems = [*listing.problems, *map(SmokescopeError, found.index["problems"])]
        refuse_problems(Listing(self.pairs, self.problems), skip_bad)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        """A picture, H x W x 3, and its mask, 1 x H x W, as 8-bit values: views to read, not to write to.

        With scribbles the mask is 2 x H x W: strokes of smoke and of background.
        """
        _, offset, height, width, _ = self._places[number]
        planes = self._bytes[offset : offset + (3 + self._planes) * height * width].view(-1, height, width)
        return planes[:3].permute(1, 2, 0), planes[3:]

    def _is_ours(self, found: Content, listing: Listing, skip_bad: bool) -> bool:
        """Whether a file's content is what would be made now, undamaged."""
        index = found.index
        if index["key"] != self.key or len(index["places"]) + len(index["problems"]) != len(listing.pairs):
            return False
        if index["problems"] and not skip_bad:  # who wants to hear of what was left out is not served by it
            return False
        pixels = found.pixels.numpy().data

        def intact(place: Place) -> bool:
            end = place.offset + (3 + self._planes) * place.height * place.width
            known = 0 <= place.pair < len(listing.pairs)
            return known and zlib.crc32(pixels[place.offset : end]) == place.checksum

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return all(pool.map(intact, index["places"]))

    def checksum(self, number: int) -> int:
        """Checksum of a picture and its mask as they were decoded, wherever their files lie."""
        return self._places[number].checksum

    def __getstate__(self) -> dict[str, object]:
        # For a worker that is not forked: the file is mapped anew; memory goes through torch's shared memory.
        return {**self.__dict__, "_bytes": self._bytes if self.file is None else None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        if self.file is not None:
            found = reread_cache(self.file, self.key)
            self._bytes = found.pixels
            self._places = found.index["places"]  # made anew for the same data, the order may differ


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


def _decode_into(
    stream: BinaryIO, listing: Listing, decode: "_Decode", skip_bad: bool, progress: Progress | None
) -> tuple[list[Place], list[str]]:
    """Decode a listing into a stream: where its pairs are, and what was wrong with the others."""
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

    results = for_each_pair(store, listing.pairs, progress)
    places = [result for result in results if isinstance(result, Place)]
    problems = [result for result in results if isinstance(result, SmokescopeError)]
    good = Listing([listing.pairs[place.pair] for place in places], [*listing.problems, *problems])
    refuse_problems(good, skip_bad)
    return places, list(map(str, problems))


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
