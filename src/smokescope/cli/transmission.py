"""`smokescope transmission`: how much light comes through, by the dark channel prior."""

from pathlib import Path
from typing import Annotated

import typer

from smokescope.cli.console import work_through
from smokescope.cli.devices import DEVICE_HELP, enough_memory


def transmission(
    pictures: Annotated[list[Path], typer.Argument(metavar="PICTURE", help="Pictures or folders of them.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the maps; created if missing.")],
    device: Annotated[str, typer.Option(help=DEVICE_HELP)] = "auto",
) -> None:
    """Map how much light passes through the air (the dark channel prior).

    1 is clear air; 0 is smoke, haze or sky that hides what lies behind it. NAME.transmission.png is the map
    in 16-bit grey (65535 is 1); NAME.transmission.colour.png shows it in colour beside the picture.
    """
    import numpy as np
    import torch

    from smokescope.data.files import try_folder, write_together
    from smokescope.data.inputs import PictureFile, collect_pictures
    from smokescope.data.pictures import encode_png, read_picture
    from smokescope.inference.devices import choose_device
    from smokescope.physics import transmission as physics
    from smokescope.report.colours import TRANSMISSION
    from smokescope.report.panels import Legend, side_by_side

    legend = Legend("Transmission", low="smoke, haze or open sky", high="clear")
    found = collect_pictures(pictures, out)
    where = choose_device(device)
    if found.pictures:
        try_folder(out)

    def write_maps(picture: PictureFile) -> None:
        with enough_memory(picture.path):
            pixels = read_picture(picture.path)
            batch = torch.from_numpy(pixels).to(where).permute(2, 0, 1)[None] / 255
            values = physics.transmission(batch)[0, 0].cpu().numpy()
            write_together(
                {
                    picture.result(out, ".transmission.png"): encode_png(
                        np.rint(values * 65535).astype(np.uint16)
                    ),
                    picture.result(out, ".transmission.colour.png"): encode_png(
                        side_by_side(pixels, values, TRANSMISSION, legend)
                    ),
                }
            )

    outcome = work_through(found.pictures, write_maps, label="transmission", problems=found.problems)
    if outcome.done:
        typer.echo(f"{outcome.done} of {outcome.done + outcome.failed} transmission maps are in {out}")
    raise typer.Exit(outcome.exit_code)
