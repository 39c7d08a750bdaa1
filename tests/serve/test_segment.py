"""`POST /v1/segment`: what is right is answered in full, what is wrong with its own status and a sentence."""

import asyncio
import base64
import io
import math
import re
from collections.abc import AsyncIterator

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from smokescope.report.colours import ALEATORIC
from smokescope.report.overlay import draw_overlay
from smokescope.serve.answers import Answer, RegionAnswer
from smokescope.serve.limits import Limits
from smokescope.serve.service import Service
from tests.serve.service import MODEL, Brightness, in_service, png, post, predict, running, sentence
from tests.serve.test_headers import bomb


def pixels(data: bytes) -> NDArray[np.uint8]:
    return np.asarray(Image.open(io.BytesIO(data)))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_raw_bytes_and_a_form_get_the_same_answer(kind: str) -> None:
    data = png(kind=kind)

    async def work(client: httpx.AsyncClient) -> None:
        # what it was sent as does not matter, only what it is
        raw = await client.post("/v1/segment", content=data, headers={"content-type": "image/webp"})
        form = await client.post("/v1/segment", files={"file": ("../../etc/passwd", data, "text/plain")})
        for answer in (raw, form):
            assert answer.status_code == 200
            told = Answer.model_validate_json(answer.text)
            assert (told.width, told.height, told.verdict) == (40, 30, "smoke")
            assert told.maps is None
            assert told.model.name == MODEL.name
        assert raw.json()["regions"] == form.json()["regions"]
        (region,) = raw.json()["regions"]
        assert region.keys() == RegionAnswer.model_fields.keys()  # the document tells of all there is
        assert raw.json().keys() | {"maps"} == Answer.model_fields.keys()
        assert region["share"] == pytest.approx(0.25, abs=0.05)

    in_service(work)


@pytest.mark.parametrize("name", ["probability", "total", "aleatoric", "epistemic"])
def test_a_map_is_grey_on_a_scale_that_never_moves(name: str) -> None:
    answer = post(png(level=51), query=f"?map={name}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    top = {"probability": 1, "epistemic": 0.1}.get(name, math.log(2))
    expected = (getattr(predict(pixels(png(level=51))), name) / top * 255).clip(0, 255)
    np.testing.assert_array_equal(pixels(answer.content), np.rint(expected))


def test_maps_come_coloured_shrunk_as_mask_and_as_overlay() -> None:
    coloured = pixels(post(png(), query="?map=aleatoric&coloured=1").content)
    np.testing.assert_array_equal(coloured, ALEATORIC.apply(predict(pixels(png())).aleatoric / math.log(2)))
    mask = pixels(post(png(), query="?map=mask").content)
    np.testing.assert_array_equal(mask, predict(pixels(png())).mask * 255)
    small = pixels(post(png(90, 70), query="?map=mask&side=17").content)
    assert small.shape == (13, 17)
    assert set(small.ravel().tolist()) == {0, 255}  # a mask stays one
    overlay = pixels(post(png(), query="?map=overlay").content)
    np.testing.assert_array_equal(overlay, draw_overlay(pixels(png()), predict(pixels(png()))))


def test_all_maps_in_one_answer() -> None:
    told = post(png(80, 40), query="?maps=all&side=40").json()
    assert Answer.model_validate(told).maps is not None
    assert told["maps"].keys() == {"probability", "total", "aleatoric", "epistemic"}
    probability = pixels(base64.b64decode(told["maps"]["probability"]))
    assert probability.shape == (20, 40)
    assert (probability[2, 2], probability[-2, -2]) == (255, 0)


@pytest.mark.parametrize(
    ("accept", "query", "status", "kind"),
    [
        ("image/png", "", 200, "image/png"),
        ("*/*", "", 200, "application/json"),
        ("text/html, image/png;q=0.5, */*", "", 200, "application/json"),
        ("image/*", "?map=mask", 200, "image/png"),
        ("application/json", "?map=mask", 406, "application/json"),
    ],
)
def test_accept_is_heeded(accept: str, query: str, status: int, kind: str) -> None:
    async def work(client: httpx.AsyncClient) -> httpx.Response:
        headers = {"accept": accept, "content-type": "image/png"}
        return await client.post("/v1/segment" + query, content=png(), headers=headers)

    answer = in_service(work)
    assert (answer.status_code, answer.headers["content-type"]) == (status, kind)


TOO_MANY = Limits(pixels=1199)


@pytest.mark.parametrize(
    ("body", "kind", "limits", "status", "words"),
    [
        (b"just some text", "text/plain", None, 415, "was sent as 'text/plain'"),
        (b"just some text", "", None, 415, "came without a type"),
        (b"just some text", "image/png", None, 415, "not a JPEG, PNG or WebP"),
        (png(kind="GIF"), "image/jpeg", None, 415, "not a JPEG, PNG or WebP"),
        (b"", "image/png", None, 400, "the picture is empty"),
        (png(200, 200, kind="JPEG")[:-500], "image/jpeg", None, 422, "damaged or cut short"),
        (png(200, 200)[:-40], "image/png", None, 422, "damaged or cut short"),
        (png(200, 200, kind="WEBP")[:60], "image/webp", None, 422, "damaged"),
        (png(), "image/png", TOO_MANY, 422, r"more than 0\.001199 million pixels"),
        (bomb(30_000), "image/png", None, 422, "more than 30 million pixels"),
        (png(), "image/png", Limits(body_bytes=50), 413, r"more than 5e-05 MB"),
        (b"--x\r\n", "multipart/form-data; boundary=x", None, 400, "cut short"),
        (b"file=x", "application/x-www-form-urlencoded", None, 415, "sent as 'application/x-www-form"),
    ],
)
def test_what_is_wrong_is_said(
    body: bytes, kind: str, limits: Limits | None, status: int, words: str
) -> None:
    answer = post(body, kind, limits=limits)
    assert answer.status_code == status
    assert re.search(words, sentence(answer))


@pytest.mark.parametrize(
    "query",
    ["?map=heat", "?map=mask&maps=all", "?side=1", "?maps=some", "?path=/etc/passwd", "?url=http://a"],
)
def test_wishes_that_make_no_sense(query: str) -> None:
    answer = post(png(), query=query)
    assert answer.status_code == 422
    assert sentence(answer)


def test_a_body_in_chunks_is_counted_while_it_arrives() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield b"\xff" * 1000

    async def work(client: httpx.AsyncClient) -> httpx.Response:
        async with asyncio.timeout(10):
            return await client.post("/v1/segment", content=endless(), headers={"content-type": "image/png"})

    # the connection is lent a moment to throw the rest away; see test_server.py for one that ends it
    answer = in_service(work, limits=Limits(body_bytes=50_000))
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"
    assert "more than 0.05 MB" in sentence(answer)


def test_all_bodies_together_are_counted() -> None:
    service = Service(Brightness(), MODEL, Limits(held_bytes=100))

    async def work() -> None:
        async with running(service) as client:
            answer = await client.post("/v1/segment", content=png(), headers={"content-type": "image/png"})
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "too many large pictures" in sentence(answer)
            assert service.bodies.held == 0

    asyncio.run(work())


def test_a_broken_model_is_told_without_its_secrets() -> None:
    service = Service(Brightness(bad_width=50), MODEL, Limits())

    async def work() -> None:
        async with running(service) as client:
            answer = await client.post("/v1/segment", content=png(50), headers={"content-type": "image/png"})
            assert answer.status_code == 500
            assert "the service failed, through no fault of yours" in sentence(answer)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert service.figures.requests["/v1/segment", 500] == 1

    asyncio.run(work())


def test_a_full_queue_and_a_missed_deadline() -> None:
    segmenter = Brightness()

    async def work(client: httpx.AsyncClient) -> None:
        segmenter.free.clear()

        async def send(width: int) -> httpx.Response:
            body = png(width)
            return await client.post("/v1/segment", content=body, headers={"content-type": "image/png"})

        sent = []
        for width in (41, 42, 43):  # two are worked on, one waits
            sent.append(asyncio.create_task(send(width)))
            await asyncio.sleep(0.1)
        refused = await send(44)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert "1 pictures are waiting already" in sentence(refused)
        answers = await asyncio.gather(*sent)
        assert {answer.status_code for answer in answers} == {504}
        assert "within 3 seconds" in sentence(answers[0])
        segmenter.free.set()
        assert (await send(45)).status_code == 200  # what nobody waits for any more is not in the way
        assert 43 not in {shape[1] for batch in segmenter.batches for shape in batch}

    in_service(work, segmenter, limits=Limits(queue=1, deadline=3))
