"""`smokescope data dedupe`: pictures and smoke that a data set holds more than once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smokescope.cli.checking import check_first, work_on_checked
from smokescope.cli.console import work_through

if TYPE_CHECKING:
    from smokescope.data.groups import Entry, Group
    from smokescope.data.layouts import Pair
    from smokescope.report.sheets import Row

PAGES = 12  # of the sheet: some 150 groups, more than anybody looks at
SHOWN = 16  # pictures of a group on the sheet


def dedupe(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A data set, or a folder of pictures.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results; created if missing.")],
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out unusable files.")] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed for what the sheets show of large groups.")
    ] = 0,
) -> None:
    """Find duplicate pictures, and smoke pasted more than once.

    Exact: the same pixels. Near: the same picture re-encoded, resized, slightly cropped or toned, with the
    same mask. Smoke: masks of the same shape, moved, mirrored or scaled, over any background; needs masks.

    keep.txt lists the pictures to keep, duplicates.json which picture repeats which, and sheet-NNN.png shows
    the largest groups.
    """
    from itertools import islice

    from smokescope.data.duplicates import glance
    from smokescope.data.files import try_folder, write_together
    from smokescope.data.groups import KINDS, Entry, Sieve
    from smokescope.data.layouts import list_pictures, refuse_among
    from smokescope.data.pairs import read_pair
    from smokescope.data.pictures import encode_png
    from smokescope.data.plumes import plume
    from smokescope.data.tables import as_on_disk
    from smokescope.report.sheets import contact_sheets

    listing = list_pictures(folder)
    refuse_among(out, listing)
    try_folder(out)
    usable, _ = check_first(listing, skip_bad)
    entries: list[Entry] = []

    def read(pair: Pair) -> None:
        picture, mask = read_pair(pair)
        if pair.mask is None:
            entries.append(Entry(pair.name, glance(picture, None), None))
        else:
            entries.append(Entry(pair.name, glance(picture, mask), plume(mask)))

    work_on_checked(usable, read, label="reading")
    sieve = Sieve()
    work_through(sorted(entries, key=lambda entry: entry.rank), sieve.add, label="comparing")

    groups, pairs = sieve.groups(), {pair.name: pair for pair in usable}
    pages = [encode_png(page) for page in islice(contact_sheets(_rows(groups, pairs, seed)), PAGES)]
    write_together(
        {
            out / "duplicates.json": _report(entries, groups),
            out / "keep.txt": as_on_disk("".join(f"{name}\n" for name in sorted(sieve.kept))),
            **{out / f"sheet-{i:03}.png": page for i, page in enumerate(pages, 1)},
        }
    )
    for i in range(len(pages) + 1, PAGES + 1):  # of an earlier run: they would show what is no longer so
        (out / f"sheet-{i:03}.png").unlink(missing_ok=True)
    for kind in KINDS:
        found = [group for group in groups if group.kind == kind]
        typer.echo(f"{kind:6}{sum(len(g.dropped) for g in found):6} to drop, like {len(found)} to keep")
    typer.echo(f"{len(sieve.kept)} of {len(entries)} pictures to keep: {out / 'keep.txt'}")


def _report(entries: Sequence[Entry], groups: Sequence[Group]) -> bytes:
    import json
    from typing import get_args

    from smokescope.data.groups import KINDS
    from smokescope.data.plumes import Unfit
    from smokescope.data.tables import as_on_disk

    pixels = {entry.name: entry.look.pixels for entry in entries}
    written = [
        {
            "kind": group.kind,
            "kept": group.kept,
            "why": "most pixels"
            if pixels[group.kept] > max(pixels[dropped.name] for dropped in group.dropped)
            else "first name of those with most pixels",
            "dropped": [
                {"name": name, "picture": _rounded(picture), "mask": _rounded(mask)}
                for name, picture, mask in sorted(group.dropped)
            ],
        }
        for group in groups
    ]
    dropped = {kind: sum(len(g.dropped) for g in groups if g.kind == kind) for kind in KINDS}
    report = {
        "pictures": len(entries),
        "kept": len(entries) - sum(dropped.values()),
        "dropped": dropped,
        "smoke_not_compared": {
            why: sorted(entry.name for entry in entries if entry.smoke == why) for why in get_args(Unfit)
        },
        "groups": {kind: [group for group in written if group["kind"] == kind] for kind in KINDS},
    }
    return as_on_disk(json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _rows(groups: Sequence[Group], pairs: Mapping[str, Pair], seed: int) -> Iterator[Row]:
    """A row a group, the largest first, the kept picture before the others."""
    import numpy as np

    from smokescope.data.pairs import read_pair
    from smokescope.report.sheets import Row, Tile

    chance = np.random.default_rng(seed)
    for group in sorted(groups, key=lambda g: -len(g.dropped)):
        some = sorted(group.dropped)
        if len(some) >= SHOWN:
            some = [some[i] for i in sorted(chance.choice(len(some), SHOWN - 1, replace=False))]
        captions = {group.kept: f"{group.kept} (kept)"}
        for one in some:
            score = one.mask if group.kind == "smoke" else one.picture
            captions[one.name] = f"{score:.3f} {one.name}"
        tiles = list[Tile]()
        for name, caption in captions.items():
            picture, mask = read_pair(pairs[name])
            tiles.append(Tile(picture, caption, None if pairs[name].mask is None else mask > 0.5))
        shown = "" if len(some) == len(group.dropped) else f" ({len(some)} shown)"
        yield Row(f"{group.kind}: {group.kept} and {len(group.dropped)} like it{shown}", tiles)
