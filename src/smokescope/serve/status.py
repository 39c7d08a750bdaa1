"""Endpoints about the service itself: for load balancers, dashboards and the curious."""

from typing import Literal

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel

from smokescope.serve.access import Access
from smokescope.serve.figures import MEDIA_TYPE
from smokescope.serve.model import ModelAnswer
from smokescope.serve.refusals import Problem, busy
from smokescope.serve.service import Service


class Fine(BaseModel):
    """All is well."""

    status: Literal["ok"] = "ok"


def status_routes(service: Service) -> APIRouter:
    """Routes that tell how the service is."""
    router = APIRouter(tags=["status"])
    access = Depends(Access(service))

    @router.head("/livez", include_in_schema=False)  # as some probes ask
    @router.get("/livez", responses={503: {"model": Problem}})
    async def livez() -> Fine:
        """Whether the service works at all; if not, restart it."""
        if not service.alive:
            raise busy("the model has stopped responding: restart the service")
        return Fine()

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz", responses={503: {"model": Problem}})
    async def readyz() -> Fine:
        """Whether the service accepts pictures now."""
        if not service.ready:
            raise busy("the service accepts no pictures: it is shutting down or stuck", seconds=5)
        return Fine()

    @router.get("/v1/model", responses={401: {"model": Problem}}, dependencies=[access])
    async def model() -> ModelAnswer:
        """The model in use: its name, thresholds and settings."""
        return service.model

    @router.get(
        "/metrics",
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, 401: {"model": Problem}},
        response_class=Response,
        dependencies=[access],
    )
    async def metrics() -> Response:
        """Requests, latencies, queue and verdicts, in Prometheus' text format."""
        text = service.figures.text(service.engine.depth, service.engine.batches)
        return Response(text, media_type=MEDIA_TYPE)

    return router
