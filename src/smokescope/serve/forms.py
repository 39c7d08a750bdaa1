"""The one file in a multipart form, parsed in memory: nothing of a stranger's touches the disk."""

import logging
from http import HTTPStatus

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from smokescope.serve.refusals import Refusal

FIELD = "file"

logging.getLogger("python_multipart").setLevel(logging.ERROR)  # a stranger's bad form is no news


def file_in_form(body: bytes, content_type: str) -> bytes:
    """The bytes of the form's field `file`; other fields are passed over.

    Args:
        body: The whole form.
        content_type: The request's, which names the boundary between parts.

    Raises:
        Refusal: The form is malformed or cut short, or has no such field, or several.
    """
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if not boundary:
        raise _malformed("its content type names no boundary")
    form = _Form()
    try:
        parser = MultipartParser(
            boundary,
            {
                "on_part_begin": form.begin,
                "on_header_field": form.header_name,
                "on_header_value": form.header_value,
                "on_header_end": form.header_end,
                "on_headers_finished": form.headers_finished,
                "on_part_data": form.data,
                "on_end": form.end,
            },
        )
        parser.write(body)
    except FormParserError:
        raise _malformed("its parts are malformed") from None
    if not form.ended:
        raise _malformed("it is cut short")
    if len(form.files) != 1:
        count = "several fields" if form.files else "no field"
        raise Refusal(
            HTTPStatus.BAD_REQUEST, f"the form has {count} called `{FIELD}`: send one, the picture's file"
        )
    return bytes(form.files[0])


class _Form:
    """What the parser finds, piece by piece."""

    def __init__(self) -> None:
        self.files: list[bytearray] = []
        self.ended = False
        self._wanted = False
        self._name, self._value, self._headers = bytearray(), bytearray(), dict[bytes, bytes]()

    def begin(self) -> None:
        self._wanted = False
        self._headers = {}

    def header_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def header_end(self) -> None:
        self._headers[bytes(self._name).lower()] = bytes(self._value)
        self._name, self._value = bytearray(), bytearray()

    def headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._wanted = options.get(b"name") == FIELD.encode()
        if self._wanted:
            self.files.append(bytearray())

    def data(self, data: bytes, start: int, end: int) -> None:
        if self._wanted:
            self.files[-1] += memoryview(data)[start:end]

    def end(self) -> None:
        self.ended = True


def _malformed(why: str) -> Refusal:
    return Refusal(HTTPStatus.BAD_REQUEST, f"the form cannot be read: {why}")
