"""Runs that events begin: which releases listen, and starts that wait for room."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from penstock.errors import InputInvalid, PenstockError
from penstock.executors.publish import origin_of
from penstock.expr.filters import matches
from penstock.host.event_delivery import Delivery, Listener, envelope, listeners
from penstock.host.event_warnings import EventWarnings, scales_of
from penstock.host.starter import Starter
from penstock.host.turn import Turns
from penstock.store.events import EventRow
from penstock.store.releases import ReleaseStore

FULL_MS = 1000  # how soon a start is tried again for which there was no room


class EventStarts:
    """`heard` is called when it is known what has become of a start."""

    def __init__(
        self, store: ReleaseStore, turns: Turns, starter: Starter, warnings: EventWarnings, now: Callable[[], int],
        heard: Callable[[Delivery], None],
    ) -> None:  # fmt: skip
        self.store, self.turns, self.starter, self.warnings = store, turns, starter, warnings
        self.now, self.heard = now, heard
        #: starts for which there is no room yet: when they are tried again, a number, what is to be done
        self.held: list[tuple[int, int, int, Delivery]] = []
        self._held_count = 0

    # -- those that wait for room --------------------------------------------------------------------------------------

    def next_due(self) -> int | None:
        return self.held[0][0] if self.held else None

    def due(self) -> Iterator[tuple[int, Delivery]]:
        """What is to be tried again by now."""
        now = self.now()
        while self.held and self.held[0][0] <= now:
            _, _, what, delivery = heapq.heappop(self.held)
            yield what, delivery

    def no_room(self, what: int, delivery: Delivery) -> bool:
        """Must what the event begins wait? Then it is tried again: an event is never lost for want of room."""
        event, limits = delivery.event, self.starter.start_limits
        origin = origin_of(event.id)
        until = self.now() + FULL_MS if limits.full(event.tenant) else None
        if until is None and origin:
            until = limits.due(event.tenant, origin)
        if until is None:
            return False
        self._held_count += 1
        heapq.heappush(self.held, (until, self._held_count, what, delivery))
        told, delivery.told = delivery.told, []
        for reply in told:  # it is kept; whoever has sent it need not wait for room
            reply(None)
        return True

    # -- those that begin ----------------------------------------------------------------------------------------------

    def listeners(self, event: EventRow) -> Iterator[Listener]:
        for release in self.store.releases(event.tenant, status="active", listens=event.source):
            yield from listeners(event, release, lambda no: self.turns.nets.get(no).net)

    def fits(self, delivery: Delivery, listener: Listener) -> bool:
        event, who = delivery.event, f"{listener.release.name} v{listener.release.version}"
        if matches(delivery.payload, listener.wanted, scales_of(self.warnings.tenant(event.tenant))):
            return True
        delivery.reached.warnings += self.warnings.off_scale(
            event, delivery.payload, listener.wanted, event.tenant, who
        )
        return False

    def begin(self, delivery: Delivery, listener: Listener) -> None:
        event, release = delivery.event, listener.release

        def begun(run: str, error: PenstockError | None) -> None:
            if error is None:
                delivery.reached.started.append(run)
            if error is None and listener.message:
                delivery.reached.taken_by = run
            self.heard(delivery)

        delivery.left += 1
        try:
            trigger = envelope(event, delivery.payload)
            if listener.start_event:
                trigger["start_event"] = listener.start_event
            self.starter.begin(event.tenant, release.net, delivery.payload, listener.key, trigger, begun)
        except InputInvalid as wrong:
            self.heard(delivery)
            text = f"{release.name} v{release.version} was not started by event {event.id}: {wrong}"
            delivery.reached.warnings += self.warnings.warn(
                event.tenant, f"{listener.key}:refused", text, {"event": event.id}
            )
