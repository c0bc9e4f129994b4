"""Timers: runs are sent a tick when their next timer is due. Near timers are in memory, far ones only in the store."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from penstock.host.clock import Clock
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.store.run_store import RunStore

HORIZON_MS = 60_000
FAR_POLL_MS = 15_000
AT_ONCE = 5000  # timers that are read
FIRED_AT_ONCE = 4000


class Timers:
    """`all_runs=False`: the store holds runs that others drive, so far timers are kept in memory, too."""

    def __init__(self, store: RunStore, turns: Turns, clock: Clock, *, all_runs: bool = True) -> None:
        self.store, self.turns, self.clock, self.all_runs = store, turns, clock, all_runs
        self.near: list[tuple[int, int, str]] = []  # heap of due time, run, tenant
        self.due: dict[int, int] = {}  # run → the one time in `near` that counts
        self.poll_at = 0  # when the store is next asked for far timers
        self.last_now = 0
        self._read_to = (-1, 0)  # due time and number of the last timer that was read, while there are more
        self.on_clock_back: list[Callable[[int], None]] = [self._poll_soon]

    def set(self, wake_at: int | None, no: int, tenant: str) -> None:
        """When a run wakes next; None: never by itself."""
        if wake_at is None:
            self.due.pop(no, None)
        elif self.due.get(no) != wake_at and (not self.all_runs or wake_at - self.clock.now() < HORIZON_MS):
            self.due[no] = wake_at
            heapq.heappush(self.near, (wake_at, no, tenant))

    def poll(self, now: int) -> None:
        """Take timers that are near by now from the store."""
        if self.all_runs:
            rows = self.store.due(now + HORIZON_MS, AT_ONCE, self._read_to)
            for no, wake_at, tenant in rows:
                self.set(wake_at, no, tenant)
            if len(rows) == AT_ONCE:  # there are more: they are read in the next iterations
                self._read_to = (rows[-1][1], rows[-1][0])
                return
        self._read_to = (-1, 0)
        self.poll_at = now + FAR_POLL_MS

    def fire(self, now: int) -> None:
        """Send a tick to runs whose timer is due, as many as are sent at once."""
        for _ in range(FIRED_AT_ONCE):
            if not self.near or self.near[0][0] > now:
                break
            wake_at, no, tenant = heapq.heappop(self.near)
            if self.due.get(no) == wake_at:
                del self.due[no]
                self.turns.send(no, C.tick(), tenant=tenant)

    def next_due(self) -> int:
        return min(self.poll_at, self.near[0][0]) if self.near else self.poll_at

    def clock_went_back(self, by: int) -> None:
        """What is due at a time of the world is due then; what waits for a span of time does not wait longer."""
        for shift in self.on_clock_back:
            shift(by)

    def _poll_soon(self, by: int) -> None:
        self.poll_at = 0
