"""`smokescope data scenes`: which pictures show the same view, and folds that keep them together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from smokescope.cli.checking import check_first, work_on_checked
from smokescope.cli.console import progress_bar, work_through
from smokescope.errors import SmokescopeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from smokescope.data.scenes import Scenes
    from smokescope.data.sets import PictureName, PictureSet
    from smokescope.data.views import Views
    from smokescope.report.sheets import Row

SHOWN = 24  # pictures of a scene on the sheets, three lines
ALONE = 96  # pictures without a like in one row
PAGES = 30  # more than anybody looks at

_SHEETS = "sheet-[0-9][0-9][0-9].png"


class _Loaded(NamedTuple):
    """What is kept of every picture that could be read."""

    pictures: list[PictureName]
    views: Views
    thumbnails: list[NDArray[np.uint8]]


def scenes(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER", help="Data sets or folders of pictures; all are grouped together."),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results; created if missing.")],
    folds: Annotated[int, typer.Option(min=0, help="Number of folds to make; 0 for none.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the order of scenes of equal size.")] = 0,
    against: Annotated[
        Path | None, typer.Option(metavar="OTHER", help="Another folder: also report which scenes it shows.")
    ] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out unusable files.")] = False,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.1, max=1, help="Least similarity that links two pictures; 0.22 if not given."),
    ] = None,
) -> None:
    """Group pictures by the view they show.

    Pictures of the same camera and view are one scene, even if minutes or days apart. DIR gets scenes.json,
    the groups; folds.json, a split that keeps each scene in one fold; and sheet-001.png and so on (at most
    30, the largest scenes first) to check the groups by eye. With --against, against.json says for each
    picture whether OTHER shows its scene too (seen) or not (unseen).
    """
    from itertools import islice

    from smokescope.data.comparison import Comparison, compare
    from smokescope.data.files import try_folder, write_together
    from smokescope.data.folds import make_folds
    from smokescope.data.layouts import refuse_among
    from smokescope.data.pictures import encode_png
    from smokescope.data.scenes import THRESHOLD, Grouping, Scenes
    from smokescope.data.sets import list_sets
    from smokescope.report.sheets import contact_sheets

    if folds == 1:
        raise SmokescopeError("one fold is not a split: ask for 2 or more, or for none (--folds 0)")
    limit = THRESHOLD if threshold is None else threshold
    listed = list_sets([*folders, *([against] if against else [])])
    own = [s for s in listed if s.folder.resolve() in {folder.resolve() for folder in folders}]
    others = [s for s in listed if s not in own]
    if against and not others:
        raise SmokescopeError(f"{against} cannot be compared with itself: name another folder")
    for each in listed:
        refuse_among(out, each.listing)
    try_folder(out)
    own, others = _check((own, others), skip_bad)

    loaded = _load(own)
    grouping = Grouping(loaded.views, limit)
    work_through(range(len(loaded.pictures)), grouping.link, label="comparing")
    groups = Scenes.of(grouping.scenes, loaded.pictures, {s.name: s.kind for s in own}, limit)
    split = make_folds(groups, folds, seed) if folds else None

    files = {out / "scenes.json": groups.encode()}
    if split:
        files[out / "folds.json"] = split.encode()
    compared: Comparison | None = None
    if others:
        theirs = _load(others)
        with progress_bar("comparing sets") as show:
            found = compare(grouping, loaded.pictures, theirs.views, theirs.pictures, show)
        kinds = {s.name: s.kind for s in own}, {s.name: s.kind for s in others}
        compared = Comparison(limit, *kinds, found)
        files[out / "against.json"] = compared.encode()
    pages = contact_sheets(_rows(groups, loaded))
    sheets = {out / f"sheet-{i:03}.png": encode_png(page) for i, page in enumerate(islice(pages, PAGES), 1)}
    write_together(files | sheets)
    earlier = {*out.glob(_SHEETS), out / "folds.json", out / "against.json"}
    for leftover in earlier - set(sheets) - set(files):  # of another run: they would speak of other scenes
        leftover.unlink(missing_ok=True)

    sizes = [len(scene) for scene in groups.scenes]
    typer.echo(
        f"{sum(sizes)} pictures show {len(sizes)} scenes; the largest has {max(sizes)} pictures, "
        f"{sizes.count(1)} have one"
    )
    if split:
        typer.echo(f"folds of {', '.join(str(len(fold)) for fold in split.folds)} pictures")
    if compared:
        seen = sum(each.status == "seen" for each in compared.pictures.values())
        typer.echo(
            f"pictures whose scene {against} shows too: {seen}; others: {len(compared.pictures) - seen}"
        )
    typer.echo(f"written to {out}: {', '.join(path.name for path in [*files, *sheets])}")


def _check(sides: Sequence[Sequence[PictureSet]], skip_bad: bool) -> list[list[PictureSet]]:
    """Check the sets of all sides in one report, and keep of each set what can be used."""
    from smokescope.data.layouts import Listing

    listings = [given.listing for side in sides for given in side]
    pairs = [pair for listing in listings for pair in listing.pairs]
    problems = [problem for listing in listings for problem in listing.problems]
    usable = set(check_first(Listing(pairs, problems), skip_bad).pairs)
    checked = [
        [s._replace(listing=Listing([p for p in s.listing.pairs if p in usable], [])) for s in side]
        for side in sides
    ]
    for side in checked:
        if side and not any(given.listing.pairs for given in side):
            folders = ", ".join(str(given.folder) for given in side)
            raise SmokescopeError(f"no usable picture is left in {folders}")
    return checked


def _load(sets: Sequence[PictureSet]) -> _Loaded:
    """Read all pictures of some sets."""
    import numpy as np
    from numpy.typing import NDArray

    from smokescope.data.layouts import Pair
    from smokescope.data.pictures import read_picture
    from smokescope.data.sets import PictureName
    from smokescope.data.views import Views, describe_view
    from smokescope.report.sheets import TILE
    from smokescope.report.thumbnails import thumbnail

    pictures, views, thumbnails = list[PictureName](), list[Views](), list[NDArray[np.uint8]]()
    for given in sets:

        def read(pair: Pair, name: str = given.name) -> None:
            picture = read_picture(pair.picture)  # its mask was checked, and is not needed
            views.append(describe_view(picture))
            thumbnails.append(thumbnail(picture, None, TILE))
            pictures.append(PictureName(name, pair.name))

        work_on_checked(given.listing.pairs, read, label=f"reading {given.name}")
    return _Loaded(pictures, Views.stack(views), thumbnails)


def _rows(groups: Scenes, loaded: _Loaded) -> Iterator[Row]:
    """A row for each scene, its first picture and then those least like it; at the end what is alone."""
    import numpy as np

    from smokescope.data.views import compare_views
    from smokescope.report.sheets import Row, Tile

    index = {picture: i for i, picture in enumerate(loaded.pictures)}

    def tile(i: int) -> Tile:
        return Tile(loaded.thumbnails[i], loaded.pictures[i].name)

    alone = [index[scene[0]] for scene in groups.scenes if len(scene) == 1]
    for number, scene in enumerate(groups.scenes[: len(groups.scenes) - len(alone)], 1):
        first, *rest = (index[picture] for picture in scene)
        alike = compare_views(loaded.views.fine[first], loaded.views.fine[rest])
        shown = [first, *(rest[i] for i in np.argsort(alike, kind="stable")[: SHOWN - 1])]
        least = f", the first and the {SHOWN - 1} least like it" if len(scene) > SHOWN else ""
        yield Row(f"scene {number}: {len(scene)} pictures{least}", [tile(i) for i in shown])
    for start in range(0, len(alone), ALONE):
        row = alone[start : start + ALONE]
        number = len(groups.scenes) - len(alone) + start + 1
        yield Row(f"scenes {number} to {number + len(row) - 1}: one picture each", [tile(i) for i in row])
