"""Ctrl-C, and a scheduler's SIGTERM, end a run between two steps, with its state saved."""

import signal
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """While it is entered, signals are noted; a second Ctrl-C acts as it always does."""

    def __init__(self) -> None:
        self.asked = False
        self.number = int(signal.SIGTERM)
        """Number of the signal that asked; another process may have had it."""
        self._before: dict[signal.Signals, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        if current_thread() is main_thread():  # signals come to no other
            self._before = {each: signal.signal(each, self._note) for each in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked, self.number = True, number
        # a scheduler may send SIGTERM twice, once by torchrun; an impatient hand has Ctrl-C, which acts again
        signal.signal(signal.SIGINT, self._before[signal.SIGINT])
