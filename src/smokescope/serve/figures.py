"""What the service tells of itself, in Prometheus' text format.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Histogram:
    """Counts of values up to each bound, and their sum."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str) -> Iterator[str]:
        """As Prometheus reads it: counts grow from bound to bound."""
        total = 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            total += count
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self.sum:.6f}"
        yield f"{name}_count {total}"


class Figures:
    """Everything that is counted; changed from the event loop's thread only."""

    def __init__(self) -> None:
        self.requests = Counter[tuple[str, int]]()
        self.verdicts = Counter[str]({"smoke": 0, "unsure": 0, "nothing": 0})
        self.seconds = Histogram(SECONDS)

    def text(self, waiting: int, batches: int) -> str:
        """All figures.

        Args:
            waiting: Pictures that wait for the model now.
            batches: That the model has been given.
        """
        return "\n".join(self._lines(waiting, batches)) + "\n"

    def _lines(self, waiting: int, batches: int) -> Iterator[str]:
        yield from _head("smokescope_requests_total", "counter", "Requests answered, by address and status.")
        for (path, status), count in sorted(self.requests.items()):
            yield f'smokescope_requests_total{{path="{path}",status="{status}"}} {count}'
        yield from _head("smokescope_pictures_total", "counter", "Pictures judged, by verdict.")
        for verdict, count in self.verdicts.items():
            yield f'smokescope_pictures_total{{verdict="{verdict}"}} {count}'
        yield from _head("smokescope_batches_total", "counter", "Batches processed by the model.")
        yield f"smokescope_batches_total {batches}"
        yield from _head("smokescope_queue_depth", "gauge", "Pictures waiting for the model.")
        yield f"smokescope_queue_depth {waiting}"
        name = "smokescope_segment_seconds"
        yield from _head(
            name, "histogram", "Seconds from a picture's first byte to its answer, answered pictures only."
        )
        yield from self.seconds.lines(name)


def _head(name: str, kind: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"
