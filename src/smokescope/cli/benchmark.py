"""`smokescope benchmark`: which engine is the fastest on this machine."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from smokescope.cli.console import complain, progress_bar
from smokescope.cli.engines import telling
from smokescope.errors import SmokescopeError

LARGEST = 10_000  # pixels a side


def benchmark(
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Model file; default: the embedded model.")
    ] = None,
    size: Annotated[str, typer.Option(metavar="WxH", help="Size of the pictures.")] = "640x480",
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads for each engine; by default its own choice.")
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, help="Pictures timed per engine; the quieter half counts.")
    ] = 20,
    also: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Also measure this exported file; may be repeated."),
    ] = None,
    compiled: Annotated[
        bool,
        typer.Option("--compiled", help="Also measure PyTorch with a compiled model: takes a minute more."),
    ] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="Also measure OpenVINO in 8 bits: takes minutes to prepare.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to this JSON file.")
    ] = None,
) -> None:
    """Measure the speed of every engine installed on this machine, one picture at a time.

    Each engine runs in its own process; they take turns, and the quieter half of the rounds counts. A
    safetensors model is first exported for the engines that need it. See docs/engines.md.
    """
    from smokescope.benchmark.candidates import Extras, list_candidates
    from smokescope.benchmark.measure import measure
    from smokescope.benchmark.report import advice, as_document, as_table, machine
    from smokescope.benchmark.worker import Task
    from smokescope.data.files import try_file, write_atomically
    from smokescope.data.json_files import encode_json
    from smokescope.inference.engines.formats import files_of

    width, height = _parse(size)
    task = Task(model=None if model is None else str(model), engine=None, height=height, width=width)
    if json_file:
        try_file(json_file, [file for each in (model, *(also or [])) for file in files_of(each)])
    with TemporaryDirectory() as folder:
        extras = Extras(also=also or [], compiled=compiled, int8=Path(folder) if int8 else None)
        with telling():
            candidates = list_candidates(task, extras, complain)
        with progress_bar("benchmark") as show:
            measured = measure(candidates, rounds, threads, show, complain)
    if json_file:
        document = as_document(measured, task, rounds, threads)
        write_atomically(json_file, encode_json(document, indent=2))
    name = model.name if model else "the embedded model"
    typer.echo(f"{name}, pictures of {width} x {height} one at a time; {machine(threads)}\n")
    typer.echo(f"{as_table(measured.rows)}\n\n{advice(measured.rows, threads)}")
    if measured.busy:
        typer.echo("The machine was busy with other work: measure again when it is idle.")


def _parse(size: str) -> tuple[int, int]:
    """Width and height, of a text such as 640x480."""
    match = re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", size)
    if match is None or not all(0 < int(side) <= LARGEST for side in match.groups()):
        raise SmokescopeError(f"{size} is not a size: give width and height in pixels, such as 640x480")
    return int(match[1]), int(match[2])
