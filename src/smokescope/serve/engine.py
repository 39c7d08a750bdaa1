"""From waiting pictures to answers: one thread owns the model, and pictures of one size go to it together.

A picture waits as the bytes it came in. Only two batches are decoded at any time, one being worked on by the
model while the other is read or answered: however long the queue, memory stays flat.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from smokescope.data.pictures import picture_from_bytes
from smokescope.errors import SmokescopeError
from smokescope.inference import Prediction
from smokescope.inference.engines.maps import Pixels
from smokescope.inference.regions import Verdict
from smokescope.inference.segmenter import BATCH_PIXELS
from smokescope.serve.headers import Size, check_header
from smokescope.serve.limits import Limits

log = logging.getLogger("smokescope.serve")

Result = TypeVar("Result")


class Predictor(Protocol):
    """The part of a `Segmenter` that is used here."""

    def many(self, pictures: Sequence[Pixels], /) -> list[Prediction]:
        """Predict many pictures."""
        ...


class Full(Exception):  # noqa: N818 (a state, not an accident)
    """No more pictures may wait."""


@dataclass(frozen=True)
class Timings:
    """Seconds: waiting for a place or for the model, reading the picture, and in the model with its batch."""

    wait: float
    decode: float
    predict: float
    batch: int


class Answered(NamedTuple):
    """What is sent, and what it comes to."""

    body: bytes
    verdict: Verdict


Render = Callable[[Pixels, Prediction, Timings], bytes]
"""Makes an answer of a prediction; it runs in a thread."""


@dataclass(eq=False)
class Job:
    """A picture on its way; whoever no longer wants the answer cancels it."""

    data: bytes
    size: Size
    render: Render
    answer: asyncio.Future[Answered]
    arrived: float = field(default_factory=time.perf_counter)


class Engine:
    """The queue, and what works it off.

    Args:
        segmenter: Called from one thread only.
        limits: How many may wait, how many go together.
    """

    def __init__(self, segmenter: Predictor, limits: Limits) -> None:
        self.limits = limits
        self.batches = 0
        self._segmenter = segmenter
        self._queue = deque[Job]()
        self._arrived = asyncio.Event()
        self._room = asyncio.Semaphore(2)
        self._turn = asyncio.Lock()
        self._read = list[Job]()  # decoded, and not the model's yet
        self._working = set[asyncio.Task[None]]()
        self._loop: asyncio.Task[None] | None = None
        self._since: float | None = None
        # One reader: batches are decoded, and so come to the model, in their order.
        self._reader = ThreadPoolExecutor(1, "read")
        self._model = ThreadPoolExecutor(1, "model")
        self._writers = ThreadPoolExecutor(2, "answer")

    @property
    def waiting(self) -> int:
        """Pictures in the queue."""
        return sum(not job.answer.done() for job in self._queue)

    @property
    def depth(self) -> int:
        """Pictures that wait for the model: those in the queue, and the batch that is decoded ahead."""
        return self.waiting + sum(not job.answer.done() for job in self._read)

    @property
    def running(self) -> bool:
        """Whether pictures are worked on at all."""
        return self._loop is not None and not self._loop.done()

    @property
    def stuck_for(self) -> float:
        """Seconds that the model has been busy with the present batch; 0 when idle."""
        return 0.0 if self._since is None else time.perf_counter() - self._since

    async def start(self) -> None:
        """Begin to work off the queue; the model sees a first small picture, which may take it longer."""
        blank = np.zeros((64, 64, 3), np.uint8)
        await _in(self._model, lambda: self._segmenter.many([blank]))
        self._loop = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Finish what is being worked on; what waits is dropped."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait([self._loop])
        if self._working:
            await asyncio.wait(self._working)
        for job in self._queue:
            job.answer.cancel()
        for pool in (self._reader, self._model, self._writers):
            pool.shutdown()

    async def check(self, data: bytes) -> Size:
        """As `check_header`, in the thread that reads pictures: a hostile header can take its time."""
        return await _in(self._reader, lambda: check_header(data, self.limits.pixels))

    def submit(self, data: bytes, size: Size, render: Render) -> asyncio.Future[Answered]:
        """Put a picture into the queue.

        Returns:
            The answer to come; a `SmokescopeError` if the picture turns out to be damaged.

        Raises:
            Full: Too many wait already.
        """
        if self.waiting >= self.limits.queue:
            raise Full
        answer = asyncio.get_running_loop().create_future()
        self._queue.append(Job(data, size, render, answer))
        self._arrived.set()
        return answer

    async def _run(self) -> None:
        while True:
            await self._room.acquire()
            task = asyncio.create_task(self._work(await self._gather()))
            self._working.add(task)
            task.add_done_callback(self._worked)

    def _worked(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        self._room.release()

    async def _gather(self) -> list[Job]:
        """The picture that has waited longest, and others of its size, for which it waits a moment."""
        while True:
            self._queue = deque(job for job in self._queue if not job.answer.done())
            self._arrived.clear()
            if not self._queue:
                await self._arrived.wait()
                continue
            first = self._queue[0]
            width, height = first.size
            most = max(1, min(self.limits.batch, BATCH_PIXELS // (width * height)))
            batch = [job for job in self._queue if job.size == first.size][:most]
            left = first.arrived + self.limits.gather_seconds - time.perf_counter()
            if len(batch) == most or left <= 0:
                self._queue = deque(job for job in self._queue if job not in batch)
                return batch
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._arrived.wait()

    async def _work(self, batch: list[Job]) -> None:
        taken = time.perf_counter()
        read = await asyncio.gather(*(self._decode(job) for job in batch))
        decoded = time.perf_counter()
        self._read += batch
        async with self._turn:
            self._read = [job for job in self._read if job not in batch]
            good = [  # who has hung up meanwhile keeps nobody waiting
                (job, pixels)
                for job, pixels in zip(batch, read, strict=True)
                if pixels is not None and not job.answer.done()
            ]
            self.batches += bool(good)
            begun = time.perf_counter()
            predictions = await self._predict([pixels for _, pixels in good])
            predicted = time.perf_counter()

        async def answer(job: Job, pixels: Pixels, prediction: Prediction | None) -> None:
            if prediction is None:
                _fail(job, RuntimeError("the model failed"))
            elif not job.answer.done():
                waited = taken - job.arrived + begun - decoded
                timings = Timings(waited, decoded - taken, predicted - begun, len(good))
                try:  # the verdict there too: it takes looking for regions, seconds of a large picture
                    answered = await _in(
                        self._writers,
                        lambda: Answered(job.render(pixels, prediction, timings), prediction.verdict),
                    )
                except Exception as error:
                    _fail(job, error)
                else:
                    if not job.answer.done():
                        job.answer.set_result(answered)

        await asyncio.gather(*(answer(*pair, each) for pair, each in zip(good, predictions, strict=True)))

    async def _decode(self, job: Job) -> Pixels | None:
        try:
            return await _in(self._reader, lambda: picture_from_bytes(job.data))
        except SmokescopeError as error:
            _fail(job, error)
            return None

    async def _predict(self, pictures: list[Pixels]) -> Sequence[Prediction | None]:
        """A prediction for each; None where the model failed, which spoils nothing for the rest of it."""
        if not pictures:
            return []
        try:
            return await _in(self._model, lambda: self._timed(pictures))
        except Exception:
            if len(pictures) > 1:
                alone = [await self._predict([each]) for each in pictures]
                return [prediction for each in alone for prediction in each]
            log.exception("the model failed on a picture of %s", pictures[0].shape)
            return [None]

    def _timed(self, pictures: list[Pixels]) -> list[Prediction]:
        self._since = time.perf_counter()
        try:
            return self._segmenter.many(pictures)
        finally:
            self._since = None


async def _in(pool: ThreadPoolExecutor, work: Callable[[], Result]) -> Result:
    return await asyncio.get_running_loop().run_in_executor(pool, work)


def _fail(job: Job, error: Exception) -> None:
    if not job.answer.done():
        job.answer.set_exception(error)
