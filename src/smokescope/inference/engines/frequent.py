"""Things that are made for what is asked for often, and kept while it is."""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

LATELY = 30  # askings that are remembered
KEPT = 3  # values; each key's share of those askings must be a third, so that there are no more such keys


class Frequent(Generic[Key, Value]):
    """Values by key, for keys that come at least twice, and are a third of the last thirty.

    Where keys change all the time none is, and nothing is made in vain. Three at most are kept.

    Args:
        make: Makes a key's value, which may take long. One is made at a time, by the thread that asks.
    """

    def __init__(self, make: Callable[[Key], Value]) -> None:
        self._make = make
        self._asked = deque[Key](maxlen=LATELY)
        self._kept = OrderedDict[Key, Value]()  # what was not asked for longest is the first
        self._lock, self._making = threading.Lock(), threading.Lock()

    def get(self, key: Key) -> Value | None:
        """The value, if it is there or worth making; None also while another thread makes one."""
        with self._lock:
            self._asked.append(key)
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            if self._asked.count(key) < max(2, len(self._asked) / KEPT):
                return None
        if not self._making.acquire(blocking=False):
            return None
        try:
            with self._lock:
                made = self._kept.get(key)  # by a thread that was done a moment ago
            return self._keep(key, self._make(key)) if made is None else made
        finally:
            self._making.release()

    def _keep(self, key: Key, value: Value) -> Value:
        with self._lock:
            self._kept[key] = value
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return value
