"""`smokescope data scribble`: a few strokes for each mask, as a hurried person would draw them."""

from pathlib import Path
from typing import Annotated

import typer

from smokescope.cli.checking import check_first, work_on_checked


def scribble(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Data set: pictures and their masks.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the scribbles; created if missing.")],
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the strokes.")] = 0,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out unusable files.")] = False,
) -> None:
    """Draw scribbles from masks.

    DIR/NAME.png is 8-bit grey: 0 unknown, 1 smoke, 2 background. A picture's strokes depend only on the seed
    and on its own name and mask, so adding pictures does not change them.
    """
    from smokescope.data.files import try_folder, write_together
    from smokescope.data.layouts import Pair, list_pairs, refuse_among
    from smokescope.data.pairs import read_pair
    from smokescope.data.pictures import encode_png
    from smokescope.data.scribbles import draw_scribble, scribble_seed

    listing = list_pairs(folder)
    refuse_among(out, listing)
    try_folder(out)
    pairs, problems = check_first(listing, skip_bad)
    scribbles: dict[Path, bytes] = {}

    def draw(pair: Pair) -> None:
        _, mask = read_pair(pair)
        strokes = draw_scribble(mask, scribble_seed(seed, pair.name))
        scribbles[out / f"{pair.name}.png"] = encode_png(strokes)  # some kilobytes each

    work_on_checked(pairs, draw, label="scribbles")
    write_together(scribbles)
    more = f"; {len(problems)} left out" if problems else ""
    typer.echo(f"{len(scribbles)} scribbles are in {out}{more}")
