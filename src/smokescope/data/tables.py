"""Tables for other programs, and names in them as the disk has them: what several files say can be joined."""

import csv
import io
from collections.abc import Iterable, Sequence

Cell = str | float | int | None


def to_csv(header: Sequence[str], rows: Iterable[Iterable[Cell]]) -> bytes:
    """A line of names and one for each row; six digits of a number, and nothing for what has no meaning."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(map(_shown, row) for row in rows)
    return as_on_disk(text.getvalue())


def as_on_disk(text: str) -> bytes:
    """Text with names of files in it: one that is no UTF-8 comes out as the bytes that the file has."""
    return text.encode("utf-8", "surrogateescape")


def _shown(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case str():
            return cell
        case int():
            return str(int(cell))  # what is so or not so is 1 or 0
        case _:
            return f"{cell:.6g}"
