"""The one exception that stands for somebody's mistake rather than ours."""

from collections.abc import Sequence


class SmokescopeError(Exception):
    """Bad input, in one sentence for a person: which file, and what to do. The CLI prints it; exit code 2.

    Args:
        sentence: The complaint.
        details: Further complaints that belong to it, each printed on a line of its own.
    """

    def __init__(self, sentence: str, details: Sequence["SmokescopeError"] = ()) -> None:
        super().__init__(sentence)
        self.sentence, self.details = sentence, tuple(details)

    def __str__(self) -> str:
        return "\n  ".join((self.sentence, *map(str, self.details)))


class StoppedError(SmokescopeError):
    """Not a mistake: a signal ended work that can go on. The exit code is 128 and the signal's number."""

    def __init__(self, sentence: str, number: int) -> None:
        super().__init__(sentence)
        self.number = number
