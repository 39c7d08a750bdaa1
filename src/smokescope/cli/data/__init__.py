"""`smokescope data`: look into data, split, clean and make it."""

import typer

from smokescope.cli.data import dedupe, render, scenes, scribble, stats

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Inspect, clean, split and create data sets."
)
app.command()(dedupe.dedupe)
app.command()(stats.stats)
app.command()(scribble.scribble)
app.command()(scenes.scenes)
app.command()(render.render)
