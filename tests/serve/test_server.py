"""Real sockets: clients that dawdle, flood, vanish or never listen, and the others who must not notice."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import httpx
import pytest

from smokescope.errors import SmokescopeError
from smokescope.serve.limits import Limits
from smokescope.serve.server import bind, make_server
from smokescope.serve.service import Service
from tests.serve.service import MODEL, Brightness, live, png, wait_until

LIMITS = Limits(head_seconds=1.0, upload_seconds=2.0, body_bytes=200_000)
PICTURE = {"content-type": "image/png"}


@pytest.fixture(scope="module")
def segmenter() -> Brightness:
    return Brightness()


@pytest.fixture(scope="module")
def service(segmenter: Brightness) -> Service:
    return Service(segmenter, MODEL, LIMITS)


@pytest.fixture(scope="module")
def address(service: Service) -> Iterator[str]:
    with live(service) as found:
        yield found


def connect(address: str, text: bytes = b"") -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    found = socket.create_connection((host, int(port)), timeout=8)
    found.sendall(text)
    return found


def head(length: int | None) -> bytes:
    size = b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length
    return b"POST /v1/segment HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\n" + size + b"\r\n\r\n"


def everything(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    data = b""
    with suppress(ConnectionResetError):
        while more := connection.recv(65536):
            data += more
    return data


def seconds_until_cut_off(connection: socket.socket, text: bytes, pause: float = 0.0) -> float:
    """How long one may go on sending the same, 10 at most."""
    started = time.monotonic()
    with suppress(OSError):
        while time.monotonic() - started < 10:
            connection.sendall(text)
            time.sleep(pause)
    return time.monotonic() - started


def is_served(address: str) -> bool:
    return httpx.post(address + "/v1/segment", content=png(), headers=PICTURE).status_code == 200


@pytest.mark.parametrize("text", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-A: "])
def test_who_never_finishes_asking_is_cut_off(address: str, text: bytes) -> None:
    with connect(address, text) as slow:
        assert everything(slow) == b""
    assert is_served(address)


def test_two_services_in_one_process_have_clocks_of_their_own(address: str) -> None:
    with live(Service(Brightness(), MODEL, Limits())), connect(address) as slow:
        assert everything(slow) == b""  # within the second that this one gives, not the other's ten
    assert is_served(address)


def test_a_byte_now_and_then_does_not_help(address: str) -> None:
    with connect(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") as slow:
        assert slow.recv(12) == b"HTTP/1.1 200"  # a first request is quick, and answered
        assert seconds_until_cut_off(slow, b"G", pause=0.05) < 5


@pytest.mark.parametrize("length", [1000, None])
def test_a_body_that_does_not_arrive_in_time(address: str, length: int | None) -> None:
    with connect(address, head(length) + (b"5\r\nhello\r\n" if length is None else b"hello")) as slow:
        answer = everything(slow)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in answer.lower()
    assert b"the upload took longer than 2 seconds" in answer


def test_many_who_dawdle_keep_nobody_waiting() -> None:
    service = Service(Brightness(), MODEL, Limits(upload_seconds=60))
    with live(service) as address, ExitStack() as slow:
        for _ in range(100):
            slow.enter_context(connect(address, head(1000) + b"x"))
        wait_until(lambda: service.bodies.held == 100)
        assert is_served(address)
        assert service.bodies.held == 100


def test_too_large_is_heard_by_who_sends_on_without_listening(address: str) -> None:
    with connect(address, head(4_000_000)) as stubborn:
        for _ in range(40):
            stubborn.sendall(bytes(100_000))
        assert everything(stubborn).startswith(b"HTTP/1.1 413")


def test_too_large_begins_a_byte_above_the_limit_and_is_told_before_it_is_sent(address: str) -> None:
    whole = png().ljust(LIMITS.body_bytes, b"\0")  # what follows a picture does not matter
    assert httpx.post(address + "/v1/segment", content=whole, headers=PICTURE).status_code == 200
    with connect(address, head(LIMITS.body_bytes + 1)) as announced:
        assert announced.recv(100).startswith(b"HTTP/1.1 413")


def test_an_endless_body_is_cut_off(address: str) -> None:
    with connect(address, head(None)) as endless:
        assert seconds_until_cut_off(endless, b"2710\r\n" + bytes(10_000) + b"\r\n") < 8
    assert is_served(address)


def test_who_never_takes_the_answer_is_cut_off(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)  # else the system may listen to it all
        deaf.connect((host, int(port)))
        deaf.settimeout(0.2)
        with suppress(TimeoutError, ConnectionError):  # many answers, more than buffers hold
            deaf.sendall(b"GET /app.js HTTP/1.1\r\nHost: x\r\n\r\n" * 2000)
        time.sleep(3 * LIMITS.head_seconds)
        deaf.settimeout(10)
        assert everything(deaf).count(b"HTTP/1.1 200 OK") < 1500
    assert is_served(address)


def test_who_listens_slowly_is_not(address: str) -> None:
    ask, started, data = b"GET /app.js HTTP/1.1\r\nHost: x\r\n", time.monotonic(), b""
    count = 1500  # answers: more than buffers hold
    hundredth = count // 100 * len(httpx.get(address + "/app.js").content)
    with connect(address, (ask + b"\r\n") * (count - 1) + ask + b"Connection: close\r\n\r\n") as slow:
        while more := slow.recv(hundredth):
            data += more
            time.sleep(0.02 * LIMITS.head_seconds)
    assert data.count(b"HTTP/1.1 200 OK") == count
    assert time.monotonic() - started > 1.5 * LIMITS.head_seconds


def test_nobody_works_for_who_has_gone(address: str, segmenter: Brightness, service: Service) -> None:
    segmenter.free.clear()
    segmenter.batches.clear()
    before = service.engine.batches
    with ThreadPoolExecutor(2) as pool:
        plugs = [
            pool.submit(httpx.post, address + "/v1/segment", content=png(width), headers=PICTURE)
            for width in (71, 72)
        ]
        wait_until(lambda: service.engine.batches == before + 1 and service.engine.depth == 1)
        wait_until(lambda: service.engine.waiting == 0)  # each a batch: both places are taken
        body = png(73)
        hasty = connect(address, head(len(body)) + body)
        wait_until(lambda: service.engine.waiting == 1)
        hasty.close()
        wait_until(lambda: service.engine.waiting == 0)
        segmenter.free.set()
        assert [plug.result().status_code for plug in plugs] == [200, 200]
    assert is_served(address)
    assert service.figures.requests["/v1/segment", 504] == 0  # no answer was late
    assert 73 not in {shape[1] for batch in segmenter.batches for shape in batch}


def test_who_dawdles_does_not_keep_it_from_stopping_for_long() -> None:
    service = Service(Brightness(), MODEL, Limits(upload_seconds=60, grace=0.1))
    with ExitStack() as slow, live(service) as address:  # whose end comes first, and in half of that time
        slow.enter_context(connect(address, head(1000) + b"x"))
        wait_until(lambda: service.present == 1)


def test_it_is_announced_when_it_answers_and_not_where_the_model_fails_at_once() -> None:
    heard: list[bytes] = []

    def announce() -> None:
        with connect(f"http://127.0.0.1:{taken.getsockname()[1]}"):
            heard.append(b"connected")
        server.stop()

    with bind("127.0.0.1", 0) as taken:
        server = make_server(Service(Brightness(), MODEL, LIMITS), announce)
        server.run([taken])
    assert heard == [b"connected"]
    server = make_server(Service(Brightness(bad_width=64), MODEL, LIMITS), announce)
    with bind("127.0.0.1", 0) as taken, pytest.raises(SystemExit) as ended:
        server.run([taken])
    assert ended.value.code
    assert heard == [b"connected"]


def test_nobody_is_told_by_what_it_is_served(address: str) -> None:
    assert "server" not in httpx.get(address + "/livez").headers


def test_what_is_no_http_is_refused(address: str) -> None:
    with connect(address, b"\x16\x03\x01 hello\r\n\r\n") as odd:
        lines, _, body = everything(odd).partition(b"\r\n\r\n")
    assert lines.startswith(b"HTTP/1.1 400")
    assert json.loads(body)["status"] == 400


def test_who_asks_for_websockets_is_answered_as_everybody(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    upgrade = {"connection": "upgrade", "upgrade": "websocket"}
    assert httpx.get(address + "/livez", headers=upgrade).status_code == 200
    assert "WebSocket" not in caplog.text


def test_an_address_that_is_taken_or_no_address_is_told() -> None:
    with bind("127.0.0.1", 0) as taken:
        assert taken.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)  # as a restart needs it
        with pytest.raises(SmokescopeError, match="address already in use; try another --port"):
            bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(SmokescopeError, match=r"no\.such\.host\.invalid is not an address"):
        bind("no.such.host.invalid", 0)
