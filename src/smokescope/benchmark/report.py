"""What was measured, for people and for programs."""

import os
import platform
from collections.abc import Sequence

from smokescope import __version__
from smokescope.benchmark.measure import Measured, Measurement
from smokescope.benchmark.worker import Task

HEADER = ("engine", "ms a picture", "pictures/s", "memory MiB", "start s")


def machine(threads: int | None) -> str:
    """One line on what this was measured on."""
    used = f"{threads} of {os.cpu_count()}" if threads else f"{os.cpu_count()}"
    return f"{platform.machine()} {platform.system()}, {used} cores"


def as_table(rows: Sequence[Measurement]) -> str:
    """A line for each engine, in columns."""
    cells = [HEADER, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADER))]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in cells
    )


def best(rows: Sequence[Measurement]) -> Measurement:
    """The fastest that a command runs."""
    return min((row for row in rows if row.candidate.command), key=lambda row: row.seconds)


def advice(rows: Sequence[Measurement], threads: int | None = None) -> str:
    """One sentence: which engine to use, and what to type for it."""
    chosen = best(rows)
    others = [row for row in rows if row.candidate.command and row is not chosen]
    command = str(chosen.candidate.command)
    if threads:
        command = command.replace("smokescope serve", f"OMP_NUM_THREADS={threads} smokescope serve")
    if not others:
        return f"{chosen.candidate.name} is the one engine here that runs it: {command}"
    first = others[0]  # PyTorch, unless it is the fastest
    times = f"{first.seconds / chosen.seconds:.1f} times as fast as {first.candidate.name} here"
    return f"Use {chosen.candidate.name}, {times}: {command}"


def as_document(measured: Measured, task: Task, rounds: int, threads: int | None) -> dict[str, object]:
    """All of it as plain values for JSON."""
    rows = measured.rows
    return {
        "smokescope": __version__,
        "machine": machine(threads),
        "model": task.model,
        "width": task.width,
        "height": task.height,
        "rounds": rounds,
        "threads": threads,
        "busy": measured.busy,
        "engines": [
            {
                "name": row.candidate.name,
                "milliseconds": 1e3 * row.seconds,
                "pictures_per_second": 1 / row.seconds,
                "peak_bytes": row.peak_bytes,
                "startup_seconds": row.startup,
                "command": row.candidate.command,
            }
            for row in rows
        ],
        "best": best(rows).candidate.name,
        "advice": advice(rows, threads),
    }


def _cells(row: Measurement) -> tuple[str, ...]:
    memory = "-" if row.peak_bytes is None else f"{row.peak_bytes / 2**20:.0f}"
    speed = (f"{1e3 * row.seconds:.1f}", f"{1 / row.seconds:.1f}")
    return (row.candidate.name, *speed, memory, f"{row.startup:.1f}")
