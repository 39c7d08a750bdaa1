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
        Path | None, typer.Option(metavar="FILE", help="A model file; by default the embedded one.")
    ] = None,
    size: Annotated[str, typer.Option(metavar="WxH", help="Of the pictures.")] = "640x480",
    threads: Annotated[
        int | None, typer.Option(min=1, help="For each engine; by default as many as it likes.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Pictures for each engine; half of them count.")] = 20,
    also: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="An exported file to measure beside it; may be repeated."),
    ] = None,
    compiled: Annotated[
        bool, typer.Option("--compiled", help="PyTorch with a compiled model too, which takes it a minute.")
    ] = False,
    int8: Annotated[
        bool, typer.Option("--int8", help="OpenVINO in 8 bits too, which takes minutes to prepare.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures.")
    ] = None,
) -> None:
    """Measure every engine that is installed on this machine, one picture at a time.

    Each runs in a process of its own; they take turns, and the quieter half of the rounds counts. A
    safetensors model is first exported for the engines that need it. docs/engines.md says more.
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
        typer.echo("The machine was busy with other things: measure again when it is quiet.")


def _parse(size: str) -> tuple[int, int]:
    """Width and height, of a text such as 640x480."""
    match = re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", size)
    if match is None or not all(0 < int(side) <= LARGEST for side in match.groups()):
        raise SmokescopeError(f"{size} is no size: give width and height in pixels, such as 640x480")
    return int(match[1]), int(match[2])
