"""How fast messages are taken, and how a queue of SQS stands."""

from __future__ import annotations

import threading
import time
from collections import deque

import msgspec

#: rates are of so many seconds
_WINDOW_S = 60.0


class Rate:
    """How many per second, the last minute. Threads may add while another looks."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.counted: deque[tuple[float, int]] = deque()
        self.lock = threading.Lock()

    def add(self, count: int) -> None:
        if count:
            with self.lock:
                self.counted.append((time.monotonic(), count))
                self._forget()

    @property
    def per_second(self) -> float:
        with self.lock:
            self._forget()
            total = sum(count for _, count in self.counted)
        return round(total / min(_WINDOW_S, max(1.0, time.monotonic() - self.began)), 2)

    def _forget(self) -> None:
        oldest = time.monotonic() - _WINDOW_S
        while self.counted and self.counted[0][0] < oldest:
            self.counted.popleft()


class SqsState(msgspec.Struct, rename="camel"):
    """A queue of SQS: messages that wait and that are in hand as SQS told last, None before that. `receiving` is false
    while it does not answer as it should."""

    name: str
    consumers: int
    receiving: bool
    waiting: int | None
    in_flight: int | None
    moved: int
    per_second: float
