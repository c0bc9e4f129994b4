"""Time, as milliseconds since 1970, from one place that a simulation can replace."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol

_MS, _SECOND = 1_000_000, 1_000_000_000
_DAY = 24 * 3600 * _SECOND
_SLOWER = 64  # an hour is made good in less than three days, half a second in half a minute
log = logging.getLogger("penstock")


class Clock(Protocol):
    def now(self) -> int: ...


class SystemClock:
    """The machine's time, which never goes back. Where the machine's clock is set back, this one goes on by what the
    monotonic clock measures, a little slower, until the machine's has caught up: what waits for a span of time does not
    wait longer. Set forward, it follows at once.

    `not_before` is the newest time that a store has seen: a process that is started after the clock was set back goes
    on from there, where that is less than a day ahead; more is no clock that was set back but one that was wrong."""

    def __init__(
        self, not_before: int = 0, wall: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:  # fmt: skip
        self._wall, self._monotonic = wall, monotonic
        self._seen, self._at = monotonic(), wall()
        if 0 < not_before * _MS - self._at < _DAY:
            self._at = not_before * _MS
        self._told = False

    def now(self) -> int:
        wall, seen = self._wall(), self._monotonic()
        went, self._seen = max(seen - self._seen, 0), seen
        at = self._at + went
        if wall >= at:
            self._at, self._told = wall, False
            return wall // _MS
        self._at = max(at - went // _SLOWER, wall)
        if at - wall > _SECOND and not self._told:
            self._told = True
            log.warning("the machine's clock is %d s behind; time goes on from here", (at - wall) // _SECOND)
        return self._at // _MS


class ManualClock:
    """Time that moves only when it is told to."""

    def __init__(self, at: int = 1_700_000_000_000) -> None:
        self.at = at

    def now(self) -> int:
        return self.at
