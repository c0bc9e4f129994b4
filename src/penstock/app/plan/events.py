"""Events of plans under the seed's names, for subscribers of this process (T-10, T-X.35): told, and not kept."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from penstock.app.plan.views import PlanEvent

if TYPE_CHECKING:
    from penstock.app.engine import Engine
    from penstock.app.penstock import Penstock

STATUS_CHANGED, STARTED, STREAM = "task:statusChanged", "claude:started", "claude:stream"
COMPLETE, ERROR, DASHBOARD = "claude:complete", "claude:error", "dashboard:update"
#: every name that is told
NAMES = (STATUS_CHANGED, STARTED, STREAM, COMPLETE, ERROR, DASHBOARD)
#: events that a subscriber may be behind; who is slower loses the oldest
BEHIND = 10_000
#: those that whoever comes back may still hear
_KEPT = 1000
_HUBS: WeakKeyDictionary[Engine, PlanEvents] = WeakKeyDictionary()


class PlanEvents:
    """Of one engine, for all tenants. Told inside its loop, in the order in which things happened."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self.number = 0
        self.listeners: list[Callable[[str, PlanEvent], None]] = []
        #: told when what sessions have said is in their rows
        self.on_saved: list[Callable[[], None]] = []
        self._kept: deque[tuple[str, PlanEvent]] = deque(maxlen=_KEPT)
        self._subscribers: set[Subscriber] = set()

    def publish(self, tenant: str, project: str, event: str, data: Mapping[str, Any], at: int | None = None) -> None:
        assert event in NAMES, f"the seed has no event «{event}»"
        self.number += 1
        moment = self.now() if at is None else at
        told = PlanEvent(number=self.number, event=event, project=project, data=dict(data), at=moment)
        self._kept.append((tenant, told))
        for subscriber in self._subscribers:
            subscriber.put(tenant, told)
        for listen in self.listeners:
            listen(tenant, told)

    def saved(self) -> None:
        for listen in self.on_saved:
            listen()

    @contextlib.contextmanager
    def listening(self, tenant: str, project: str | None = None, after: int | None = None) -> Iterator[Subscriber]:
        """Somebody who hears everything from now on, and what is still kept after a number."""
        subscriber = Subscriber(tenant, project)
        for whose, told in self._kept if after is not None else ():
            if told.number > (after or 0):
                subscriber.put(whose, told)
        self._subscribers.add(subscriber)
        try:
            yield subscriber
        finally:
            self._subscribers.discard(subscriber)

    async def subscribe(
        self, tenant: str, project: str | None = None, after: int | None = None
    ) -> AsyncIterator[PlanEvent]:
        """Events as they happen, of one project or of all, from the first `anext` on, until it is closed."""
        with self.listening(tenant, project, after) as subscriber:
            while True:
                yield await subscriber.next()


class Subscriber:
    def __init__(self, tenant: str, project: str | None) -> None:
        self.tenant, self.project = tenant, project
        self.events: deque[PlanEvent] = deque(maxlen=BEHIND)
        self._news = asyncio.Event()

    def put(self, tenant: str, told: PlanEvent) -> None:
        if tenant == self.tenant and self.project in (None, told.project):
            self.events.append(told)
            self._news.set()

    async def next(self) -> PlanEvent:
        while not self.events:
            self._news.clear()
            await self._news.wait()
        return self.events.popleft()


def plan_events(door: Penstock) -> PlanEvents:
    """The one hub of the engine behind the door."""
    engine = door._engine
    hub = _HUBS.get(engine)
    if hub is None:
        hub = _HUBS[engine] = PlanEvents(engine.now)
    return hub
