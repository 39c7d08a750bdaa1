"""The command line: one thin module a verb.

Verbs import what is heavy (torch above all) inside their function, so that `--help` answers at once.
"""

import errno
import io
import logging
import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from smokescope import __version__
from smokescope.cli import (
    benchmark,
    convert,
    data,
    evaluate,
    export,
    info,
    predict,
    serve,
    train,
    transmission,
)
from smokescope.cli.console import complain
from smokescope.data.files import plain_reason
from smokescope.errors import SmokescopeError, StoppedError

app = typer.Typer(
    name="smokescope",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: quick, and the same in a terminal and in a pipe
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(predict.predict)
app.command()(train.train)
app.command()(evaluate.evaluate)
app.command()(serve.serve)
app.command()(transmission.transmission)
app.command()(export.export)
app.command()(benchmark.benchmark)
app.command()(convert.convert)
app.command()(info.info)
app.add_typer(data.app, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"smokescope {__version__}")
        raise typer.Exit


@app.callback()
def smokescope(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """See smoke, and how sure to be.

    Exit codes: 0 success; 1 some of several inputs failed; 2 nothing could be done, and a message says why;
    128 + N ended by signal N.
    """


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of a disk that takes no more, which may be stdout's


def _leave(number: int, frame: FrameType | None) -> None:
    """Leave as an exception does, so that what was half written is removed."""
    sys.exit(128 + number)


def main() -> None:
    """Entry point of the `smokescope` command: bad input becomes one sentence, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names may hold what a terminal cannot show
    signal.signal(signal.SIGTERM, _leave)
    logging.getLogger("PIL").addHandler(logging.NullHandler())  # the sentence is ours to say
    try:
        app()  # typer sees to bad usage (exit code 2), Ctrl-C (130) and readers that go away (1), all quietly
    except SmokescopeError as error:
        complain(error)
        sys.exit(128 + error.number if isinstance(error, StoppedError) else 2)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        complain(SmokescopeError(f"the output cannot be written: {plain_reason(error)}"))
        sys.exit(2)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # while Python ends, an exception is a traceback
