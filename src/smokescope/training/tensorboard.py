"""TensorBoard's view of a run."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from smokescope.data.files import plain_reason
from smokescope.errors import SmokescopeError
from smokescope.metrics.suite import Report, flatten
from smokescope.training.observers import Progress, Sample


class TensorBoard:
    """An observer that writes event files.

    Args:
        folder: Where to. A resumed run adds a file.
        after: The step that a run is resumed after; what an earlier file shows of later ones is withdrawn.
    """

    def __init__(self, folder: Path, after: int | None = None) -> None:
        self._folder, self._after = folder, after
        self._writer: SummaryWriter | None = None  # made when there is something to write

    def progressed(self, progress: Progress) -> None:
        """Show losses, rate and speed."""
        values = {f"loss/{name}": value for name, value in progress.losses.items()}
        values |= {"rate": progress.rate, "pictures_per_second": progress.pictures_per_second}
        self._add(progress.step, values)

    def validated(self, step: int, report: Report, samples: Sequence[Sample]) -> None:
        """Show every figure, as `validation/f_beta/mean`; undefined ones are left out."""
        known = {f"validation/{name}": value for name, value in flatten(report).items() if value is not None}
        self._add(step, known)

    def close(self) -> None:
        """Write what is left; what cannot be written was complained about, or is lost with this view only."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()

    def _add(self, step: int, values: Mapping[str, float]) -> None:
        try:
            if self._writer is None:
                purged = None if self._after is None else self._after + 1
                self._writer = SummaryWriter(str(self._folder), purge_step=purged, flush_secs=10)
            for name, value in values.items():
                self._writer.add_scalar(name, value, step)
        except OSError as error:  # of the thread that writes
            raise SmokescopeError(f"{self._folder} cannot be written: {plain_reason(error)}") from error
