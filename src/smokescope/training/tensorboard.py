"""TensorBoard's view of a run."""

from collections.abc import Sequence
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from smokescope.metrics.suite import Report
from smokescope.training.observers import Progress, Sample


class TensorBoard:
    """An observer that writes event files.

    Args:
        folder: Where to. A resumed run adds a file; where steps come by again, the later ones are shown.
    """

    def __init__(self, folder: Path) -> None:
        self._writer = SummaryWriter(str(folder), flush_secs=10)

    def progressed(self, progress: Progress) -> None:
        """Show losses, rate and speed."""
        values = {f"loss/{name}": value for name, value in progress.losses.items()}
        values |= {"rate": progress.rate, "pictures_per_second": progress.pictures_per_second}
        self._add(progress.step, values)

    def validated(self, step: int, report: Report, samples: Sequence[Sample]) -> None:
        """Show every figure, as `validation/f_beta/mean`."""
        self._add(step, flatten(report))

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()

    def _add(self, step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)


def flatten(report: object, prefix: str = "validation") -> dict[str, float]:
    """Nested figures by their path; undefined ones are left out."""
    if isinstance(report, dict):
        parts = [flatten(value, f"{prefix}/{name}") for name, value in report.items()]
        return {name: value for part in parts for name, value in part.items()}
    return {prefix: float(report)} if isinstance(report, int | float) else {}
