"""What every verb shares: complaints, progress, and working through many inputs."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from smokescope.errors import SmokescopeError

Item = TypeVar("Item")


@dataclass(frozen=True)
class Outcome:
    """How working through many inputs went."""

    done: int
    errors: Sequence[str] = ()
    """A sentence on each that failed, as reported: an exception would keep what was decoded in memory."""

    @property
    def failed(self) -> int:
        """How many failed."""
        return len(self.errors)

    @property
    def exit_code(self) -> int:
        """0 if all went well, 1 if some did, 2 if none did."""
        if self.failed == 0:
            return 0
        return 1 if self.done else 2


def printable(text: str) -> str:
    """Show line breaks and terminal codes, which file names and metadata may hold, and do not obey them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def complain(error: SmokescopeError) -> None:
    """Print an error as one line on stderr, and a line for each of its details."""
    print(f"smokescope: {printable(error.sentence)}", file=sys.stderr)
    for detail in error.details:
        print(f"  {printable(str(detail))}", file=sys.stderr)


class Show(Protocol):
    """How a bar is moved."""

    def __call__(self, done: int, of: int, note: str = "") -> None:
        """So many are done."""
        ...


@contextmanager
def progress_bar(label: str) -> Iterator[Show]:
    """A bar with the rate and the time left, on a terminal; a pipe sees nothing.

    Yields:
        What to tell how many are done, of how many, and if there is more to say than the rate, that.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    # transient: the bar goes away when done. While it is shown, rich lifts lines of stderr above it.
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=None, rate="")

        def show(done: int, of: int, note: str = "") -> None:
            progress.update(task, completed=done, total=of, rate=note or _rate(progress.tasks[task].speed))

        yield show


def work_through(
    items: Sequence[Item],
    work: Callable[[Item], None],
    *,
    label: str,
    problems: Sequence[SmokescopeError] = (),
) -> Outcome:
    """Do the same with each of many inputs; what fails is reported, and the rest goes on.

    Args:
        items: The inputs.
        work: What to do with one. A `SmokescopeError` counts as that input's failure.
        label: What is being done, before the bar.
        problems: Inputs that failed before any work; they are reported first and counted.
    """
    for problem in problems:
        complain(problem)
    errors = [problem.sentence for problem in problems]
    with progress_bar(label) as show:
        show(0, len(items))
        for done, item in enumerate(items, 1):
            try:
                work(item)
            except SmokescopeError as error:
                complain(error)
                errors.append(error.sentence)
            show(done, len(items))
    return Outcome(len(items) + len(problems) - len(errors), errors)


def _rate(speed: float | None) -> str:
    if not speed:
        return ""
    return f"{speed:.1f}/s" if speed >= 1 else f"{1 / speed:.1f} s each"
