"""Timing that a busy machine does not fool: candidates take turns, and each is judged by its median."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import torch

Work = Callable[[], object]


def compare(candidates: Mapping[str, Work], rounds: int, warm_up: int = 2) -> dict[str, float]:
    """Median seconds of each candidate, run in turns; waits for the GPU where there is one."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(-warm_up, rounds):
        for name, work in candidates.items():
            synchronise()
            start = time.perf_counter()
            work()
            synchronise()
            if turn >= 0:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


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
