"""Everything but pictures: tokens, health, metrics, headers, the page, and what a stranger may not do."""

import asyncio
import json
import re
import time

import httpx
import pytest

from smokescope.report.colours import PROBABILITY
from smokescope.report.light import DIMMED
from smokescope.report.overlay import SIGNS, VERDICT_COLOURS
from smokescope.serve.limits import Limits
from smokescope.serve.page import PAGES
from smokescope.serve.service import Service
from tests.serve.service import MODEL, Brightness, in_service, png, running, sentence
from tests.serve.test_figures import samples

TOKEN = "correct-horse-battery"


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (None, 401),
        ("", 401),
        ("Bearer ", 401),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        (f"Basic {TOKEN}", 401),
        ("Bearer \xe9\xe8", 401),
    ],
)
def test_a_token_is_asked_for(header: str | None, status: int) -> None:
    async def work(client: httpx.AsyncClient) -> None:
        headers = [(b"content-type", b"image/png")]
        if header is not None:
            headers.append((b"authorization", header.encode("latin-1")))
        for method, path in (("GET", "/v1/model"), ("GET", "/metrics"), ("POST", "/v1/segment")):
            body = png() if method == "POST" else None
            answer = await client.request(method, path, headers=headers, content=body)
            assert answer.status_code == status, path
            if status == 401:
                assert answer.headers["www-authenticate"] == "Bearer"
                assert TOKEN not in sentence(answer)
        for path in ("/", "/livez", "/readyz", "/docs", "/openapi.json"):
            assert (await client.get(path)).status_code == 200
        for path in ("/", "/livez", "/readyz"):  # probes may ask so
            answer = await client.head(path)
            assert (answer.status_code, answer.content) == (200, b"")

    in_service(work, token=TOKEN)


def test_a_token_is_asked_for_before_a_body_is_read() -> None:
    service = Service(Brightness(), MODEL, Limits(), TOKEN)

    async def work() -> None:
        async with running(service) as client:
            service.bodies.limits = Limits(body_bytes=1)  # would be a 413
            answer = await client.post("/v1/segment", content=png())
            assert (answer.status_code, answer.headers["connection"]) == (401, "close")

    asyncio.run(work())


def test_pages_of_other_sites_may_not_ask_in_a_visitors_name() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
            headers = {"sec-fetch-site": site, "content-type": "image/png"}
            answer = await client.post("/v1/segment", content=png(), headers=headers)
            assert answer.status_code == status

    in_service(work)


def test_every_answer_has_safe_headers() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for path in ("/", "/app.js", "/v1/model", "/nothing", "/v1/segment", "/openapi.json"):
            headers = (await client.get(path)).headers
            assert headers["content-security-policy"].startswith("default-src 'self';")
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "access-control-allow-origin" not in headers

    in_service(work)


def test_the_model_and_metrics() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        assert (await client.get("/v1/model")).json() == MODEL.model_dump()
        await client.post("/v1/segment", content=png(), headers={"content-type": "image/png"})
        await client.post("/v1/segment", content=b"x", headers={"content-type": "image/png"})
        await client.get("/a/strangers/own/words")
        text = (await client.get("/metrics")).text
        told = samples(text)
        assert told["smokescope_requests_total", (("path", "/v1/segment"), ("status", "200"))] == 1
        assert told["smokescope_requests_total", (("path", "/v1/segment"), ("status", "415"))] == 1
        assert told["smokescope_requests_total", (("path", "other"), ("status", "404"))] == 1
        assert told["smokescope_pictures_total", (("verdict", "smoke"),)] == 1
        assert told["smokescope_segment_seconds_count", ()] == 1
        assert "strangers" not in text

    in_service(work)


def test_health_when_closing_and_when_stuck() -> None:
    service = Service(Brightness(), MODEL, Limits(deadline=10))

    async def work() -> None:
        async with running(service) as client:

            async def health() -> list[int]:
                return [(await client.get(path)).status_code for path in ("/livez", "/readyz")]

            assert await health() == [200, 200]
            service.closing = True
            assert await health() == [200, 503]
            answer = await client.post("/v1/segment", content=png())
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
            assert "shutting down" in sentence(answer)
            service.closing = False
            service.engine._since = time.perf_counter() - 30  # as if the model had been at it for so long
            assert await health() == [200, 200]
            service.engine._since -= 11
            assert await health() == [503, 503]
            service.engine._since = None
            assert service.engine._loop
            service.engine._loop.cancel()  # as if something had broken it
            await asyncio.wait([service.engine._loop])
            assert await health() == [503, 503]

    asyncio.run(work())


def test_unknown_addresses_and_methods_are_explained() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for path in ("/nothing", "/static/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/v1/segment/"):
            answer = await client.get(path)
            assert answer.status_code == 404
            assert "nothing at this address" in sentence(answer)
        answer = await client.delete("/v1/segment")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert "does not accept that method" in sentence(answer)

    in_service(work)


def test_the_page_is_whole_and_asks_for_nothing_from_outside() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        for path, (_, kind) in PAGES.items():
            answer = await client.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
            text = answer.text.replace("http://www.w3.org/2000/svg", "")  # a name, never fetched
            assert not re.search(r"https?://|//[a-z]+\.|@import", text), path
            for address in re.findall(r'(?:src|href)="(/[^"]*)"|from "(/[^"]+)"', text):
                assert (await client.get("".join(address))).status_code == 200
            again = await client.get(path, headers={"if-none-match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            assert (await client.head(path)).status_code == 200

    in_service(work)


def test_the_page_has_the_projects_own_colours() -> None:
    async def work(client: httpx.AsyncClient) -> None:
        told = json.loads((await client.get("/colours.json")).text)
        assert told["maps"].keys() == {"probability", "total", "aleatoric", "epistemic"}
        ramp = [list(bytes.fromhex(colour)) for colour in told["maps"]["probability"]["ramp"]]
        assert ramp == PROBABILITY.table.tolist()
        assert told["dimmed"] == DIMMED
        assert told["verdicts"].keys() == {"smoke", "unsure"}
        for verdict, told_of in told["verdicts"].items():
            parts = [tuple(bytes.fromhex(told_of[part])) for part in ("line", "sign", "on-sign")]
            assert parts == [VERDICT_COLOURS[verdict], *SIGNS[verdict]]

    in_service(work)
