"""Time, as milliseconds since 1970, from one place that a simulation can replace."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol

from penstock.errors import BadInput

if TYPE_CHECKING:
    import asyncio

_MS, _SECOND = 1_000_000, 1_000_000_000
_DAY = 24 * 3600 * _SECOND
_LEAP = _SECOND // 10  # an engine that has nothing to do looks so often
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


class SpeedClock:
    """Time that goes `speed` times as fast, for demos: hours of waiting pass while somebody watches. While an effect
    works (`busy`) it goes no faster than the machine's, so no attempt, run or approval times out by its own work.

    Between two looks at it no more than a tenth of a second counts: what the machine needs to start, or for something
    else, is not leapt over a hundred times as fast.

    It goes on from the newest time of the store, however far ahead that is: a store that was driven fast stays ahead of
    the machine, and `speed` 1 drives it on from there."""

    def __init__(
        self, speed: float, not_before: int = 0, wall: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:  # fmt: skip
        self.speed, self.rate = speed, speed
        self.busy: Callable[[], bool] = lambda: False
        self._monotonic, self._seen = monotonic, monotonic()
        self._at = max(wall(), not_before * _MS)

    def now(self) -> int:
        """What has passed since the last look counts at the rate that was then."""
        seen = self._monotonic()
        went = max(seen - self._seen, 0)
        self._at += int(min(went, _LEAP) * self.rate) if self.rate > 1 else went
        self._seen, self.rate = seen, 1.0 if self.busy() else self.speed
        return self._at // _MS


class ManualClock:
    """Time that moves only when somebody moves it: for tests and scenarios. `at` is the moment, in milliseconds.

    Whoever takes virtual time sleeps here, and `next_wake` says who is first; a moment is never left out, so
    `move_to` goes no further than that, and never back."""

    def __init__(self, at: int = 1_700_000_000_000) -> None:
        self.at = at
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []  # heap of moment, number, who is woken
        self._count = 0

    def now(self) -> int:
        return self.at

    async def sleep_until(self, at: int) -> None:
        """Until the clock has been moved there."""
        if at <= self.at:
            return
        from asyncio import get_running_loop  # commands that only look ask for the time, and need no loop

        self._count += 1
        future = get_running_loop().create_future()
        heappush(self._sleepers, (at, self._count, future))
        await future

    def next_wake(self) -> int | None:
        """When the first who sleeps wakes."""
        while self._sleepers and self._sleepers[0][2].done():
            heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def move_to(self, at: int) -> None:
        """Wakes everybody who slept until then. Raises BadInput for a moment in the past, or behind a sleeper."""
        first = self.next_wake()
        if at < self.at:
            raise BadInput(what="the time", why=f"it would go back by {self.at - at} ms, and time goes on")
        if first is not None and first < at:
            raise BadInput(what="the time", why=f"something happens {at - first} ms before")
        self.at = at
        while (first := self.next_wake()) is not None and first <= at:
            heappop(self._sleepers)[2].set_result(None)
