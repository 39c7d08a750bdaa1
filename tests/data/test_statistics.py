"""Statistics of a set: a row a picture, in the order of names; smoke is where a mask exceeds one half."""

import csv
import io

import numpy as np

from smokescope.data.statistics import Statistics


def table(statistics: Statistics) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(statistics.to_csv().decode())))


def test_rows_are_in_the_order_of_names_however_they_came() -> None:
    statistics = Statistics()
    sizes = {"c": (8, 30), "a": (8, 20), "b": (8, 10)}
    for name, (height, width) in sizes.items():
        mask = np.zeros((height, width), np.float32)
        mask[:2, :2] = 1
        statistics.add(name, np.zeros((height, width, 3), np.uint8), mask)
    rows = table(statistics)
    assert [(row["name"], int(row["width"])) for row in rows] == [("a", 20), ("b", 10), ("c", 30)]
    assert [float(row["size"]) for row in rows] == [0.025, 0.05, 0.0166667]  # to each its own
    # the others being equal, the smallest smoke is the most difficult
    assert [row["rank"] for row in rows] == ["2", "3", "1"]


def test_soft_masks_count_above_one_half() -> None:
    statistics = Statistics()
    mask = np.linspace(0, 1, 32, dtype=np.float32).reshape(4, 8)
    statistics.add("a", np.zeros((4, 8, 3), np.uint8), mask)
    assert table(statistics)[0]["size"] == "0.5"
