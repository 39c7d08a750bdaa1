"""The page and all it is made of: read once from the package, so that no request ever names a file."""

import hashlib
import json
from importlib.resources import files

from fastapi import APIRouter, Request, Response

from smokescope.report.light import DIMMED
from smokescope.report.overlay import SIGNS, VERDICT_COLOURS
from smokescope.report.results import QUANTITIES

_SCRIPTS = ("app", "badges", "docs", "dom", "files", "regions", "service", "view", "words")
PAGES = {  # address -> file and type
    "/": ("index.html", "text/html; charset=utf-8"),
    "/docs": ("docs.html", "text/html; charset=utf-8"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8") for name in _SCRIPTS},
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
    """The project's colours for the browser, in hexadecimal: of maps, in 256 steps, and of verdicts."""
    maps = {
        name: {"top": kind.top, "ramp": [bytes(colour).hex() for colour in kind.colours.table]}
        for name, kind in QUANTITIES.items()
    }
    verdicts = {}
    for verdict, line in VERDICT_COLOURS.items():
        sign, on_sign = SIGNS[verdict]
        parts = {"line": line, "sign": sign, "on-sign": on_sign}
        verdicts[verdict] = {part: bytes(colour).hex() for part, colour in parts.items()}
    return {"maps": maps, "verdicts": verdicts, "dimmed": DIMMED}


def _add(router: APIRouter, address: str, content: bytes, kind: str) -> None:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}  # asked for each time, sent only when it changed

    async def give(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    router.add_api_route(address, give, methods=["GET", "HEAD"])
