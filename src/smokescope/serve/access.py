"""Who may ask."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from smokescope.serve.refusals import Refusal
from smokescope.serve.service import Service

_bearer = HTTPBearer(auto_error=False, description="Needed if the service was started with a token.")


class Access:
    """Lets a request through if it carries the service's token, before any of its body is read."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def __call__(
        self, request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> None:
        """Check a request.

        Raises:
            Refusal: The token is missing or wrong, or another site's page asks in a visitor's name.
        """
        if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise Refusal(
                HTTPStatus.FORBIDDEN, "pages of other sites may not use this service: open its own page"
            )
        self.service.check_token(given.credentials if given else None)
