"""Which pictures are hard: a score from a picture's place in its set, the same on every run.

The paper tests on a "Difficult" quarter of its test set that "mainly contains transparent smoke and smoke
with more diverse shapes". Its list is not public; this ranking is a stand-in that anybody can repeat.

    score = mean over the six terms of the percentile, in this set, of how hard the term makes the picture

All terms weigh the same: any other weights would need pictures that people have ranked, and there are none. A
score compares pictures of one set only.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Term(NamedTuple):
    """An attribute, and which end of it is hard."""

    attribute: str
    high_is_hard: bool


TERMS = (
    Term("size", False),
    Term("contrast", False),
    Term("transmission_inside", True),
    Term("compactness", False),
    Term("parts", True),
    Term("confusable", True),
)


class Ranked(NamedTuple):
    """A picture's place in the ranking."""

    number: int
    """Which picture, counted from 0 as they were given."""
    score: float
    """0 (easy) to 1 (difficult)."""


def percentiles(values: Sequence[float | None], high_is_hard: bool) -> NDArray[np.float64]:
    """Where each value stands among all: (rank - 1/2) / count, ties at their mean rank, above 0 and below 1.

    A missing value stands in the middle, at 1/2: it says nothing either way.
    """
    result = np.full(len(values), 0.5)
    known = [i for i, value in enumerate(values) if value is not None]
    numbers = np.array([values[i] for i in known], np.float64) * (1 if high_is_hard else -1)
    ordered = np.sort(numbers)
    below, up_to = np.searchsorted(ordered, numbers, "left"), np.searchsorted(ordered, numbers, "right")
    result[known] = (below + up_to) / 2 / max(1, len(known))
    return result


def rank_by_difficulty(names: Sequence[str], columns: Mapping[str, Sequence[float | None]]) -> list[Ranked]:
    """Rank pictures, the most difficult first; equal scores in the order of their names.

    Args:
        names: The pictures' names.
        columns: The values of every term's attribute, a value a picture.

    Returns:
        The pictures with smoke. One without any is neither hard nor easy to segment, and not ranked.
    """
    smoky = [i for i, size in enumerate(columns["size"]) if size]
    terms = [percentiles([columns[t.attribute][i] for i in smoky], t.high_is_hard) for t in TERMS]
    # Rounded, so that pictures with the same percentiles in another order of terms do tie.
    scores = np.mean(terms, axis=0).round(9)
    ranking = [Ranked(number, float(score)) for number, score in zip(smoky, scores, strict=True)]
    return sorted(ranking, key=lambda ranked: (-ranked.score, names[ranked.number]))


def most_difficult(ranking: Sequence[Ranked], share: float) -> list[Ranked]:
    """The most difficult share of a ranking, rounded to whole pictures, and at least one unless it is 0."""
    count = int(share * len(ranking) + 0.5)
    return list(ranking[: max(count, 1 if share > 0 else 0)])
