"""Videos in and out, frame by frame: nothing but the present frame is held in memory.

This module needs PyAV, which not everybody has: `pip install 'smokescope[video]'`.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
from av.container import InputContainer, OutputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from smokescope.data.files import open_input
from smokescope.data.pictures import MAX_PIXELS
from smokescope.errors import SmokescopeError

USUAL_RATE = Fraction(25)  # frames a second, of a video that does not say
WHOLE = 0.9  # of the frames or seconds that a file speaks of: some count frames that are never shown
TICK = Fraction(1, 90_000)  # of a second, by which frames are timed: the usual rates divide it
QUALITY = "20"  # x264's; at 18 the eye sees no loss


class Frame(NamedTuple):
    """A picture of a video."""

    number: int
    """From 0 on."""
    seconds: float
    """When it is shown, from the first on."""
    pixels: NDArray[np.uint8]
    """H x W x 3, upright."""


class VideoReader:
    """An open video, whose frames come one by one; made by `open_video`.

    Attributes:
        rate: Frames a second.
        count: Frames in all, as the file says; 0 if it does not.
    """

    def __init__(self, path: Path, container: InputContainer) -> None:
        if not container.streams.video:
            raise SmokescopeError(f"{path} holds no pictures, only sound or text")
        self._path, self._container = path, container
        self._stream = container.streams.video[0]
        self._stream.thread_type = "AUTO"
        if self._stream.width * self._stream.height > MAX_PIXELS:
            raise SmokescopeError(f"{path} has frames of more than {MAX_PIXELS // 1_000_000} million pixels")
        self.rate = self._stream.average_rate or self._stream.guessed_rate or USUAL_RATE
        self.count = self._stream.frames

    def __iter__(self) -> Iterator[Frame]:
        frames = self._container.decode(self._stream)
        first = seconds = 0.0
        for number in itertools.count():
            broken = f"{self._path} is damaged or cut short after {number} frames: get a fresh copy"
            try:
                with _explained(broken):
                    frame = next(frames)
            except StopIteration:
                if not self._is_whole(number, seconds):  # decoders end quietly where a file ends early
                    raise SmokescopeError(broken) from None
                return
            pixels = frame.to_ndarray(format="rgb24")
            upright = np.ascontiguousarray(np.rot90(pixels, round(frame.rotation / 90)))  # as phones note it
            shown = float(number / self.rate) if frame.pts is None else frame.time
            first = shown if number == 0 else first
            seconds = shown - first
            yield Frame(number, seconds, upright)

    def _is_whole(self, count: int, seconds: float) -> bool:
        """Whether so many frames, the last of them shown then, are nearly all; some may never have been."""
        length = float((self._stream.duration or 0) * (self._stream.time_base or 0))
        return count > WHOLE * self.count or 0 < WHOLE * length < seconds + float(1 / self.rate)


@contextmanager
def open_video(path: Path) -> Iterator[VideoReader]:
    """Open a video for reading.

    Raises:
        SmokescopeError: The file is missing, no video, or damaged; the last also while frames are read.
    """
    with open_input(path) as stream:
        with _explained(f"{path} is not a video, or its beginning is damaged"):
            # a stream and no other protocol: a playlist in disguise gets to open nothing
            container = av.open(stream, "r", options={"protocol_whitelist": "pipe"})
        with container:
            yield VideoReader(path, container)


class VideoWriter:
    """An MP4 file that frames are added to; made by `write_video`."""

    def __init__(self, container: OutputContainer, rate: Fraction) -> None:
        self._container, self._rate = container, rate
        self._stream: VideoStream | None = None
        self._last = -1

    def add(self, pixels: NDArray[np.uint8], seconds: float) -> None:
        """Add a frame, H x W x 3, that is shown then; all have the size of the first.

        Raises:
            SmokescopeError: It cannot be written.
        """
        height, width = pixels.shape[:2]
        even = np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), "edge")  # which players insist on
        with _explained("the video cannot be written"):
            if self._stream is None:
                self._stream = self._container.add_stream("libx264", self._rate, {"crf": QUALITY})
                self._stream.height, self._stream.width = even.shape[:2]
                self._stream.pix_fmt = "yuv420p"
                self._stream.codec_context.time_base = TICK
            frame = av.VideoFrame.from_ndarray(even, format="rgb24")
            self._last = max(round(seconds / TICK), self._last + 1)  # a file's own times may stand still
            frame.pts, frame.time_base = self._last, TICK
            self._container.mux(self._stream.encode(frame))

    def finish(self) -> None:
        """Write what the encoder still holds, and the end of the file.

        Raises:
            SmokescopeError: It cannot be written.
        """
        with _explained("the video cannot be written"):
            if self._stream is not None:
                self._container.mux(self._stream.encode(None))
            self._container.close()


@contextmanager
def write_video(path: Path, rate: Fraction) -> Iterator[VideoWriter]:
    """Write an MP4 file at `path` itself: let nobody take that for the final name.

    Raises:
        SmokescopeError: It cannot be written.
    """
    with _explained(f"{path} cannot be written"):
        container = av.open(str(path), "w", format="mp4", options={"movflags": "faststart"})
    with container:
        writer = VideoWriter(container, rate)
        yield writer
        writer.finish()


@contextmanager
def _explained(sentence: str) -> Iterator[None]:
    try:
        yield
    except av.FFmpegError as error:
        raise SmokescopeError(sentence) from error
