"""Data is looked at before it is worked on: all that is wrong is told at once, before any time is spent."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from smokescope.cli.console import complain, progress_bar, work_through
from smokescope.errors import SmokescopeError

if TYPE_CHECKING:
    from smokescope.data.layouts import Listing, Pair


def check_first(listing: "Listing", skip_bad: bool) -> "Listing":
    """Read every file once: the pairs that can be used, and the problems, which are told.

    Raises:
        SmokescopeError: Something is wrong and `skip_bad` is not set, or nothing usable is left.
    """
    from smokescope.data.pairs import usable_pairs

    with progress_bar("checking") as show:
        usable = usable_pairs(listing, skip_bad, show)
    for problem in usable.problems:
        complain(problem)
    return usable


def work_on_checked(pairs: "Sequence[Pair]", work: "Callable[[Pair], None]", *, label: str) -> None:
    """Do the same with each pair that `check_first` found good.

    Raises:
        SmokescopeError: One failed all the same, as files may change in between; others were still tried.
    """
    if work_through(pairs, work, label=label).failed:
        raise SmokescopeError("nothing was written: files changed after they had been checked; run it again")
