"""Timing by turns (`smokescope.benchmark.turns`), on a GPU too, and tables of it."""

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence

import torch

from smokescope.benchmark.turns import quiet_medians, take_turns

Work = Callable[[], object]


def compare(
    candidates: Mapping[str, Work], rounds: int, warm_up: int = 2, pause: float = 0.0
) -> dict[str, float]:
    """Median seconds of each candidate in the quieter rounds; waits for the GPU where there is one."""

    def timed(work: Work) -> Callable[[], float]:
        def run() -> float:
            synchronise()
            start = time.perf_counter()
            work()
            synchronise()
            return time.perf_counter() - start

        return run

    turns = {name: timed(work) for name, work in candidates.items()}
    return quiet_medians(take_turns(turns, rounds, warm_up, pause))


def peak_memory(work: Work) -> int:
    """Bytes that work takes on the GPU at its peak, beyond what was there before."""
    work()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def synchronise() -> None:
    """Wait for the GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def machine() -> str:
    """One line on what this was measured on."""
    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    threads = f"{torch.get_num_threads()} of {os.cpu_count()} cores"
    return f"{platform.machine()} CPU, {threads}, torch {torch.__version__}"


def table(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a Markdown table, as benchmarks/RESULTS.md keeps it."""
    print(f"\n### {title}\n\n{machine()}\n")
    for row in (header, tuple("---" for _ in header), *rows):
        print(f"| {' | '.join(row)} |")
