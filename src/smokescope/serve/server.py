"""Running the service: a socket, uvicorn on it, and an orderly end."""

import os
import socket
import threading
import time
from collections.abc import Callable
from types import FrameType

import uvicorn

from smokescope.errors import SmokescopeError
from smokescope.serve.app import create_app
from smokescope.serve.protocol import Protocol
from smokescope.serve.service import Service

CLOSING = 5  # seconds that connections get to close, after the grace


def bind(host: str, port: int) -> socket.socket:
    """Take an address, without answering there yet: clients wait.

    Raises:
        SmokescopeError: It is taken, not ours to take, or no address of this machine.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise SmokescopeError(f"{host} is not an address of this machine: try 127.0.0.1") from None
    taken = socket.socket(family, kind)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # or a restart would have to wait minutes
    try:
        taken.bind(address)
        taken.listen()  # until one does, Linux lets a second service have the same address
    except OSError as error:
        taken.close()
        reason = (error.strerror or "it cannot be taken").lower()
        raise SmokescopeError(f"cannot serve on {host} port {port}: {reason}; try another --port") from None
    return taken


def make_server(service: Service, announce: Callable[[], None] = lambda: None) -> "Server":
    """A server; its `run([socket])` serves until told to stop by SIGTERM or Ctrl-C, or `stop()`.

    Args:
        service: To serve.
        announce: Called when it answers.
    """
    protocol = type("TimedProtocol", (Protocol,), {"patience": service.limits.head_seconds})
    config = uvicorn.Config(
        create_app(service),
        http=protocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,  # lines go to whoever set logging up
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=CLOSING,
    )
    return Server(config, service, announce)


class Server(uvicorn.Server):
    """Told to stop, it turns new work away and finishes what it has; told twice, it goes."""

    def __init__(self, config: uvicorn.Config, service: Service, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self.service, self.announce = service, announce
        self.until = 0.0
        # threads cannot be told to stop, and one whose model hangs would keep the process for ever
        self._last_resort = threading.Timer(service.limits.grace + 2 * CLOSING, os._exit, (1,))
        self._last_resort.daemon = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self.announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal to stop."""
        if self.service.closing:
            os._exit(1)  # nothing is on disk that could be left half-done
        self._last_resort.start()
        self.stop()

    def stop(self) -> None:
        """Stop; the rest happens at the next tick."""
        self.service.closing = True
        self.until = time.monotonic() + self.service.limits.grace

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close connections, and let the model finish."""
        await super().shutdown(sockets)
        self._last_resort.cancel()

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if self.service.closing and (self.service.present == 0 or time.monotonic() > self.until):
            self.should_exit = True
        return await super().on_tick(counter)
