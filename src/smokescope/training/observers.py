"""Who watches a run: a progress bar, TensorBoard, sample pictures; all through one small interface."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from smokescope.metrics.suite import Report


class Sample(NamedTuple):
    """A picture of the validation set and what the model makes of it; H x W each."""

    name: str
    picture: NDArray[np.uint8]
    mask: NDArray[np.float32]
    probability: NDArray[np.float32]
    total: NDArray[np.float32]
    aleatoric: NDArray[np.float32]
    epistemic: NDArray[np.float32]


class Progress(NamedTuple):
    """Where a run stands."""

    step: int
    steps: int
    losses: Mapping[str, float]
    rate: float
    """Learning rate."""
    pictures_per_second: float


class Observer(Protocol):
    """Is told how a run goes, in its first process only."""

    def progressed(self, progress: Progress) -> None:
        """Some steps were made."""
        ...

    def validated(self, step: int, report: Report, samples: Sequence[Sample]) -> None:
        """The model was tried on what it was not trained on."""
        ...


class Observers:
    """Several as one."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def progressed(self, progress: Progress) -> None:
        """Tell each."""
        for observer in self._observers:
            observer.progressed(progress)

    def validated(self, step: int, report: Report, samples: Sequence[Sample]) -> None:
        """Tell each."""
        for observer in self._observers:
            observer.validated(step, report, samples)
