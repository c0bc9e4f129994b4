"""A queue that tenants share: who has had the least for its weight is next, and of its own things the oldest."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


def _equal(tenant: str) -> float:
    return 1.0


class FairQueue(Generic[T]):
    """Start-time fair queueing. `now` is how much whoever is served has had; who comes new begins there, so idle shares
    are lent and never kept."""

    def __init__(self, weight: Callable[[str], float] = _equal) -> None:
        self.weight = weight
        self.queues: dict[str, deque[T]] = {}
        self.turns: list[tuple[float, int, str]] = []  # what a tenant has had, the order of coming, the tenant
        self.left_with: dict[str, float] = {}  # what tenants had that are gone and were ahead of the others
        self.now = 0.0
        self._order = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return self._count > 0

    def __iter__(self) -> Iterator[T]:
        for queue in self.queues.values():
            yield from queue

    def put(self, tenant: str, thing: T) -> None:
        queue = self.queues.get(tenant)
        if queue is None:
            queue = self.queues[tenant] = deque()
            self._order += 1
            had = max(self.now, self.left_with.pop(tenant, 0.0))
            heapq.heappush(self.turns, (had, self._order, tenant))
        queue.append(thing)
        self._count += 1

    def first(self) -> tuple[str, T]:
        """What is next, and whose it is: `done` takes it away."""
        tenant = self.turns[0][2]
        return tenant, self.queues[tenant][0]

    def done(self, tenant: str) -> None:
        """Take away the oldest thing of the tenant."""
        if len(self.turns) == 1:
            self.pop()
        else:
            self._serve(next(turn for turn in self.turns if turn[2] == tenant))

    def pop(self) -> T:
        """The next thing of the tenant that has had the least."""
        if len(self.turns) > 1:
            return self._serve(self.turns[0])
        ((tenant, queue),) = self.queues.items()  # alone: nothing has to be shared
        thing = queue.popleft()
        self._count -= 1
        if not queue:
            self._leave(tenant)
        return thing

    def _leave(self, tenant: str) -> None:
        """Nobody waits any more, so nobody is behind."""
        del self.queues[tenant]
        self.turns.clear()
        self.left_with.clear()
        self.now = 0.0

    def pop_of(self, may: Callable[[str], bool]) -> T | None:
        """The same among the tenants that may; None where none of them may."""
        if not self.turns:
            return None
        if may(self.turns[0][2]):
            return self.pop()
        for turn in sorted(self.turns):
            if may(turn[2]):
                return self._serve(turn)
        return None

    def _serve(self, turn: tuple[float, int, str]) -> T:
        had, order, tenant = turn
        queue = self.queues[tenant]
        thing = queue.popleft()
        self._count -= 1
        self.now = max(self.now, had)
        after = had + 1.0 / self.weight(tenant)
        if queue:
            self._move(turn, (after, order, tenant))
        else:
            self._move(turn, None)
            del self.queues[tenant]
            self.left_with[tenant] = after
            if len(self.left_with) > 1000:
                self.left_with = {name: had for name, had in self.left_with.items() if had > self.now}
        return thing

    def _move(self, turn: tuple[float, int, str], to: tuple[float, int, str] | None) -> None:
        if self.turns[0] == turn:
            if to is None:
                heapq.heappop(self.turns)
            else:
                heapq.heapreplace(self.turns, to)
            return
        self.turns.remove(turn)
        if to is not None:
            self.turns.append(to)
        heapq.heapify(self.turns)
