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
    host: Annotated[
        str, typer.Option(help="Address to listen on; any that other machines can reach needs a token.")
    ] = ("127.0.0.1"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8000,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Model file; default: the embedded model.")
    ] = None,
    device: Annotated[str, typer.Option(help=DEVICE_HELP)] = "auto",
    engine: EngineOption = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File with the token that clients must send; or set SMOKESCOPE_TOKEN."
        ),
    ] = None,
    max_megabytes: Annotated[float, typer.Option(min=0.001, help="Largest request body, in MB.")] = 25,
    max_megapixels: Annotated[
        float, typer.Option(min=0.001, max=100, help="Largest picture, in millions of pixels.")
    ] = 30,
    queue: Annotated[
        int, typer.Option(min=1, help="Most pictures that may wait; further ones are refused.")
    ] = 64,
    batch: Annotated[int, typer.Option(min=1, help="Most pictures of one size processed together.")] = 8,
    deadline: Annotated[float, typer.Option(min=0.1, help="Seconds allowed for an answer.")] = 30,
    upload_seconds: Annotated[float, typer.Option(min=0.1, help="Seconds allowed for an upload.")] = 30,
) -> None:
    """Serve a web page and an HTTP API until stopped (Ctrl-C, SIGTERM). See docs/serve.md."""
    if any(find_spec(each) is None for each in ("fastapi", "uvicorn", "python_multipart")):
        raise SmokescopeError(
            "`serve` needs packages that are not installed: pip install 'smokescope[serve]'"
        )
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
