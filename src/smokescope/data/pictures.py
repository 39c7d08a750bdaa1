"""Pictures in and out: whatever people point at becomes 8-bit RGB, as a viewer would show it."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import BinaryIO, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from PIL.ExifTags import Base as ExifTag

from smokescope.data.files import open_input
from smokescope.errors import SmokescopeError

Number = TypeVar("Number", np.uint8, np.float32)

# What cameras and people make; Pillow's decoders of rarer formats stay shut. (A camera's MPO opens as JPEG.)
FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "PPM")
SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".webp", ".tif", ".tiff", ".bmp", ".gif"}
    | {".ppm", ".pgm", ".pbm", ".pnm"}
)

MAX_PIXELS = 100_000_000  # 300 MB as RGB; several times any camera's, far below what fills a memory

_UPRIGHT = {  # EXIF orientation -> what undoes it
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

_UNCLEAR = {"F": "floating-point values, of which the white one is unknown", "LAB": "Lab colours"}
_UNNAMED = "the picture"  # what complaints call one that did not come from a file


def read_picture(path: Path) -> NDArray[np.uint8]:
    """Read a picture as people see it: upright, transparency over white, the first frame of an animation.

    Args:
        path: A JPEG, PNG, WebP, TIFF, BMP, GIF or PPM file of at most `MAX_PIXELS` pixels.

    Returns:
        H x W x 3 RGB values.

    Raises:
        SmokescopeError: The file is missing, not a picture, damaged, too large or of an unusual kind.
    """
    with decode(path) as image:
        return _as_rgb(image, path)


def picture_from_bytes(data: bytes) -> NDArray[np.uint8]:
    """As `read_picture`, of a file's bytes."""
    with _decoded(io.BytesIO(data), _UNNAMED) as image:
        return _as_rgb(image, _UNNAMED)


def picture_from_image(image: Image.Image) -> NDArray[np.uint8]:
    """As `read_picture`, of a picture that Pillow has opened: upright too, if it says how it was held."""
    if not image.width * image.height:
        raise SmokescopeError(f"{_UNNAMED} is empty: it has no pixels")
    with _explained(_UNNAMED):
        return _as_rgb(_loaded_upright(image), _UNNAMED)


@contextmanager
def decode(path: Path) -> Iterator[Image.Image]:
    """Open and decode a picture file, upright, and turn whatever is wrong with it into a sentence.

    Raises:
        SmokescopeError: As for `read_picture`; also from errors in the body of the `with`.
    """
    with open_input(path) as stream, _decoded(stream, path) as image:
        yield image


@contextmanager
def _decoded(stream: BinaryIO, path: Path | str) -> Iterator[Image.Image]:
    with _explained(path), Image.open(stream, formats=FORMATS) as image:
        yield _loaded_upright(image)


def _loaded_upright(image: Image.Image) -> Image.Image:
    if image.width * image.height > MAX_PIXELS:  # from the header: nothing is decoded yet
        raise Image.DecompressionBombError
    image.load()
    turn = _UPRIGHT.get(image.getexif().get(ExifTag.Orientation, 1))
    return image if turn is None else image.transpose(turn)


@contextmanager
def _explained(path: Path | str) -> Iterator[None]:
    """Turn whatever goes wrong in decoding into a sentence that names the picture."""
    with without_warnings():
        try:
            yield
        except SmokescopeError:
            raise
        except UnidentifiedImageError:
            raise SmokescopeError(
                f"{path} is not a JPEG, PNG, WebP, TIFF, BMP, GIF or PPM picture, or its beginning is damaged"
            ) from None
        except Image.DecompressionBombError:
            raise SmokescopeError(
                f"{path} has more than {MAX_PIXELS // 1_000_000} million pixels: make it smaller first"
            ) from None
        except MemoryError:
            raise SmokescopeError(f"{path} does not fit into memory: make it smaller first") from None
        except Exception as error:  # decoders meet hostile bytes, and raise whatever they stumble over
            raise SmokescopeError(
                f"{path} is damaged or cut short and cannot be decoded: get a fresh copy"
            ) from error


class _Silence:
    """Python's warnings, silenced while any thread asks for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._before = warnings.catch_warnings()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Silence them for the body of the `with`, in all threads.

        `warnings.catch_warnings` alone is not for threads: the last to leave would put back what it found on
        entering, which another one had silenced.
        """
        with self._lock:
            if not self._inside:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._before.__exit__(None, None, None)


without_warnings = _Silence()
"""For decoding: Pillow warns of odd metadata and of sizes, neither of which spoils pixels."""


def shrink(values: NDArray[Number], side: int) -> NDArray[Number]:
    """Shrink a picture or map, H x W or H x W x C, to a longer side of at most `side`, averaging areas."""
    height, width = values.shape[:2]
    ratio = side / max(height, width)
    if ratio >= 1:
        return values
    size = max(1, round(width * ratio)), max(1, round(height * ratio))
    return np.asarray(cv2.resize(values, size, interpolation=cv2.INTER_AREA), values.dtype)


def encode_jpeg(pixels: NDArray[np.uint8]) -> bytes:
    """Encode H x W x 3 colours as a JPEG file's bytes, with as little loss as the format allows."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=97, subsampling=0)
    return buffer.getvalue()


def encode_png(pixels: NDArray[np.uint8] | NDArray[np.uint16]) -> bytes:
    """Encode H x W x 3 8-bit colours, or H x W grey values of 8 or 16 bits, as a PNG file's bytes."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def _as_rgb(image: Image.Image, path: Path | str) -> NDArray[np.uint8]:
    if image.mode == "I" or image.mode.startswith("I;16"):
        return _from_16_bits(np.asarray(image), path)
    if image.mode in _UNCLEAR:
        raise SmokescopeError(f"{path} holds {_UNCLEAR[image.mode]}: save it as RGB or grey of 8 or 16 bits")
    if image.has_transparency_data:
        shown = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown)
    # np.array copies: Pillow's own buffer is read-only, which torch refuses.
    return np.array(image.convert("RGB"))


def _from_16_bits(grey: NDArray[np.integer], path: Path | str) -> NDArray[np.uint8]:
    """Scale the full range of 16 bits to 8 with rounding; Pillow's own conversion clips at 255 instead."""
    if grey.min() < 0 or grey.max() > 65535:  # Pillow's mode "I" has 32 bits
        raise SmokescopeError(f"{path} holds values beyond 16 bits: save it as RGB or grey of 8 or 16 bits")
    eight = ((grey.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
    return np.repeat(eight[..., None], 3, axis=2)
