"""A set of pictures in figures: a row of measures for each, a summary of all, as CSV and JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smokescope.data.attributes import (
    GRID,
    Picture,
    SmokeAttributes,
    centre_bias,
    channel_range,
    confusable,
    measure_smoke,
    place_map,
)
from smokescope.data.difficulty import TERMS, Ranked, most_difficult, rank_by_difficulty
from smokescope.data.json_files import encode_json
from smokescope.data.quality import Quality, measure_quality
from smokescope.data.tables import as_on_disk, to_csv

Value = float | int | None


class Measures(NamedTuple):
    """One picture's."""

    name: str
    width: int
    height: int
    smoke: SmokeAttributes | None
    """None for a picture of which no mask tells where smoke is."""
    confusable: float
    quality: Quality

    def values(self) -> dict[str, Value]:
        """The measures by their names, in the order of the CSV file's columns."""
        smoke = self.smoke._asdict() if self.smoke else dict.fromkeys(SmokeAttributes._fields)
        return {**smoke, "confusable": self.confusable, **self.quality._asdict()}


ATTRIBUTES = (*SmokeAttributes._fields, "confusable", *Quality._fields)


@dataclass(frozen=True)
class Summary:
    """One attribute over a set; quartiles are interpolated."""

    count: int
    mean: float | None
    minimum: float | None
    quartile1: float | None
    median: float | None
    quartile3: float | None
    maximum: float | None


def summarise(values: Sequence[Value]) -> Summary:
    """Summarise the values that are there; all but the count is None where none is."""
    known = np.array([value for value in values if value is not None], np.float64)
    if known.size == 0:
        return Summary(0, None, None, None, None, None, None)
    low, first, middle, third, high = (float(q) for q in np.quantile(known, [0, 0.25, 0.5, 0.75, 1]))
    return Summary(known.size, float(known.mean()), low, first, middle, third, high)


@dataclass
class Statistics:
    """The measures of a set; pictures are added one by one, and none of their pixels is kept."""

    rows: list[Measures] = field(default_factory=list)
    places: NDArray[np.float64] = field(default_factory=lambda: np.zeros((GRID, GRID)))

    def add(self, name: str, picture: Picture, mask: NDArray[np.float32] | None) -> None:
        """Measure a picture, H x W x 3, and its mask, H x W; smoke is where the mask exceeds 0.5."""
        smoke = np.zeros(picture.shape[:2], np.bool_) if mask is None else mask > 0.5
        attributes = None if mask is None else measure_smoke(picture, smoke)
        channels = channel_range(picture)
        alike, quality = confusable(channels, smoke), measure_quality(picture, channels)
        height, width = smoke.shape
        self.rows.append(Measures(name, width, height, attributes, alike, quality))
        self.places += place_map(smoke)

    def column(self, attribute: str) -> list[Value]:
        """An attribute's values, a picture each."""
        return [row.values()[attribute] for row in self.rows]

    def ranking(self) -> list[Ranked]:
        """The pictures with smoke, the most difficult first."""
        columns = {term.attribute: self.column(term.attribute) for term in TERMS}
        return rank_by_difficulty([row.name for row in self.rows], columns)

    def to_csv(self) -> bytes:
        """A line a picture in the order of names; a missing value is empty."""
        places = {ranked.number: (ranked.score, rank) for rank, ranked in enumerate(self.ranking(), 1)}
        table = [
            (row.name, row.width, row.height, *row.values().values(), *places.get(index, (None, None)))
            for index, row in sorted(enumerate(self.rows), key=lambda pair: pair[1].name)
        ]
        return to_csv(("name", "width", "height", *ATTRIBUTES, "difficulty", "rank"), table)

    def to_json(self, share: float) -> bytes:
        """The summary of the set; `share` of it counts as difficult."""
        ranking = self.ranking()
        document = {
            "pictures": len(self.rows),
            "with_mask": sum(row.smoke is not None for row in self.rows),
            "with_smoke": len(ranking),
            "centre_bias": centre_bias(self.places),
            "attributes": {name: asdict(summarise(self.column(name))) for name in ATTRIBUTES},
            "difficult": {
                "share": share,
                "count": len(most_difficult(ranking, share)),
                "terms": [{"attribute": t.attribute, "hard": _end(t.high_is_hard)} for t in TERMS],
            },
        }
        return encode_json(document, indent=2)

    def difficult_names(self, share: float) -> bytes:
        """The names of the most difficult share, a line each, the most difficult first."""
        names = [self.rows[ranked.number].name for ranked in most_difficult(self.ranking(), share)]
        return as_on_disk("".join(f"{name}\n" for name in names))


def _end(high: bool) -> str:
    return "high" if high else "low"
