"""Time, as milliseconds since 1970, from one place that a simulation can replace."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> int: ...


class SystemClock:
    def now(self) -> int:
        return time.time_ns() // 1_000_000


class ManualClock:
    """Time that moves only when it is told to."""

    def __init__(self, at: int = 1_700_000_000_000) -> None:
        self.at = at

    def now(self) -> int:
        return self.at
