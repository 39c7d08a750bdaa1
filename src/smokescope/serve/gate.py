"""What every request and answer passes through, outside of any endpoint."""

import asyncio
import logging
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smokescope.serve.figures import Figures
from smokescope.serve.refusals import problem

log = logging.getLogger("smokescope.serve")

HEADERS = {
    # blob: is a picture that the page was given; it never leaves the browser but to this service
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LINGER = 2.0  # seconds that a refused client may go on sending before it is cut off


class Gate:
    """Puts safe headers on every answer, counts it, tells of what broke, and makes sure that it is heard.

    A client that is refused before its body is read may still be sending it; if the connection were closed
    under it, it would see that and not the refusal. So what it sends is thrown away for a moment, and it has
    to open a new connection for its next request.
    """

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self.app, self.figures = app, figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        sending = _has_body(scope)
        answered = linger = gone = False

        async def watched() -> Message:
            nonlocal sending, gone
            message = await receive()
            gone = message["type"] == "http.disconnect"
            sending = bool(message.get("more_body", False))
            return message

        async def answer(message: Message) -> None:
            nonlocal answered, linger
            if message["type"] == "http.response.start":
                answered, linger = True, sending
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if linger:
                    headers["Connection"] = "close"
                if not gone:  # else nobody is answered, and no limit was reached either
                    self._count(scope, message["status"], time.perf_counter() - started)
            elif linger and not message.get("more_body", False):
                await send({**message, "more_body": True})
                await _throw_away(receive)
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        try:
            await self.app(scope, watched, answer)
        except Exception:
            log.exception("a request to %s broke", getattr(scope.get("route"), "path", "an unknown address"))
            if answered:
                raise  # half an answer is out; the server closes the connection
            sorry = "the service failed, through no fault of yours: its log says why"
            await problem(500, sorry)(scope, watched, answer)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        path = getattr(scope.get("route"), "path", "other")  # a stranger's own words are no label
        self.figures.requests[path, status] += 1
        if path == "/v1/segment" and status == 200:
            self.figures.seconds.add(seconds)


def _has_body(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


async def _throw_away(receive: Receive) -> None:
    try:
        async with asyncio.timeout(LINGER):
            while (await receive()).get("more_body", False):
                await asyncio.sleep(0)  # others have their turn, however fast it comes
    except TimeoutError:
        pass
