"""`smokescope data render`: smoke without end over pictures of one's own, and what is not smoke."""

from pathlib import Path
from typing import Annotated

import typer

from smokescope.cli.checking import check_first
from smokescope.cli.console import work_through
from smokescope.cli.devices import DEVICE_HELP, enough_memory
from smokescope.errors import SmokescopeError

PARTS = ("img", "gt", "opacity", "transmission")


def render(
    backgrounds: Annotated[
        Path,
        typer.Argument(
            metavar="BACKGROUNDS", help="A folder of pictures, or a data set, whose smoke stays in the masks."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for img/, gt/ and other results.")],
    count: Annotated[int, typer.Option(min=1, help="Number of pictures to render.")] = 100,
    seed: Annotated[
        int, typer.Option(min=0, max=2**40, help="Random seed; the same seed gives the same pictures.")
    ] = 0,
    lookalikes: Annotated[
        bool, typer.Option("--lookalikes", help="Render fog, cloud, dust, glare and drops instead of smoke.")
    ] = False,
    long_side: Annotated[
        int, typer.Option(min=64, help="Longest side in pixels; larger backgrounds are shrunk.")
    ] = 1280,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out unusable files.")] = False,
    device: Annotated[str, typer.Option(help=DEVICE_HELP)] = "auto",
) -> None:
    """Render smoke over real backgrounds.

    img/NAME.jpg is the picture and gt/NAME.png its mask: a data set like any other. opacity/NAME.png and
    transmission/NAME.png are the ground truth of the rendered smoke in 16-bit grey (65535 is 1). With
    --lookalikes only img/ is written: a folder of pictures without smoke.
    """
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from smokescope.chance import make_keys
    from smokescope.data.files import try_folder, write_together
    from smokescope.data.layouts import list_negatives, list_pictures
    from smokescope.data.pairs import read_pair
    from smokescope.data.pictures import encode_jpeg, encode_png, shrink
    from smokescope.inference.devices import choose_device
    from smokescope.physics.rendering.lookalikes import render_lookalikes
    from smokescope.physics.rendering.smoke import render_smoke

    find = list_negatives if lookalikes else list_pictures  # over smoke, a lookalike would be no negative
    listing = find(backgrounds)
    if out.resolve().is_relative_to(backgrounds.resolve()):
        raise SmokescopeError(
            f"{out} lies inside {backgrounds}, among the backgrounds: name another output folder"
        )
    if any(any((out / part).glob("*")) for part in PARTS):
        raise SmokescopeError(f"{out} already holds a data set, and the two would mix: name an empty folder")
    where = choose_device(device)
    try_folder(out)
    pairs, problems = check_first(listing, skip_bad)
    order = np.random.default_rng(seed).permutation(len(pairs))

    def as_picture(batch: torch.Tensor) -> NDArray[np.uint8]:
        return np.asarray((batch[0].permute(1, 2, 0) * 255).round().cpu().numpy(), np.uint8)

    def as_map(batch: torch.Tensor, white: int) -> NDArray[np.uint16]:
        return np.asarray((batch[0, 0] * white).round().cpu().numpy(), np.uint16)

    def write_one(number: int) -> None:
        pair = pairs[order[number % len(pairs)]]
        with enough_memory(pair.picture):
            picture, mask = read_pair(pair)
            picture, mask = shrink(picture, long_side), shrink(mask, long_side)
            batch = torch.from_numpy(picture).to(where).permute(2, 0, 1)[None] / 255
            # of a picture's number: a longer run begins with a shorter one's pictures
            keys = make_keys(seed, torch.tensor([number], device=where))
            name = f"{number:06d}"
            if lookalikes:
                result = render_lookalikes(batch, keys)
                files = {out / "img" / f"{name}.jpg": encode_jpeg(as_picture(result))}
            else:
                masks = torch.from_numpy(mask).to(where)[None, None]
                rendered = render_smoke(batch, keys, masks)
                files = {
                    out / "img" / f"{name}.jpg": encode_jpeg(as_picture(rendered.picture)),
                    out / "gt" / f"{name}.png": encode_png(as_map(rendered.mask, 255).astype(np.uint8)),
                    out / "opacity" / f"{name}.png": encode_png(as_map(rendered.opacity, 65535)),
                    out / "transmission" / f"{name}.png": encode_png(as_map(rendered.transmission, 65535)),
                }
            write_together(files)

    outcome = work_through(range(count), write_one, label="rendering")
    if outcome.done:
        kind = "pictures that only look like smoke" if lookalikes else "pictures with rendered smoke"
        left_out = f" ({len(problems)} left out)" if problems else ""
        typer.echo(f"{outcome.done} {kind}, over {len(pairs)} backgrounds{left_out}, are in {out}")
    raise typer.Exit(outcome.exit_code)
