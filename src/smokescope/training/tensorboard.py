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

    A resumed run adds a file, and withdraws what earlier ones show of the steps that it makes again.

    Args:
        folder: Where to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: SummaryWriter | None = None  # made when there is something to write

    def progressed(self, progress: Progress) -> None:
        """Show losses, rate and speed."""
        values = {f"loss/{name}": value for name, value in progress.losses.items()}
        values |= {"rate": progress.rate, "pictures_per_second": progress.pictures_per_second}
        self._add(progress.step, values, anew=progress.step)

    def validated(self, step: int, report: Report, samples: Sequence[Sample]) -> None:
        """Show every figure, as `validation/f_beta/mean`; undefined ones are left out."""
        known = {f"validation/{name}": value for name, value in flatten(report).items() if value is not None}
        self._add(step, known, anew=step + 1)  # told first, it is of a run that had come to its end

    def close(self) -> None:
        """Write what is left; what cannot be written was complained about, or is lost with this view only."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.close()

    def _add(self, step: int, values: Mapping[str, float], anew: int) -> None:
        try:
            if self._writer is None:
                self._writer = SummaryWriter(str(self._folder), purge_step=anew, flush_secs=10)
            for name, value in values.items():
                self._writer.add_scalar(name, value, step)
        except OSError as error:  # of the thread that writes
            raise SmokescopeError(f"{self._folder} cannot be written: {plain_reason(error)}") from error
