"""The intake: events from outside. Stored first, then given to the runs that wait for them and to what they start.

An event is open in the store until everybody has it, so a crash delivers it again. That changes nothing, for a run
takes a signal once by its id and a start has a key. A run that begins to wait looks for what came since it began.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from penstock.errors import InputInvalid, PenstockError
from penstock.executors.contract import Tenant
from penstock.expr.filters import SCALES, matches, off_scale
from penstock.host.live import Live, Own
from penstock.host.starter import Starter
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED
from penstock.kernel.trigger import matches as wait_matches
from penstock.store.contract import EventRow, ReleaseRow, Store

#: C-37: how long events are kept unless the setting `events.keep_hours` says otherwise.
KEEP_HOURS = 24.0
#: The source of what the intake itself has to say, such as a severity that is on no scale.
WARNING = "penstock.warning"
AT_ONCE = 200  # runs that are looked at in one lap
_HOUR_MS = 3_600_000
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode
_unjson = msgspec.json.decode
log = logging.getLogger("penstock")


class Reached(msgspec.Struct):
    """Whom an event has reached: ids of runs."""

    resumed: list[str] = []
    started: list[str] = []
    warnings: list[str] = []


class Delivery:
    """An event on its way. `left` counts who must still be heard of."""

    def __init__(self, event: EventRow) -> None:
        self.event, self.payload = event, _unpack(event.body)
        self.left = 0
        self.reached = Reached()
        self.told: list[Callable[[PenstockError | None], None]] = []


def scales_of(tenant: Tenant) -> Mapping[str, Mapping[str, float]]:
    """C-30: the usual ranks, and those that the tenant has set under `event_scales`."""
    own = (tenant.find("config", "tenant") or {}).get("event_scales")
    if not isinstance(own, Mapping):
        return SCALES
    return {**SCALES, **{name: scale for name, scale in own.items() if isinstance(scale, Mapping)}}


def envelope(event: EventRow, payload: Any) -> dict[str, Any]:
    """W-3.2.6: what a run that an event has started sees as sys.trigger."""
    return {"type": "event", "id": event.id, "source": event.source, "payload": payload, "at": event.at}


class Intake:
    """`go_on` drives a run of the store here, for a host that leaves others be; `shelve` keeps a large payload by
    reference."""

    def __init__(
        self,
        store: Store,
        turns: Turns,
        starter: Starter,
        tenant: Callable[[str], Tenant],
        now: Callable[[], int],
        go_on: Callable[[int], None],
        shelve: Callable[[Any], Any],
        keep_hours: float = KEEP_HOURS,
    ) -> None:
        self.store, self.turns, self.starter, self.tenant = store, turns, starter, tenant
        self.now, self.go_on, self.shelve = now, go_on, shelve
        self.keep_ms = int(keep_hours * _HOUR_MS)
        self.going: dict[int, Delivery] = {}  # by the event's number
        self.todo: deque[tuple[int, Delivery]] = deque()  # a run that waits, or 0 for what the event starts
        self.early: deque[tuple[int, str]] = deque()  # runs that have begun to wait, and for what
        self.sent: dict[int, set[int]] = {}  # waits that a signal is on its way to, by run
        self.done: list[Delivery] = []
        self.came = store.has_events()  # while nothing has ever come, no wait can have been missed by anything
        turns.on_facts.append(self._on_facts)

    # -- doors ---------------------------------------------------------------------------------------------------------

    def poll(self) -> bool:
        """Take up events that are open in the store: sent here, by another process, or before a crash."""
        rows = [row for row in self.store.open_events() if row.no not in self.going]
        self.came = self.came or bool(rows)
        for row in rows:
            delivery = self.going[row.no] = Delivery(row)
            runs = [no for no, tenant in self.store.waiting_for(row.source) if tenant == row.tenant]
            delivery.left = len(runs) + 1
            self.todo.extend((no, delivery) for no in (*runs, 0))
        return bool(rows)

    def tell(self, number: int, told: Callable[[PenstockError | None], None]) -> None:
        """Have somebody told when an event is delivered."""
        delivery = self.going.get(number)
        if delivery is None:
            told(None)
        else:
            delivery.told.append(told)

    def recover(self) -> None:
        """A crash may have come after a run began to wait and before it was looked what had come for it."""
        self.early.extend(self.store.early())

    def look_for(self, live: Live) -> None:
        """The same for one run that goes on here."""
        if live.run is not None and live.run.st.waits:
            self.early.extend((live.no, name) for name in {wait.name for wait in live.run.st.waits.values()})

    def tidy(self, now: int) -> None:
        self.store.forget_events(now - self.keep_ms)

    @property
    def busy(self) -> bool:
        return bool(self.going or self.early)

    # -- laps ----------------------------------------------------------------------------------------------------------

    def lap(self) -> bool:
        """Some of what is to be done; False when there was nothing."""
        if not (self.early or self.todo or self.done):
            return False
        for _ in range(min(AT_ONCE, len(self.early))):
            self._search(*self.early[0])  # it is gone from the list only when the store has answered
            self.early.popleft()
        for _ in range(min(AT_ONCE, len(self.todo))):
            run, delivery = self.todo[0]
            if run:
                self._offer(run, delivery)
            else:
                self._start(delivery)
            self.todo.popleft()
        if self.done:
            self._close()
        return True

    def _close(self) -> None:
        """Everybody has it: it is open no longer."""
        done, self.done = self.done, []
        try:
            self.store.events_delivered([(_pack(one.reached), one.event.no) for one in done])
        except PenstockError:
            self.done = done + self.done
            raise
        for one in done:
            del self.going[one.event.no]
            for told in one.told:
                told(None)

    def _heard(self, delivery: Delivery) -> None:
        delivery.left -= 1
        if not delivery.left:
            self.done.append(delivery)

    # -- runs that wait ------------------------------------------------------------------------------------------------

    def _on_facts(self, live: Live, facts: list[F.Fact], _n: int, _now: int) -> None:
        if live.names and self.came:
            names = {str(f[4]) for f in facts if f[0] == F.WAIT_OPENED and f[1] in live.names}
            self.early.extend((live.no, name) for name in names)

    def _search(self, no: int, name: str) -> None:
        """C-37: events newer than the run's start, oldest first. A run that an event has started begins with it,
        however long nobody was there to start it; and that event is not news to it."""
        live = self.turns.peek(no)
        if live is None or live.run is None:
            return
        trigger = live.run.st.options.get("trigger")
        own: Mapping[str, Any] = trigger if type(trigger) is dict and trigger.get("type") == "event" else {}
        since, after = min(live.since, own.get("at", live.since)), 0
        while rows := self.store.events(live.tenant, name, since=since, after=after):
            for event in rows:
                if event.id != own.get("id"):
                    self._give(live, event)
            after = rows[-1].no

    def _give(self, live: Live, event: EventRow) -> None:
        """What is on its way to others, too, says in its receipt that it has reached this run."""
        if event.answer is None and event.no not in self.going:
            self.poll()
        delivery = self.going.get(event.no)
        if delivery is None or not delivery.left:
            self._signal(live, event, _unpack(event.body), None)
            return
        delivery.left += 1
        if not self._signal(live, event, delivery.payload, delivery):
            self._heard(delivery)

    def _offer(self, no: int, delivery: Delivery) -> None:
        live = self.turns.peek(no)
        if live is None or not self._signal(live, delivery.event, delivery.payload, delivery):
            self._heard(delivery)

    def _signal(self, live: Live, event: EventRow, payload: Any, delivery: Delivery | None) -> bool:
        """One event may resume many waits, and each of them once: a wait that began after the run had taken the event
        gets it under a name of its own."""
        run, no, run_id = live.run, live.no, live.id
        if run is None or run.st.status >= COMPLETED:
            return False
        sent, seen = self.sent.setdefault(no, set()), run.st.seen
        waits = [wait for wait in self._matching(run, event, payload, live.tenant) if wait not in sent]
        id = event.id if event.id not in seen else f"{event.id}@{waits[0]}" if waits else ""
        if not waits or id in seen:
            return False
        sent.update(waits)

        def told(error: PenstockError | None) -> None:
            self.sent.pop(no, None)
            if delivery is not None:
                if error is None and run_id not in delivery.reached.resumed:
                    delivery.reached.resumed.append(run_id)
                self._heard(delivery)

        self.go_on(no)
        self.turns.send(no, C.signal(id, event.source, self.shelve(payload), broadcast=True), Own(told))
        return True

    def _matching(self, run: Run, event: EventRow, payload: Any, tenant: str) -> list[int]:
        found = []
        for no, wait in run.st.waits.items():
            if wait.name != event.source:
                continue
            firing = run.st.firings[wait.firing]
            if wait_matches(run, firing, run.net.nodes[firing.node], wait, payload):
                found.append(no)
            elif isinstance(wait.filter, dict):
                self._off_scale(event, payload, wait.filter, tenant, run.st.run)
        return found

    # -- runs that begin -----------------------------------------------------------------------------------------------

    def _start(self, delivery: Delivery) -> None:
        event = delivery.event
        for release, wanted in self._listeners(event):
            if not matches(delivery.payload, wanted, scales_of(self.tenant(event.tenant))):
                who = f"{release.name} v{release.version}"
                delivery.reached.warnings += self._off_scale(event, delivery.payload, wanted, event.tenant, who)
                continue
            self._begin(delivery, release)
        self._heard(delivery)

    def _listeners(self, event: EventRow) -> Iterator[tuple[ReleaseRow, Any]]:
        for release in self.store.releases(event.tenant, status="active", listens=event.source):
            yield release, _unjson(release.document)["trigger"].get("config", {}).get("filter")

    def _begin(self, delivery: Delivery, release: ReleaseRow) -> None:
        event = delivery.event
        key = f"event:{event.id}:{release.name}:{release.version}"

        def told(run: str, error: PenstockError | None) -> None:
            if error is None:
                delivery.reached.started.append(run)
            self._heard(delivery)

        delivery.left += 1
        try:
            trigger = envelope(event, delivery.payload)
            self.starter.begin(event.tenant, release.net, delivery.payload, key, trigger, told)
        except InputInvalid as wrong:
            self._heard(delivery)
            text = f"{release.name} v{release.version} was not started by event {event.id}: {wrong}"
            delivery.reached.warnings += self.warn(event.tenant, f"{key}:refused", text, {"event": event.id})

    # -- warnings ------------------------------------------------------------------------------------------------------

    def _off_scale(self, event: EventRow, payload: Any, wanted: Any, tenant: str, who: str) -> list[str]:
        fields = off_scale(payload, wanted, scales_of(self.tenant(tenant)))
        if not fields or event.source == WARNING:
            return []
        text = f"event {event.id}: {', '.join(fields)} is on no scale, so it does not match {who}"
        return self.warn(tenant, f"{event.id}:{who}:off_scale", text, {"event": event.id, "fields": fields})

    def warn(self, tenant: str, id: str, text: str, detail: dict[str, Any]) -> list[str]:
        """An event of its own, once: it is kept, listed, and may start what looks after such things."""
        body = _pack({"message": text, **detail})
        if self.store.put_event(EventRow(tenant, f"warning:{id}", WARNING, body, self.now())) is not None:
            log.warning("%s", text)
        return [text]
