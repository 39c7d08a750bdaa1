"""Tables read back, and hold names as the disk has them."""

import csv
import io
import os

from smokescope.data.tables import as_on_disk, to_csv


def test_a_table_reads_back() -> None:
    rows = [("a, b", 1, 0.123456789, True), ('say "x"\n', -2, 1e-9, None)]
    found = list(csv.reader(io.StringIO(to_csv(("name", "n", "x", "so"), rows).decode())))
    assert found == [
        ["name", "n", "x", "so"],
        ["a, b", "1", "0.123457", "1"],
        ['say "x"\n', "-2", "1e-09", ""],
    ]


def test_names_that_are_no_text_are_the_bytes_that_the_disk_has() -> None:
    name = os.fsdecode(b"hill\xff\xc3\xbc")
    assert to_csv(["name"], [[name]]) == b"name\nhill\xff\xc3\xbc\n"
    assert as_on_disk(f"{name}\n") == b"hill\xff\xc3\xbc\n"
