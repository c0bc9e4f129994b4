"""May another run be started? Open runs and work items of a tenant, and starts of one run per minute, are limited.

Whoever starts from outside is refused and told when to come again. What starts by itself waits: events and schedules
until there is room, calls until their minute has passed. A call that would be too deep or one too many fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from penstock.errors import StartsLimit, TooManyRuns, TooManyWorkItems
from penstock.host.limits import Limits, OpenCount

MINUTE_MS = 60_000
#: when whoever was refused for want of room may ask again
RETRY_S = 5
_MOST_ORIGINS = 10_000


class CountingStore(Protocol):
    """What counting needs of a store."""

    def count_open_runs(self, tenant: str, most: int) -> int: ...

    def count_open_items(self, tenant: str, most: int) -> int: ...


class StartLimits:
    def __init__(
        self, limits: Limits, store: CountingStore, now: Callable[[], int], unborn: Callable[[str], int]
    ) -> None:
        self.limits, self.now = limits, now
        self.runs = OpenCount(store.count_open_runs, now, pending=unborn)
        self.items = OpenCount(store.count_open_items, now)
        self.starts: dict[tuple[str, str], deque[int]] = {}  # tenant, run → when it has started others, oldest first

    def full(self, tenant: str) -> bool:
        """Has the tenant as many open runs or work items as it may?"""
        most = self.limits.of(tenant)
        return self.runs.full(tenant, most["open_runs"]) or self.items.full(tenant, most["open_work_items"])

    def check(self, tenant: str, origin: str = "", count: int = 1) -> None:
        """Raise what refuses so many starts; `origin` is the run that asks for them."""
        most = self.limits.of(tenant)
        if self.runs.full(tenant, most["open_runs"] - count + 1):
            raise TooManyRuns(limit=most["open_runs"], retry_s=RETRY_S)
        if self.items.full(tenant, most["open_work_items"]):
            raise TooManyWorkItems(limit=most["open_work_items"], retry_s=RETRY_S)
        if origin:
            due = self.due(tenant, origin)
            if due is not None:
                wait_s = max(1, -(-(due - self.now()) // 1000))
                raise StartsLimit(run=origin, limit=most["starts_per_minute"], retry_s=wait_s)

    def due(self, tenant: str, origin: str) -> int | None:
        """When the run may start another one; None: now, and it is counted."""
        now, most = self.now(), self.limits.of(tenant)["starts_per_minute"]
        times = self.starts.get((tenant, origin))
        if times is None:
            if len(self.starts) >= _MOST_ORIGINS:
                self._forget_old(now)
            times = self.starts[tenant, origin] = deque()
        while times and times[0] <= now - MINUTE_MS:
            times.popleft()
        if len(times) >= most:
            return times[0] + MINUTE_MS
        times.append(now)
        return None

    def clock_went_back(self, by: int) -> None:
        self.starts = {origin: deque(at - by for at in times) for origin, times in self.starts.items()}

    def _forget_old(self, now: int) -> None:
        self.starts = {key: times for key, times in self.starts.items() if times and times[-1] > now - MINUTE_MS}
