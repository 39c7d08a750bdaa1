"""Kind and size of a picture from its first bytes."""

import struct
import zlib

import pytest

from smokescope.serve.headers import check_header
from smokescope.serve.refusals import Refusal
from tests.serve.service import png


def bomb(side: int) -> bytes:
    """A white PNG of side x side, tiny in bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    row = b"\0" + b"\xff" * ((side + 7) // 8)
    rows = b"".join(packer.compress(row * 100) for _ in range(side // 100)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_size_is_read_from_the_header(kind: str) -> None:
    assert check_header(png(50, 20, kind=kind), 1000) == (50, 20)
    with pytest.raises(Refusal, match=r"more than 0\.000999 million pixels") as caught:
        check_header(png(50, 20, kind=kind), 999)
    assert caught.value.status == 422


@pytest.mark.parametrize("side", [12_000, 30_000])  # below and above where Pillow itself refuses
def test_a_bomb_is_refused_unopened(side: int) -> None:
    data = bomb(side)
    assert len(data) < 600_000
    with pytest.raises(Refusal, match="more than 30 million pixels"):
        check_header(data, 30_000_000)


@pytest.mark.parametrize("data", [b"text", b"GIF89a" + bytes(40), b"BM" + bytes(60), b"%PDF-1.7", b"\x00"])
def test_other_kinds_are_not_taken(data: bytes) -> None:
    with pytest.raises(Refusal, match="not a JPEG, PNG or WebP") as caught:
        check_header(data, 10**9)
    assert caught.value.status == 415


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_header_cut_short_is_damaged(kind: str) -> None:
    with pytest.raises(Refusal, match=f"{kind} picture's beginning is damaged") as caught:
        check_header(png(kind=kind)[:14], 10**9)
    assert caught.value.status == 422
