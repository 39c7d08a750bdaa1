"""Multipart forms: the file comes out whole, and what is malformed is told from what is missing."""

from contextlib import suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smokescope.serve.forms import file_in_form
from smokescope.serve.refusals import Refusal

BOUNDARY = "multipart/form-data; boundary=xyz"


def form(*parts: tuple[str, bytes], end: bytes = b"--xyz--\r\n") -> bytes:
    head = b'--xyz\r\nContent-Disposition: form-data; name="%s"; filename="../a.png"\r\n\r\n%s\r\n'
    return b"".join(head % (name.encode(), data) for name, data in parts) + end


@given(st.binary(max_size=300).map(lambda data: data + b"\r\n--" + data))
def test_the_file_comes_out_as_httpx_puts_it_in(data: bytes) -> None:
    request = httpx.Request("POST", "http://x", data={"note": "hill"}, files={"file": ("x.jpg", data)})
    assert file_in_form(request.read(), request.headers["content-type"]) == data


def test_other_fields_are_passed_over() -> None:
    assert file_in_form(form(("a", b"1"), ("file", b"picture"), ("b", b"2")), BOUNDARY) == b"picture"


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (form(("file", b"x")), "multipart/form-data", "names no boundary"),
        (form(("file", b"x"), end=b""), BOUNDARY, "it is cut short"),
        (form(("file", b"x"))[:40], BOUNDARY, "it is cut short"),
        (b"", BOUNDARY, "it is cut short"),
        (b"no form at all", BOUNDARY, "parts are malformed"),
        (b"--xyz\r\n: \r\n\r\n", BOUNDARY, "parts are malformed"),
        (form(("other", b"x")), BOUNDARY, "no field called `file`"),
        (form(("file", b"x"), ("file", b"y")), BOUNDARY, "several fields called `file`"),
        (b"--xyz--\r\n", BOUNDARY, "no field called `file`"),
        (form(("file", b"x")), "multipart/form-data; boundary=" + 900 * "x", "parts are malformed"),
    ],
)
def test_what_is_wrong_is_said(body: bytes, kind: str, words: str) -> None:
    with pytest.raises(Refusal, match=words) as caught:
        file_in_form(body, kind)
    assert caught.value.status == 400


@given(st.binary(max_size=200), st.text(st.characters(max_codepoint=255), max_size=40))  # as headers are
def test_any_bytes_are_a_form_or_refused(body: bytes, boundary: str) -> None:
    with suppress(Refusal):
        file_in_form(b"--" + body, f"multipart/form-data; boundary={boundary}")
