"""All that the endpoints share."""

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from smokescope.serve.bodies import Bodies
from smokescope.serve.engine import Engine, Predictor
from smokescope.serve.figures import Figures
from smokescope.serve.limits import Limits
from smokescope.serve.model import ModelAnswer
from smokescope.serve.refusals import Refusal, busy

STUCK = 4  # deadlines: a model that is busy with one batch for longer will not come back


class Service:
    """A model that is served, who may ask, and whether it is still open.

    Args:
        segmenter: The model.
        model: What it says of itself.
        limits: What requests may cost.
        token: That requests must carry, if any.
    """

    def __init__(
        self, segmenter: Predictor, model: ModelAnswer, limits: Limits, token: str | None = None
    ) -> None:
        self.model, self.limits = model, limits
        self.engine = Engine(segmenter, limits)
        self.bodies = Bodies(limits)
        self.figures = Figures()
        self.closing = False
        self.present = 0
        self._token = token

    @property
    def alive(self) -> bool:
        """Whether the service still works; if not, restart it."""
        return self.engine.running and self.engine.stuck_for < STUCK * self.limits.deadline

    @property
    def ready(self) -> bool:
        """Whether the service takes pictures."""
        return self.alive and not self.closing

    @contextmanager
    def visit(self) -> Iterator[None]:
        """One request for work: it is turned away when the service is closing, and else waited for.

        Raises:
            Refusal: The service is closing.
        """
        if self.closing:
            raise busy("the service is shutting down: try again in a moment", seconds=5)
        self.present += 1
        try:
            yield
        finally:
            self.present -= 1

    def check_token(self, given: str | None) -> None:
        """Let in who knows the token; how long it takes does not tell how near a guess was.

        Raises:
            Refusal: The token is missing or wrong.
        """
        if self._token is None:
            return
        if given is None or not hmac.compare_digest(given.encode(), self._token.encode()):
            said = "this service needs a token" if given is None else "this is not the service's token"
            raise Refusal(
                HTTPStatus.UNAUTHORIZED,
                f"{said}: send the right one as `Authorization: Bearer TOKEN`",
                {"WWW-Authenticate": "Bearer"},
            )
