"""What goes wrong, as JSON with a sentence for a person: never a traceback, never a path."""

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

_PLAIN = {
    404: "there is nothing at this address: see GET /docs for what there is",
    405: "this address does not accept that method: see GET /docs for those it accepts",
}


class Problem(BaseModel):
    """Why a request was refused."""

    status: int = Field(description="The HTTP status code, repeated.")
    error: str = Field(description="One sentence for a person: what is wrong, and what to do.")


class Refusal(Exception):  # noqa: N818 (an answer, not an accident)
    """A request that gets no for an answer.

    Args:
        status: The HTTP status.
        sentence: What is wrong, and what to do.
        headers: Further headers of the answer.
    """

    def __init__(self, status: HTTPStatus, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers


def busy(sentence: str, seconds: int = 1) -> Refusal:
    """Not now, but in so many seconds."""
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, sentence, {"Retry-After": str(seconds)})


def problem(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A refusal as an answer."""
    return JSONResponse(Problem(status=status, error=sentence).model_dump(), status, headers)


def explain_refusals(app: FastAPI) -> None:
    """Answer all that an endpoint may raise in one form."""

    async def refused(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Refusal)  # noqa: S101 (registered for nothing else)
        return problem(error.status, error.sentence, error.headers)

    async def unknown(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101
        return problem(error.status_code, _PLAIN.get(error.status_code, error.detail), error.headers)

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        faults = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()]
        return problem(422, "the request's parameters are wrong: " + "; ".join(faults))

    app.add_exception_handler(Refusal, refused)
    app.add_exception_handler(HTTPException, unknown)
    app.add_exception_handler(RequestValidationError, invalid)
