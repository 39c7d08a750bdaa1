"""A service in this process, without a network: its segmenter calls smoke what is bright."""

import asyncio
import io
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

import httpx
import numpy as np
from fastapi import FastAPI
from numpy.typing import NDArray
from PIL import Image

from smokescope.inference import Prediction
from smokescope.serve.app import create_app
from smokescope.serve.limits import Limits
from smokescope.serve.model import ModelAnswer, Verdicts
from smokescope.serve.server import bind, make_server
from smokescope.serve.service import Service

Result = TypeVar("Result")

MODEL = ModelAnswer(
    name="tiny.safetensors",
    sha256="0" * 64,
    threshold=0.5,
    architecture="smoke-bvm",
    parameters=1,
    temperature=1.0,
    input={"height": 64, "width": 64},
    verdicts=Verdicts(unsure_above=0.25, smoke_above=0.5, epistemic_above=0.2, least_area=0.0002),
    engine="PyTorch",
    device="cpu",
    smokescope="0",
)


class Brightness:
    """Calls smoke what is bright. It can be slow, held back, or made to fail on one width."""

    def __init__(self, seconds: float = 0.0, bad_width: int | None = None) -> None:
        self.seconds, self.bad_width = seconds, bad_width
        self.free = threading.Event()
        self.free.set()
        self.batches: list[list[tuple[int, ...]]] = []
        self.threads = set[int]()

    def many(self, pictures: Sequence[NDArray[np.uint8]], /) -> list[Prediction]:
        self.threads.add(threading.get_ident())
        assert self.free.wait(20)
        time.sleep(self.seconds if self.batches else 0.0)  # not while it warms up
        self.batches.append([each.shape for each in pictures])
        if any(each.shape[1] == self.bad_width for each in pictures):
            raise RuntimeError("/secret/path.py broke")
        return [predict(each) for each in pictures]


def predict(pixels: NDArray[np.uint8]) -> Prediction:
    probability = (pixels.mean(2) / 255).astype(np.float32)
    total = np.full_like(probability, 0.15)
    return Prediction(probability, probability > 0.5, total, total / 3, 2 * total / 3)


def png(width: int = 40, height: int = 30, level: int = 0, kind: str = "PNG") -> bytes:
    """A picture that is `level` all over but for a bright corner if it is 0."""
    pixels = np.full((height, width, 3), level, np.uint8)
    if level == 0:
        pixels[: height // 2, : width // 2] = 255
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


@asynccontextmanager
async def running(service: Service, app: FastAPI | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """The service's application, started, with a client that speaks to it."""
    app = app or create_app(service)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://x") as c,
    ):
        yield c


def in_service(
    work: Callable[[httpx.AsyncClient], Awaitable[Result]],
    segmenter: Brightness | None = None,
    token: str | None = None,
    limits: Limits | None = None,
) -> Result:
    """Do something with a fresh service."""

    async def main() -> Result:
        async with running(Service(segmenter or Brightness(), MODEL, limits or Limits(), token)) as client:
            return await work(client)

    return asyncio.run(main())


@contextmanager
def live(service: Service) -> Iterator[str]:
    """The service behind a real socket of this machine: its address."""
    server = make_server(service)
    with bind("127.0.0.1", 0) as taken:
        thread = threading.Thread(target=server.run, args=([taken],))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        thread.start()
        try:
            wait_until(lambda: is_ready(address), 60)
            yield address
        finally:
            server.stop()
            thread.join(30)
            assert not thread.is_alive()


def is_ready(address: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(address + "/readyz").status_code == 200
    return False


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Look again and again: a busy machine takes its time, an idle one loses none."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """The same where others must go on meanwhile."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.002)


def post(
    body: bytes,
    kind: str = "image/png",
    query: str = "",
    segmenter: Brightness | None = None,
    limits: Limits | None = None,
) -> httpx.Response:
    """Send one body to a fresh service."""

    async def work(client: httpx.AsyncClient) -> httpx.Response:
        return await client.post("/v1/segment" + query, content=body, headers={"content-type": kind})

    return in_service(work, segmenter, limits=limits)


def sentence(answer: httpx.Response) -> str:
    """A refusal's sentence, checked to be one."""
    told = json.loads(answer.text)
    assert told.keys() == {"status", "error"}
    assert told["status"] == answer.status_code
    assert "Traceback" not in answer.text
    assert "/secret" not in answer.text
    return str(told["error"])
