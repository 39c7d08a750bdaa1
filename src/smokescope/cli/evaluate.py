"""`smokescope evaluate`: every figure of a model, on one's own data."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from smokescope.cli.checking import check_first, work_on_checked
from smokescope.cli.console import printable, progress_bar
from smokescope.cli.devices import DEVICE_HELP, enough_memory
from smokescope.cli.engines import EngineOption, load_segmenter, shown
from smokescope.errors import SmokescopeError

if TYPE_CHECKING:
    from smokescope.data.comparison import Status
    from smokescope.data.layouts import Pair
    from smokescope.data.scenes import SceneFinder
    from smokescope.data.sets import PictureName, PictureSet
    from smokescope.inference.evaluation import Evaluation, Evaluator
    from smokescope.inference.segmenter import Segmenter
    from smokescope.settings.choices import EngineName

Kind = Literal["json", "csv", "page"]

DIGITS = 12  # of a checksum, of 64


def evaluate(
    data: Annotated[
        list[Path] | None, typer.Option("--data", metavar="DIR", help="Data set with masks; may be repeated.")
    ] = None,
    negatives: Annotated[
        list[Path] | None,
        typer.Option("--negatives", metavar="DIR", help="Folder of pictures without smoke; may be repeated."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Model file; default: the embedded model.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another model file to compare with.")
    ] = None,
    scenes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="against.json of `data scenes`: also report seen/unseen scenes."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the figures to this file.")
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write one row per picture to this file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write report.html, report.json and pictures.csv here.")
    ] = None,
    samples: Annotated[
        int, typer.Option(min=0, help="Compare uncertainties with this many Monte Carlo samples.")
    ] = 0,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add 95 % intervals, for scenes drawn at random.")
    ] = False,
    device: Annotated[str, typer.Option(help=DEVICE_HELP)] = "auto",
    engine: EngineOption = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out unusable files.")] = False,
) -> None:
    """Measure a model on pictures with smoke, pictures without, or both.

    Probabilities and uncertainties are compared with masks at the masks' own size. Pictures without smoke
    show how often it raises false alarms. docs/evaluate.md explains each figure.
    """
    from smokescope import __version__
    from smokescope.data.comparison import read_statuses
    from smokescope.data.files import try_file, write_together
    from smokescope.data.json_files import encode_json
    from smokescope.data.layouts import Listing, list_negatives, list_pairs, refuse_among
    from smokescope.data.scenes import SceneFinder
    from smokescope.data.sets import list_sets
    from smokescope.inference.engines.formats import files_of
    from smokescope.inference.evaluation import Evaluator
    from smokescope.inference.rows import rows_to_csv
    from smokescope.report.evaluation_page import evaluation_page
    from smokescope.report.evaluation_words import (
        figure_lines,
        names_of,
        told_intervals,
        told_pictures,
        told_speed,
    )
    from smokescope.report.page import encode_page

    if samples == 1:
        raise SmokescopeError("--samples 1 shows no spread: ask for 2 or more")
    if samples and not data:
        raise SmokescopeError("--samples needs pictures with smoke: name a data set with --data")
    targets = _targets(json_file, csv_file, out)
    data, negatives = data or [], negatives or []
    if not data and not negatives:
        raise SmokescopeError("nothing to measure on: name a folder with --data or --negatives")
    for folder in data:
        list_pairs(folder)  # complains of a folder of the other kind
    for folder in negatives:
        list_negatives(folder)
    sets = list_sets([*data, *negatives])
    known = read_statuses(scenes, sets) if scenes else {}
    for path in targets:
        for each in sets:
            refuse_among(path.parent, each.listing)
        try_file(path, [*files_of(model), *files_of(against), *([scenes] if scenes else [])])
    segmenter = load_segmenter(model, device, _sampling(engine, model) if samples else engine)
    if samples and not segmenter.engine.can_sample:
        raise SmokescopeError(f"{model or 'the model'} cannot draw samples here: leave --samples out")
    peer = load_segmenter(against, device, engine) if against else None

    names = _names(sets)
    problems = [problem for each in sets for problem in each.listing.problems]
    pairs, left_out = check_first(Listing(list(names), problems), skip_bad)
    finder = SceneFinder() if intervals else None
    evaluators = [Evaluator(segmenter, samples, scenes=finder)]
    evaluators += [Evaluator(peer, scenes=finder)] if peer else []
    started = time.perf_counter()
    evaluation, *others = _measured(evaluators, pairs, names, known, finder)
    other = others[0] if others else None
    speed = len(pairs) / (time.perf_counter() - started)

    more = f", {len(left_out)} files left out" if left_out else ""
    pictures = f"{told_pictures(evaluation)}{more}"
    rate = told_speed(speed, shown(segmenter), peer=bool(other), samples=samples, intervals=intervals)
    ends = evaluation.interval(other)
    drawn = told_intervals(ends, "difference" if other else "figure")
    called = list(map(printable, names_of(model, against) if other else names_of(model)))
    # first: should a disk be full by now, this at least is told
    typer.echo("\n".join([f"{pictures}; {rate}", *([drawn] if intervals else [])]))
    typer.echo(figure_lines(evaluation, called, other))

    def written(kind: Kind) -> bytes:
        if kind == "csv":
            return rows_to_csv(evaluation.rows)
        if kind == "json":
            return encode_json(evaluation.to_document(speed, other), indent=2)
        facts = {"Pictures": pictures, "Data": ", ".join(each.name for each in sets), "Speed": rate}
        facts |= {"Intervals": drawn} if intervals else {}
        facts |= {"Samples": f"compared with {samples} Monte Carlo samples"} if samples else {}
        facts |= {f"Weights of {called[0]}": _weights(segmenter, model)}
        facts |= {f"Weights of {called[1]}": _weights(peer, against)} if peer else {}
        facts |= {"Measured by": f"smokescope {__version__}"}
        return encode_page(evaluation_page(_title(model, against), called, facts, evaluation, other))

    made = {kind: written(kind) for kind in set(targets.values())}
    write_together({path: made[kind] for path, kind in targets.items()})


def _measured(
    evaluators: Sequence[Evaluator],
    pairs: Sequence[Pair],
    names: Mapping[Pair, PictureName],
    known: Mapping[PictureName, Status],
    finder: SceneFinder | None,
) -> list[Evaluation]:
    """What comes out of each model, all pictures being read once."""
    from smokescope.inference.evaluation import read_ahead

    with closing(read_ahead(pairs)) as ahead:

        def work(pair: Pair) -> None:
            picture, mask = next(ahead).result()
            with enough_memory(pair.picture):
                for evaluator in evaluators:
                    evaluator.add(names[pair], picture, mask, known.get(names[pair]))

        work_on_checked(pairs, work, label="evaluate")
    if finder:
        with progress_bar("comparing") as show:
            finder.find(show)
    with enough_memory("one of the last pictures"):
        return [evaluator.finish() for evaluator in evaluators]


def _sampling(engine: EngineName | None, model: Path | None) -> EngineName | None:
    """The engine to draw samples in: PyTorch, or an exported model's own.

    Raises:
        SmokescopeError: Another was asked for; known before the model is exported for it.
    """
    from smokescope.inference.engines.formats import format_of

    if format_of(model):
        return engine
    if engine not in (None, "auto", "torch"):
        raise SmokescopeError(
            f"--engine {engine} draws samples only of models exported with --monte-carlo: use torch, "
            "or name such a file"
        )
    return "torch"


def _targets(json_file: Path | None, csv_file: Path | None, out: Path | None) -> dict[Path, Kind]:
    """What is to be written where.

    Raises:
        SmokescopeError: Two results have one name.
    """
    asked: list[tuple[Path | None, Kind]] = [(json_file, "json"), (csv_file, "csv")]
    if out:
        asked += [(out / "report.html", "page"), (out / "report.json", "json"), (out / "pictures.csv", "csv")]
    kinds: dict[Path, Kind] = {}
    for path, kind in asked:
        if path and kinds.setdefault(path.resolve(), kind) != kind:
            raise SmokescopeError(f"{path} is named for two different results: give each its own name")
    return {path: kind for path, kind in asked if path}


def _names(sets: Sequence[PictureSet]) -> dict[Pair, PictureName]:
    from smokescope.data.sets import PictureName

    return {pair: PictureName(each.name, pair.name) for each in sets for pair in each.listing.pairs}


def _title(model: Path | None, against: Path | None) -> str:
    title = model.name if model else "smokescope's embedded model"
    return f"{title} against {against.name}" if against else title


def _weights(segmenter: Segmenter, model: Path | None) -> str:
    """Enough of the checksum of its weights to know a model by; `smokescope info` tells all of it."""
    from smokescope.inference.identity import weights_checksum

    return (weights_checksum(segmenter.engine, model) or "unknown")[:DIGITS]
