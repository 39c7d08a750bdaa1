"""How much of anybody's time and memory a stranger may take, and who may ask at all."""

import ipaddress
from dataclasses import dataclass

from smokescope.errors import SmokescopeError

SHORTEST_TOKEN = 16


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request may cost, and all of them together.

    Attributes:
        body_bytes: Most bytes of one request's body, counted while they arrive.
        held_bytes: Most bytes of all bodies in memory at once, those still arriving included.
        pixels: Most pixels of one picture, read from its header before anything is decoded.
        upload_seconds: Seconds for a body to arrive whole.
        head_seconds: Seconds for a request's first lines to arrive, and for a client to take its answer.
        queue: Most pictures that may wait.
        batch: Most pictures of one size that the model sees at once.
        gather_seconds: Seconds that the first of a batch waits for others.
        deadline: Seconds from a picture's arrival to its answer.
        grace: Seconds that running requests get to finish when the service is told to stop.
    """

    body_bytes: int = 25_000_000
    held_bytes: int = 500_000_000
    pixels: int = 30_000_000
    upload_seconds: float = 30.0
    head_seconds: float = 10.0
    queue: int = 64
    batch: int = 8
    gather_seconds: float = 0.005
    deadline: float = 30.0
    grace: float = 60.0


def is_loopback(host: str) -> bool:
    """Whether only this machine itself can reach an address; a name but localhost may mean anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_access(host: str, token: str | None) -> None:
    """Refuse to open a door to others without a key, or with one that is easily guessed.

    Raises:
        SmokescopeError: There should be a token and there is none, or it is no good.
    """
    if token is None:
        if is_loopback(host):
            return
        raise SmokescopeError(
            f"{host} can be reached from other machines: set a token with --token-file or SMOKESCOPE_TOKEN, "
            "or leave --host out to serve this machine alone"
        )
    if len(token) < SHORTEST_TOKEN or not all("!" <= letter <= "~" for letter in token):
        raise SmokescopeError(
            f"the token must be {SHORTEST_TOKEN} or more ASCII letters, digits and signs without spaces: "
            "`openssl rand -hex 24` makes a good one"
        )
