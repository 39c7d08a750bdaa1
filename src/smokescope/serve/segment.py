"""`POST /v1/segment`: a picture in, its regions or one of its maps out."""

import asyncio
import time
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from smokescope.errors import SmokescopeError
from smokescope.inference import Prediction
from smokescope.inference.engines.maps import Pixels
from smokescope.serve.access import Access
from smokescope.serve.answers import Answer, ModelName, json_answer
from smokescope.serve.bodies import PICTURE_TYPES
from smokescope.serve.engine import Answered, Full, Render, Timings
from smokescope.serve.maps import MapName, map_png
from smokescope.serve.refusals import Problem, Refusal, busy
from smokescope.serve.service import Service

REFUSALS = {
    400: "The body is empty, or is a form that cannot be read.",
    401: "The token is missing or wrong.",
    403: "The request comes from another site's page.",
    406: "A map was asked for, but the request does not accept PNG.",
    408: "The picture did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not a JPEG, PNG or WebP picture.",
    422: "The picture is damaged or has too many pixels, or a parameter is wrong.",
    500: "Something broke in the service.",
    503: "The service is busy or shutting down; Retry-After says when to try again.",
    504: "The answer was not ready in time.",
}
_BYTES = {"type": "string", "format": "binary"}
_FORM = {"type": "object", "required": ["file"], "properties": {"file": _BYTES}}
REQUEST: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The picture: a form with a `file`, or its bytes as they are.",
        "content": {
            "multipart/form-data": {"schema": _FORM},
            **{kind: {"schema": _BYTES} for kind in PICTURE_TYPES},
        },
    }
}


class Wishes(BaseModel):
    """What to answer with."""

    model_config = ConfigDict(extra="forbid")

    map: Annotated[
        MapName | None,
        Field(
            description="Return this map as a PNG; white is probability 1, ln 2 nats, or 0.1 nats epistemic."
        ),
    ] = None
    coloured: Annotated[bool, Field(description="Return the map in colour, not grey.")] = False
    maps: Annotated[
        Literal["all"] | None, Field(description="Include all maps in the JSON, as grey PNGs in base64.")
    ] = None
    side: Annotated[
        int | None, Field(ge=16, le=16384, description="Longest side of the maps; larger ones are shrunk.")
    ] = None


def segment_routes(service: Service) -> APIRouter:
    """The route that all this is about."""
    router = APIRouter(tags=["segment"])

    @router.post(
        "/v1/segment",
        response_model=Answer,
        responses={
            200: {
                "content": {"image/png": {"schema": _BYTES}},
                "description": "The regions as JSON, or a map as PNG.",
            },
            **{status: {"model": Problem, "description": words} for status, words in REFUSALS.items()},
        },
        openapi_extra=REQUEST,
        dependencies=[Depends(Access(service))],
    )
    async def segment(request: Request, wishes: Annotated[Wishes, Query()]) -> Response:
        """Find the smoke in a picture.

        The answer is JSON; with `map`, a PNG of that map instead.
        """
        started = time.perf_counter()
        as_png = _wants_png(request.headers.get("accept", "*/*"), wishes)
        with service.visit(), service.bodies.counted() as body:
            if service.engine.waiting >= service.limits.queue:  # before a body is taken in for nothing
                raise _full(service)
            data = await body.picture(request)
            size = await service.engine.check(data)
            upload = time.perf_counter() - started
            try:
                job = service.engine.submit(data, size, _renderer(wishes, as_png, upload, service.model))
            except Full:
                raise _full(service) from None
            answered = await _wait_for(job, request, service.limits.deadline)
        service.figures.verdicts[answered.verdict] += 1
        return Response(answered.body, media_type="image/png" if as_png else "application/json")

    return router


def _wants_png(accept: str, wishes: Wishes) -> bool:
    """Whether to answer with a PNG: a map is one, and who accepts nothing but PNGs gets the overlay."""
    accepted = {each.partition(";")[0].strip().lower() for each in accept.split(",")}
    png, json = ({"*/*", *kinds} & accepted for kinds in (("image/*", "image/png"), ("application/json",)))
    if wishes.map and wishes.maps:
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "ask for one `map` or for all `maps`, not both")
    if wishes.map and not png:
        raise Refusal(HTTPStatus.NOT_ACCEPTABLE, "a map is sent as PNG: accept image/png, or leave `map` out")
    return bool(wishes.map or (png and not json))


def _renderer(wishes: Wishes, as_png: bool, upload: float, model: ModelName) -> Render:
    name = ModelName(name=model.name, sha256=model.sha256, threshold=model.threshold)

    def render(picture: Pixels, prediction: Prediction, timings: Timings) -> bytes:
        if as_png:
            return map_png(picture, prediction, wishes.map or "overlay", wishes.coloured, wishes.side)
        everything = wishes.maps == "all"
        return json_answer(prediction, timings, upload, name, maps=everything, side=wishes.side)

    return render


async def _wait_for(job: asyncio.Future[Answered], request: Request, deadline: float) -> Answered:
    """Wait for an answer for as long as somebody wants it."""
    gone = asyncio.ensure_future(request.receive())  # after the body, nothing comes but a goodbye
    either: set[asyncio.Future[Any]] = {job, gone}
    try:
        await asyncio.wait(either, timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
        if not job.done():
            why = f"no answer was ready within {deadline:g} seconds: try again later"
            raise Refusal(HTTPStatus.GATEWAY_TIMEOUT, why)  # or the client has gone, and reads nothing
        return job.result()
    except SmokescopeError as error:
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, error.sentence) from None
    finally:
        job.cancel()
        gone.cancel()


def _full(service: Service) -> Refusal:
    return busy(f"{service.limits.queue} pictures are waiting already: try again in a moment")
