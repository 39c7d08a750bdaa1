"""The bytes of a picture out of a request, never more than allowed and never slower than allowed."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from starlette.requests import ClientDisconnect, Request

from smokescope.serve.forms import file_in_form
from smokescope.serve.limits import Limits
from smokescope.serve.refusals import Refusal, busy

PICTURE_TYPES = ("image/jpeg", "image/png", "image/webp")


class Bodies:
    """All request bodies in memory, counted together."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held = 0

    @contextmanager
    def counted(self) -> Iterator["Body"]:
        """One request's body; what it holds is given back at the end."""
        body = Body(self)
        try:
            yield body
        finally:
            self.held -= body.size


class Body:
    """One request's body."""

    def __init__(self, bodies: Bodies) -> None:
        self.bodies, self.size = bodies, 0

    async def picture(self, request: Request) -> bytes:
        """Read a picture's bytes, sent as they are or as a file of a form.

        Raises:
            Refusal: It is of the wrong type, too large, too slow, or no form that can be read.
        """
        header = request.headers.get("content-type", "")
        kind = header.partition(";")[0].strip().lower()
        if kind not in (*PICTURE_TYPES, "multipart/form-data"):
            given = f"was sent as {kind[:80]!r}" if kind else "came without a type"
            raise Refusal(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                f"the body {given}: send a picture's bytes as {', '.join(PICTURE_TYPES)}, or a form "
                "(multipart/form-data) with the picture as `file`",
            )
        data = await self._read(request)
        if kind == "multipart/form-data":
            data = file_in_form(data, header)
        if not data:
            raise Refusal(HTTPStatus.BAD_REQUEST, "the picture is empty: send its bytes")
        return data

    async def _read(self, request: Request) -> bytes:
        limits = self.bodies.limits
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > limits.body_bytes:
            raise self._too_large()
        chunks = []
        try:
            async with asyncio.timeout(limits.upload_seconds):
                async for chunk in request.stream():
                    self.size += len(chunk)
                    self.bodies.held += len(chunk)
                    if self.size > limits.body_bytes:
                        raise self._too_large()
                    if self.bodies.held > limits.held_bytes:
                        raise busy(
                            "too many large pictures are being uploaded at once: try again in a moment"
                        )
                    chunks.append(chunk)
        except TimeoutError:
            raise Refusal(
                HTTPStatus.REQUEST_TIMEOUT,
                f"the upload took longer than {limits.upload_seconds:g} seconds: "
                "send a smaller picture, or use a faster connection",
            ) from None
        except ClientDisconnect:  # nobody is left to read this
            raise Refusal(
                HTTPStatus.BAD_REQUEST, "the connection was closed before the picture was complete"
            ) from None
        return b"".join(chunks)

    def _too_large(self) -> Refusal:
        most = self.bodies.limits.body_bytes / 1e6
        return Refusal(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"the request has more than {most:g} MB, the limit here: send a smaller picture",
        )
