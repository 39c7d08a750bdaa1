"""HTTP/1.1 with a clock: who dawdles over asking, or over listening, is cut off.

A request's body has a time limit of its own, where it is read.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from smokescope.serve.refusals import problem


class Protocol(H11Protocol):
    """One connection.

    Attributes:
        patience: Seconds for a request's first lines to arrive, and for any of an answer to be taken.
    """

    patience = 10.0
    _asking: asyncio.TimerHandle | None = None
    _listening: asyncio.TimerHandle | None = None
    _took = False  # whether enough was taken, since the clock was started, to go on writing

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, and should say what they want."""
        super().connection_made(transport)
        self._wait_for_request()

    def data_received(self, data: bytes) -> None:
        """Some bytes came: part of a request's head, or of its body."""
        super().data_received(data)
        self._wait_for_request()

    def pause_writing(self) -> None:
        """Much of an answer was not taken yet."""
        super().pause_writing()
        self._wait_for_listener()

    def resume_writing(self) -> None:
        """Most of what was written has been taken."""
        super().resume_writing()
        self._took = True

    def on_response_complete(self) -> None:
        """An answer was given whole; it should be taken whole."""
        super().on_response_complete()
        self._wait_for_listener()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP request, as all else that is refused."""
        refusal = problem(400, "this is not a readable HTTP request: use another client")
        head = h11.Response(status_code=400, headers=[*refusal.raw_headers, (b"connection", b"close")])
        for event in (head, h11.Data(data=bytes(refusal.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: uvicorn would advise to install WebSockets, which no address here speaks."""

    def connection_lost(self, exc: Exception | None) -> None:
        """They are gone."""
        for clock in (self._asking, self._listening):
            if clock is not None:
                clock.cancel()
        super().connection_lost(exc)

    def _wait_for_request(self) -> None:
        if self._answering():
            if self._asking is not None:
                self._asking.cancel()
                self._asking = None
        elif self._asking is None:  # further bytes of the same head do not turn the clock back
            self._asking = self.loop.call_later(self.patience, self._never_asked)

    def _never_asked(self) -> None:
        self._asking = None
        if not self._answering():
            self.transport.abort()

    def _wait_for_listener(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent and self._listening is None:
            self._took = False
            self._listening = self.loop.call_later(self.patience, self._check_listener, unsent)

    def _check_listener(self, before: int) -> None:
        self._listening = None
        if self.transport.get_write_buffer_size() >= before and not self._took:
            self.transport.abort()
        else:
            self._wait_for_listener()  # slow, but listening

    def _answering(self) -> bool:
        cycle: object = self.cycle  # None before the first request, whatever its type says
        return cycle is not None and not self.cycle.response_complete
