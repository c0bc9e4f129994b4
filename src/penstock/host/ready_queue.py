"""The queue of runs that have commands: who is next, shared fairly between tenants.

While all that is ready fits into one batch, the batch is the queue. A backlog is shared: the tenant whose runs have
made the fewest facts for its weight is next, and of its runs the one with the best priority, then the oldest. A tenant
that comes back has no more than those that are there: idle shares are lent, never kept.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from penstock.host.loaded_run import LoadedRun


class _Waiting:
    """The runs of a tenant that wait: a heap by priority and age."""

    __slots__ = ("runs", "weight")

    def __init__(self, weight: float) -> None:
        self.runs: list[tuple[int, int, LoadedRun]] = []
        self.weight = weight


class ReadyQueue:
    """`weight` says how much of the turns a tenant may have, compared with others."""

    def __init__(self, weight: Callable[[str], float] = lambda tenant: 1.0) -> None:
        self.weight = weight
        self.fresh: deque[LoadedRun] = deque()
        self.append = self.fresh.append
        self.waiting: dict[str, _Waiting] = {}
        self.had: dict[str, float] = {}  # facts made, for their weight, by tenants that have a backlog
        self.backlog = 0
        self._order = 0
        self._front = 0

    def __len__(self) -> int:
        return len(self.fresh) + self.backlog

    def __bool__(self) -> bool:
        return bool(self.fresh) or bool(self.backlog)

    def __iter__(self) -> Iterator[LoadedRun]:
        for queue in self.waiting.values():
            yield from (loaded for _, _, loaded in queue.runs)
        yield from self.fresh

    def put_back(self, runs: Iterable[LoadedRun]) -> None:
        """They were taken and had no turn: each is the first of its tenant again."""
        for loaded in reversed(list(runs)):
            self._front -= 1
            self._put(loaded, self._front)

    def keep(self, wanted: Callable[[LoadedRun], bool]) -> None:
        """Forget the others."""
        kept = [loaded for loaded in self if wanted(loaded)]
        self.fresh.clear()
        self.waiting, self.backlog = {}, 0
        self.fresh.extend(kept)

    def take(self, most: int) -> list[LoadedRun]:
        """The next batch."""
        fresh = self.fresh
        if not self.backlog and len(fresh) <= most:
            batch = list(fresh)
            fresh.clear()
            return batch
        while fresh:
            self._order += 1
            self._put(fresh.popleft(), self._order)
        return self._share(most)

    def charge(self, tenant: str, facts: int) -> None:
        """A run of the tenant has made so many facts."""
        queue = self.waiting.get(tenant)
        if queue is not None:
            self.had[tenant] += facts / queue.weight

    def _put(self, loaded: LoadedRun, order: int) -> None:
        tenant = loaded.tenant
        queue = self.waiting.get(tenant)
        if queue is None:
            least = min((self.had[known] for known in self.waiting), default=0.0)
            queue = self.waiting[tenant] = _Waiting(self.weight(tenant))
            self.had[tenant] = max(self.had.get(tenant, 0.0), least)
        heapq.heappush(queue.runs, (loaded.priority, order, loaded))
        self.backlog += 1

    def _share(self, most: int) -> list[LoadedRun]:
        batch: list[LoadedRun] = []
        turns = [(self.had[tenant], i, tenant) for i, tenant in enumerate(self.waiting)]
        heapq.heapify(turns)
        while turns and len(batch) < most:
            had, i, tenant = turns[0]
            queue = self.waiting[tenant]
            batch.append(heapq.heappop(queue.runs)[2])
            self.backlog -= 1
            if queue.runs:
                heapq.heapreplace(turns, (had + 1 / queue.weight, i, tenant))
            else:
                heapq.heappop(turns)
        for tenant in [tenant for tenant, queue in self.waiting.items() if not queue.runs]:
            del self.waiting[tenant]
        if not self.backlog:
            self.had.clear()  # who had much of this backlog is not made to wait in the next one
        return batch
