"""`smokescope data stats`: what makes a set's pictures difficult, in figures, charts and a ranking."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smokescope.cli.checking import check_first, work_on_checked

if TYPE_CHECKING:
    from smokescope.data.layouts import Pair
    from smokescope.data.statistics import Statistics
    from smokescope.report.page import Strip

STRIP = 16  # pictures in each strip of the page, at most


def stats(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A data set, or a folder of pictures without masks.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results; created if missing.")],
    difficult: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Share of the pictures with smoke to list as difficult, 0 to 1."),
    ] = 0.25,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out unusable files.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the pictures shown on the page.")] = 0,
) -> None:
    """Measure what makes pictures difficult.

    Measured are the smoke's size, place, contrast, shape, parts and transmission, what else looks like smoke,
    and the quality of the pictures. stats.csv has one row per picture, stats.json means and quartiles,
    stats.html charts and pictures, difficult.txt the names of the most difficult pictures.
    """
    import torch

    from smokescope.data.files import try_folder, write_together
    from smokescope.data.layouts import Pair, list_pictures
    from smokescope.data.pairs import read_pair
    from smokescope.data.statistics import Statistics
    from smokescope.report.page import encode_page
    from smokescope.report.stats_page import stats_page

    torch.set_num_threads(1)  # on pictures this small, threads wait for each other more than they help
    listing = list_pictures(folder)
    try_folder(out)
    pairs, problems = check_first(listing, skip_bad)
    statistics = Statistics()

    def measure(pair: Pair) -> None:
        picture, mask = read_pair(pair)
        statistics.add(pair.name, picture, None if pair.mask is None else mask)

    work_on_checked(pairs, measure, label="stats")
    strips = _strips(statistics, pairs, seed)
    page = stats_page(folder.resolve().name, statistics, strips, difficult)
    write_together(
        {
            out / "stats.csv": statistics.to_csv(),
            out / "stats.json": statistics.to_json(difficult),
            out / "stats.html": encode_page(page),
            out / "difficult.txt": statistics.difficult_names(difficult),
        }
    )
    _tell(statistics, out, len(problems))


def _strips(statistics: "Statistics", pairs: "list[Pair]", seed: int) -> "list[Strip]":
    """The ends of the ranking, which share no picture, and pictures at random."""
    import numpy as np

    from smokescope.data.pairs import read_pair
    from smokescope.report.page import Strip, Thumbnail, as_thumbnail

    def show(number: int, caption: str = "") -> Thumbnail:
        return as_thumbnail(f"{pairs[number].name} {caption}", *read_pair(pairs[number]))

    ranking = statistics.ranking()
    half = (len(ranking) + 1) // 2
    hardest, easiest = ranking[:half][:STRIP], ranking[half:][::-1][:STRIP]
    strips = []
    for title, ranked in (("Most difficult", hardest), ("Easiest", easiest)):
        if ranked:
            words = "First the most extreme; the figure is the score of difficulty, 0 to 1."
            strips.append(Strip(title, words, [show(r.number, f"{r.score:.2f}") for r in ranked]))
    count = min(STRIP, len(pairs))
    chosen = sorted(np.random.default_rng(seed).choice(len(pairs), count, replace=False).tolist())
    return [*strips, Strip("At random", f"Drawn with seed {seed}.", [show(number) for number in chosen])]


def _tell(statistics: "Statistics", out: Path, left_out: int) -> None:
    from smokescope.data.attributes import centre_bias
    from smokescope.data.statistics import summarise

    def median(attribute: str) -> float:
        return summarise(statistics.column(attribute)).median or 0.0

    smoky = len(statistics.ranking())
    more = f"; {left_out} left out" if left_out else ""
    typer.echo(f"{len(statistics.rows)} pictures, {smoky} with smoke{more}")
    if smoky:
        bias = centre_bias(statistics.places)
        typer.echo(
            f"median smoke: {100 * median('size'):.2g} % of the picture, "
            f"contrast {median('contrast'):.1f} ΔE, transmission {median('transmission_inside'):.2f}; "
            f"centre bias {bias:.2f}"
        )
    nights = sum(row.quality.night for row in statistics.rows)
    typer.echo(f"median confusable area: {100 * median('confusable'):.2g} %; by night: {nights}")
    typer.echo(f"stats.csv, stats.json, stats.html and difficult.txt are in {out}")
