"""The service as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from smokescope import __version__
from smokescope.serve.gate import Gate
from smokescope.serve.page import page_routes
from smokescope.serve.refusals import explain_refusals
from smokescope.serve.segment import segment_routes
from smokescope.serve.service import Service
from smokescope.serve.status import status_routes


def create_app(service: Service) -> FastAPI:
    """The application; the service's engine runs as long as it does."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.engine.start()
        yield
        await service.engine.stop()

    app = FastAPI(
        title="smokescope",
        version=__version__,
        summary="See smoke, and how sure to be.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own page loads its scripts from elsewhere; ours is /docs
        redoc_url=None,
        redirect_slashes=False,
    )
    explain_refusals(app)
    app.include_router(segment_routes(service))
    app.include_router(status_routes(service))
    app.include_router(page_routes())
    app.add_middleware(Gate, figures=service.figures)
    return app
