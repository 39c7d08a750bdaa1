"""The service as a process of its own: load, SIGTERM in the middle of work, SIGKILL and a fresh start."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from smokescope.checkpoints.model import load_model, save_model
from smokescope.models import InputSettings, Pipeline
from tests.models.small import small_bvm
from tests.serve.service import is_ready, png, wait_until
from tests.serve.test_figures import samples

PICTURE = {"content-type": "image/png"}
ROOT = Path(__file__).parents[2]
FAKE = """
import sys
from tests.serve.service import MODEL, Brightness
from smokescope.serve.limits import Limits
from smokescope.serve.server import bind, make_server
from smokescope.serve.service import Service
seconds, queue, grace = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
with bind("127.0.0.1", 0) as taken:
    print("on http://127.0.0.1:%d " % taken.getsockname()[1], flush=True)
    make_server(Service(Brightness(seconds), MODEL, Limits(queue=queue, grace=grace))).run([taken])
"""


@contextmanager
def process(*command: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running service and its address; it is killed in the end if it is still there."""
    started = subprocess.Popen(
        list(map(str, command)),
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert started.stdout
        line = started.stdout.readline()
        assert "on http://" in line, line
        address = line.split("on ")[1].split()[0]
        wait_until(lambda: is_ready(address), 60)
        yield started, address
    finally:
        started.kill()
        started.communicate()


@contextmanager
def fake(
    seconds: float = 0.0, queue: int = 64, grace: float = 60.0
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with process(sys.executable, "-c", FAKE, seconds, queue, grace) as found:
        yield found


def memory(pid: int) -> int:
    """Bytes resident."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


async def flood(address: str, count: int) -> list[dict[str, Any]]:
    """So many requests at once, each of a picture of its own; 503 is heeded."""
    host, port = address.removeprefix("http://").split(":")

    async def send(number: int) -> dict[str, Any]:
        body = png(160 + number // 256, 120, 1 + number % 255)
        head = f"POST /v1/segment HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
        while True:  # by hand: a client library with 500 connections is slower than the service
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(head.encode() + b"Content-Type: image/png\r\n\r\n" + body)
            lines, _, told = (await reader.read()).partition(b"\r\n\r\n")
            writer.close()
            if lines.startswith(b"HTTP/1.1 200 "):
                return dict(json.loads(told))
            assert lines.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 1" in lines
            await asyncio.sleep(0.2)

    return await asyncio.gather(*map(send, range(count)))


@pytest.mark.skipif(not Path("/proc").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("queue", [500, 100])
def test_500_at_once_lose_no_answer_and_memory_stays_flat(queue: int) -> None:
    with fake(queue=queue) as (server, address):
        asyncio.run(flood(address, 500))
        before = memory(server.pid)
        for number, told in enumerate(asyncio.run(flood(address, 500))):  # each has its own picture's answer
            assert told["mean"]["probability"] == pytest.approx((1 + number % 255) / 255, abs=1e-5)
            assert told["width"] == 160 + number // 256
        assert memory(server.pid) - before < 30e6
        figures = samples(httpx.get(address + "/metrics").text)
        assert figures["smokescope_segment_seconds_count", ()] == 1000
        assert figures["smokescope_batches_total", ()] < 1000


def test_sigterm_finishes_what_is_running_and_refuses_the_rest() -> None:
    async def work(server: subprocess.Popen[str], address: str) -> None:
        async with httpx.AsyncClient(base_url=address, timeout=30) as client:

            async def send() -> httpx.Response:
                return await client.post("/v1/segment", content=png(), headers=PICTURE)

            async def figure(name: str) -> float:
                return samples((await client.get("/metrics")).text)[name, ()]

            running = asyncio.create_task(send())
            while not await figure("smokescope_batches_total"):
                await asyncio.sleep(0.05)
            server.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.5)  # it looks ten times a second whether it is done
            while (await client.get("/readyz")).status_code != 503:
                await asyncio.sleep(0.05)
            assert (await client.get("/livez")).status_code == 200
            refused = await send()
            assert refused.status_code == 503
            assert "shutting down" in refused.json()["error"]
            assert not running.done()
            assert (await running).status_code == 200

    with fake(seconds=4) as (server, address):
        asyncio.run(work(server, address))
        assert server.wait(20) == 0
        with pytest.raises(httpx.TransportError):
            httpx.get(address + "/livez")


def test_told_twice_it_goes_at_once() -> None:
    with fake(seconds=30) as (server, address):
        with pytest.raises(httpx.TransportError), httpx.Client(timeout=0.3) as client:
            client.post(address + "/v1/segment", content=png(), headers=PICTURE)
        server.send_signal(signal.SIGINT)
        wait_until(lambda: not is_ready(address))
        server.send_signal(signal.SIGINT)
        assert server.wait(15) == 1


def test_a_model_that_hangs_does_not_keep_it_for_ever() -> None:
    with fake(seconds=300, grace=0.5) as (server, address):
        with pytest.raises(httpx.TransportError), httpx.Client(timeout=0.3) as client:
            client.post(address + "/v1/segment", content=png(), headers=PICTURE)
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 1


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny.safetensors"
    save_model(Pipeline(small_bvm(), InputSettings(height=64, width=64), 1.5), path)
    return path


def test_the_command_survives_being_killed(model: Path) -> None:
    port = "0"
    for _ in range(2):  # the second time at the same address, at once
        command = [sys.executable, "-m", "smokescope", "serve", "--model", model, "--device", "cpu", "--port"]
        with process(*command, port, SMOKESCOPE_TOKEN="a-token-from-the-environment") as (server, address):
            port = address.rsplit(":", 1)[1]
            assert httpx.get(address + "/v1/model").status_code == 401
            key = {"authorization": "Bearer a-token-from-the-environment"}
            told = httpx.get(address + "/v1/model", headers=key).json()
            assert (told["name"], len(told["sha256"]), told["device"]) == ("tiny.safetensors", 64, "cpu")
            assert (told["architecture"], told["temperature"]) == ("smoke-bvm", 1.5)
            assert told["parameters"] == sum(each.numel() for each in load_model(model).parameters())
            answer = httpx.post(
                address + "/v1/segment", content=png(), headers={**key, **PICTURE}, timeout=30
            )
            assert answer.json().keys() >= {"verdict", "regions", "model", "timings", "width", "height"}
            assert str(model.parent) not in answer.text
            server.send_signal(signal.SIGKILL)
            assert server.wait(10) == -signal.SIGKILL
