"""The page and all it is made of: read once from the package, so that no request ever names a file."""

import hashlib
import json
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from smokescope.report.overlay import VERDICT_COLOURS
from smokescope.report.results import QUANTITIES

PAGES = {  # address -> file and type
    "/": ("index.html", "text/html; charset=utf-8"),
    "/docs": ("docs.html", "text/html; charset=utf-8"),
    "/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/badges.js": ("badges.js", "text/javascript; charset=utf-8"),
    "/view.js": ("view.js", "text/javascript; charset=utf-8"),
    "/docs.js": ("docs.js", "text/javascript; charset=utf-8"),
    "/style.css": ("style.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


def page_routes() -> APIRouter:
    """Routes of the page; none needs a token, since the page asks for it."""
    router = APIRouter(include_in_schema=False)
    folder = files("smokescope.serve") / "static"
    for address, (name, kind) in PAGES.items():
        _add(router, address, (folder / name).read_bytes(), kind)
    _add(router, "/colours.json", json.dumps(colours()).encode(), "application/json")
    return router


def colours() -> dict[str, object]:
    """The project's colours for the browser: 256 of each map, and what the last means; in hexadecimal."""
    maps = {
        name: {"top": kind.top, "ramp": [bytes(colour).hex() for colour in kind.colours.table]}
        for name, kind in QUANTITIES.items()
    }
    verdicts = {verdict: bytes(colour).hex() for verdict, colour in VERDICT_COLOURS.items()}
    return {"maps": maps, "verdicts": verdicts}


def _add(router: APIRouter, address: str, content: bytes, kind: str) -> None:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}  # asked for each time, sent only when it changed

    async def give(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    router.add_api_route(address, give, methods=["GET", "HEAD"])
