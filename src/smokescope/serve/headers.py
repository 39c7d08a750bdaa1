"""What a picture's bytes say of it before anything is decoded."""

import io
from http import HTTPStatus

from PIL import Image

from smokescope.data.pictures import without_warnings
from smokescope.serve.refusals import Refusal

Size = tuple[int, int]
"""Width and height."""


def check_header(data: bytes, most_pixels: int) -> Size:
    """Look at a picture's first bytes: its kind by content, whatever it was sent as, and its size.

    Raises:
        Refusal: It is no JPEG, PNG or WebP (415), has too many pixels, or its header is damaged (422).
    """
    kind = _kind(data)
    if kind is None:
        raise Refusal(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "this is not a JPEG, PNG or WebP picture: send one of those"
        )
    try:
        # Pillow's own limit on sizes, of which it warns, is not ours
        with without_warnings(), Image.open(io.BytesIO(data), formats=[kind]) as image:
            width, height = image.size
    except Image.DecompressionBombError:
        raise _too_many(most_pixels) from None
    except Exception:  # decoders meet hostile bytes, and raise whatever they stumble over
        raise Refusal(
            HTTPStatus.UNPROCESSABLE_ENTITY, f"the {kind} picture's beginning is damaged: send a fresh copy"
        ) from None
    if width * height > most_pixels:
        raise _too_many(most_pixels)
    return width, height


def _kind(data: bytes) -> str | None:
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    return None


def _too_many(most: int) -> Refusal:
    return Refusal(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"the picture has more than {most / 1e6:g} million pixels, the limit here: make it smaller",
    )
