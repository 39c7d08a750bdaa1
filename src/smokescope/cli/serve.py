"""`smokescope serve`: an API and a page, for this machine or, with a token, for others."""

from __future__ import annotations

import logging
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from smokescope.cli.devices import DEVICE_HELP
from smokescope.cli.engines import EngineOption, load_segmenter, shown
from smokescope.errors import SmokescopeError


def serve(
    host: Annotated[str, typer.Option(help="Where to listen; others than this machine need a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8000,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A model file; by default the embedded one.")
    ] = None,
    device: Annotated[str, typer.Option(help=DEVICE_HELP)] = "auto",
    engine: EngineOption = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Holds the token that requests must carry; or SMOKESCOPE_TOKEN."),
    ] = None,
    max_megabytes: Annotated[float, typer.Option(min=0.001, help="Of a request's body.")] = 25,
    max_megapixels: Annotated[float, typer.Option(min=0.001, max=100, help="Of a picture.")] = 30,
    queue: Annotated[int, typer.Option(min=1, help="Pictures that may wait.")] = 64,
    batch: Annotated[int, typer.Option(min=1, help="Pictures of one size worked on at once, at most.")] = 8,
    deadline: Annotated[float, typer.Option(min=0.1, help="Seconds to an answer.")] = 30,
    upload_seconds: Annotated[float, typer.Option(min=0.1, help="For a picture to arrive.")] = 30,
) -> None:
    """Serve a page and an HTTP API until told to stop (Ctrl-C, SIGTERM). docs/serve.md tells of both."""
    if any(find_spec(each) is None for each in ("fastapi", "uvicorn", "python_multipart")):
        raise SmokescopeError("`serve` needs packages that are not here: pip install 'smokescope[serve]'")
    from smokescope.serve.limits import Limits, check_access
    from smokescope.serve.model import describe
    from smokescope.serve.server import bind, make_server
    from smokescope.serve.service import Service

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S%z")
    token = _token(token_file)
    check_access(host, token)
    limits = Limits(
        body_bytes=round(max_megabytes * 1e6),
        pixels=round(max_megapixels * 1e6),
        queue=queue,
        batch=batch,
        deadline=deadline,
        upload_seconds=upload_seconds,
    )
    with bind(host, port) as taken:
        segmenter = load_segmenter(model, device, engine)
        service = Service(segmenter, describe(segmenter, model), limits, token)
        address = f"[{host}]" if ":" in host else host
        words = (
            f"smokescope serves {service.model.name} on http://{address}:{taken.getsockname()[1]} "
            f"({shown(segmenter)}); Ctrl-C stops it"
        )
        make_server(service, lambda: print(words, flush=True)).run([taken])


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get("SMOKESCOPE_TOKEN")
    from smokescope.data.files import open_input

    with open_input(file) as stream:
        return stream.read(4096).decode("ascii", "replace").strip()
