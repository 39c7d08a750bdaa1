"""The queue: pictures of one size go together, in order, on one thread, and nobody's trouble is another's."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable

import pytest

from smokescope.data.pictures import picture_from_bytes
from smokescope.errors import SmokescopeError
from smokescope.inference import Prediction
from smokescope.inference.engines.maps import Pixels
from smokescope.inference.regions import Region
from smokescope.serve.answers import json_answer
from smokescope.serve.engine import Answered, Engine, Full, Timings
from smokescope.serve.limits import Limits
from tests.serve.service import MODEL, Brightness, png, until

Work = Callable[[Engine], Awaitable[None]]


def render(_: Pixels, prediction: Prediction, timings: Timings) -> bytes:
    return json.dumps([round(float(prediction.probability[-1, -1]) * 255), timings.batch]).encode()


def submit(engine: Engine, level: int, width: int = 40) -> asyncio.Future[Answered]:
    return engine.submit(png(width, 30, level), (width, 30), render)


def with_engine(segmenter: Brightness, work: Work, **limits: float) -> None:
    async def main() -> None:
        engine = Engine(segmenter, Limits(**limits))  # type: ignore[arg-type]
        await engine.start()
        segmenter.batches.clear()
        try:
            await work(engine)
        finally:
            segmenter.free.set()
            await engine.stop()

    asyncio.run(main())


def test_those_of_one_size_go_together_and_the_oldest_first() -> None:
    segmenter = Brightness()

    async def work(engine: Engine) -> None:
        segmenter.free.clear()
        plug = [submit(engine, 9, width=5), submit(engine, 9, width=6)]  # both places are taken
        await until(lambda: engine.waiting == 0)
        jobs = [submit(engine, level, 40 if level % 2 else 50) for level in range(1, 8)]
        segmenter.free.set()
        answers = [json.loads((await job).body) for job in jobs]
        assert [level for level, _ in answers] == list(range(1, 8))
        assert [batch for _, batch in answers] == [3, 3, 3, 3, 3, 3, 1]
        await asyncio.gather(*plug)

    with_engine(segmenter, work, batch=3)
    assert [len(batch) for batch in segmenter.batches] == [1, 1, 3, 3, 1]
    assert [batch[0][1] for batch in segmenter.batches[2:]] == [40, 50, 40]
    assert len(segmenter.threads) == 1


def test_regions_are_found_in_a_thread_and_not_where_everybody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set[str]()

    def find(*_: object) -> list[Region]:
        threads.add(threading.current_thread().name)
        return []

    monkeypatch.setattr("smokescope.inference.prediction.find_regions", find)

    async def work(engine: Engine) -> None:
        assert (await submit(engine, 1)).verdict == "nothing"  # an answer that asks for no regions

    with_engine(Brightness(), work)
    assert {name.partition("_")[0] for name in threads} == {"answer"}


def test_the_first_waits_a_moment_for_others() -> None:
    segmenter = Brightness()

    async def work(engine: Engine) -> None:
        first = submit(engine, 1)
        await asyncio.sleep(0.05)
        await asyncio.gather(first, submit(engine, 2))
        assert engine.stuck_for == 0  # idle is not stuck, for however long

    with_engine(segmenter, work, gather_seconds=2.0, batch=2)
    assert [len(batch) for batch in segmenter.batches] == [2]


def test_large_pictures_go_in_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smokescope.serve.engine.BATCH_PIXELS", 2 * 40 * 30)
    segmenter = Brightness()

    async def work(engine: Engine) -> None:
        await asyncio.gather(*(submit(engine, level) for level in range(1, 6)))

    with_engine(segmenter, work, gather_seconds=0.5, batch=8)
    assert [len(batch) for batch in segmenter.batches] == [2, 2, 1]


def test_time_in_the_queue_is_told_as_that_in_milliseconds() -> None:
    segmenter = Brightness()

    def tell(_: Pixels, prediction: Prediction, timings: Timings) -> bytes:
        return json_answer(prediction, timings, 0.5, MODEL, maps=False, side=None)

    async def work(engine: Engine) -> None:
        segmenter.free.clear()
        plug = [submit(engine, 9, width=5), submit(engine, 9, width=6)]  # both places are taken
        await until(lambda: engine.waiting == 0)
        job = engine.submit(png(), (40, 30), tell)
        await asyncio.sleep(0.3)
        segmenter.free.set()
        told = json.loads((await job).body)["timings"]
        assert told["upload"] == 500
        assert told["wait"] >= 300
        await asyncio.gather(*plug)

    with_engine(segmenter, work)


def test_time_until_the_model_is_free_is_waiting_too() -> None:
    segmenter = Brightness()

    def tell(_: Pixels, prediction: Prediction, timings: Timings) -> bytes:
        return json.dumps([timings.wait, timings.predict]).encode()

    async def work(engine: Engine) -> None:
        segmenter.free.clear()
        jobs = [engine.submit(png(width), (width, 30), tell) for width in (5, 6)]
        await until(lambda: engine.depth == 1)  # the second is decoded, and waits for the model
        await asyncio.sleep(0.3)
        segmenter.free.set()
        (_, first), (wait, second) = [json.loads((await job).body) for job in jobs]
        assert first >= 0.3
        assert wait >= 0.3 > second

    with_engine(segmenter, work)


def test_who_hangs_up_before_the_model_is_free_costs_it_nothing() -> None:
    segmenter = Brightness()

    async def work(engine: Engine) -> None:
        segmenter.free.clear()
        running = submit(engine, 1, width=5)
        gone = submit(engine, 1, width=6)
        await until(lambda: engine.waiting == 0 and engine.depth == 1)
        gone.cancel()
        assert engine.depth == 0
        segmenter.free.set()
        await asyncio.gather(running, submit(engine, 1, width=7))

    with_engine(segmenter, work)
    assert [batch[0][1] for batch in segmenter.batches] == [5, 7]


def test_a_full_queue_refuses_and_a_cancelled_job_makes_room() -> None:
    segmenter = Brightness()

    async def work(engine: Engine) -> None:
        segmenter.free.clear()
        running = [submit(engine, 1, width=5), submit(engine, 1, width=6)]
        await until(lambda: engine.waiting == 0)
        waiting = [submit(engine, 1, width=w) for w in (7, 8)]
        with pytest.raises(Full):
            submit(engine, 1)
        waiting[0].cancel()
        last = submit(engine, 1, width=9)
        segmenter.free.set()
        await asyncio.gather(*running, waiting[1], last)

    with_engine(segmenter, work, queue=2)
    assert 7 not in {shape[1] for batch in segmenter.batches for shape in batch}


def test_stopping_finishes_what_is_worked_on_and_drops_what_waits() -> None:
    segmenter = Brightness()

    async def main() -> None:
        engine = Engine(segmenter, Limits())
        await engine.start()
        assert segmenter.batches == [[(64, 64, 3)]]  # the first picture is nobody's
        segmenter.free.clear()
        running = [submit(engine, 7, width=5), submit(engine, 7, width=6)]
        await until(lambda: engine.waiting == 0)
        waiting = submit(engine, 7, width=8)
        stopping = asyncio.create_task(engine.stop())
        await asyncio.sleep(0.05)
        assert not stopping.done()
        segmenter.free.set()
        await stopping
        assert [json.loads(job.result().body)[0] for job in running] == [7, 7]
        assert waiting.cancelled()
        assert not engine.running

    asyncio.run(main())
    assert segmenter.threads.isdisjoint(thread.ident for thread in threading.enumerate())


def test_one_that_breaks_the_model_fails_alone() -> None:
    segmenter = Brightness(bad_width=50)

    async def work(engine: Engine) -> None:
        # told to be of one size, so that they share a batch
        data = [png(40, 30, 1), png(50, 30, 2), png(40, 30, 3)]
        jobs = [engine.submit(each, (40, 30), render) for each in data]
        good, bad, fine = await asyncio.gather(*jobs, return_exceptions=True)
        assert isinstance(good, Answered)
        assert isinstance(fine, Answered)
        assert isinstance(bad, RuntimeError)

    with_engine(segmenter, work, gather_seconds=0.5, batch=3)
    assert [len(batch) for batch in segmenter.batches] == [3, 1, 1, 1]


def test_a_damaged_picture_fails_alone() -> None:
    async def work(engine: Engine) -> None:
        whole = png(200, 200, kind="JPEG")
        jobs = [engine.submit(data, (200, 200), render) for data in (whole, whole[:-600], whole)]
        good, bad, fine = await asyncio.gather(*jobs, return_exceptions=True)
        assert isinstance(good, Answered)
        assert isinstance(fine, Answered)
        assert isinstance(bad, SmokescopeError)
        assert engine.batches == 1
        with pytest.raises(SmokescopeError):
            await engine.submit(whole[:-600], (200, 200), render)
        assert engine.batches == 1  # the model was given nothing

    with_engine(Brightness(), work)


def test_only_two_batches_are_decoded_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = 0

    def count(data: bytes) -> Pixels:
        nonlocal decoded
        decoded += 1
        return picture_from_bytes(data)

    monkeypatch.setattr("smokescope.serve.engine.picture_from_bytes", count)
    segmenter = Brightness()

    async def work(engine: Engine) -> None:
        segmenter.free.clear()
        jobs = [submit(engine, 1) for _ in range(20)]
        await until(lambda: decoded == 8)
        await asyncio.sleep(0.2)  # long enough for a ninth, if there were one
        assert decoded == 8
        segmenter.free.set()
        await asyncio.gather(*jobs)
        assert decoded == 20

    with_engine(segmenter, work, batch=4)
