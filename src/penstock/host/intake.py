"""The intake: events from outside. Stored first, then given to the runs that wait for them and to what they start.

An event is open in the store until everybody has it, so a crash delivers it again. That changes nothing, for a run
takes a signal once by its id and a start has a key. A run that begins to wait looks for what came since it began.

A message has one receiver: when everybody else has the event, the first run that waits for it as a message takes it,
and where none does the process that it begins. Who has taken it is committed with the turn that uses it; a run that
ends before, or waits no longer, has not, and a crash changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from penstock.errors import PenstockError
from penstock.executors.contract import Tenant
from penstock.host.event_delivery import Delivery, Reached, begun_by, told_by
from penstock.host.event_starts import EventStarts
from penstock.host.event_warnings import EventWarnings
from penstock.host.fair_queue import FairQueue
from penstock.host.loaded_run import EventReply, InternalReply, LoadedRun
from penstock.host.starter import Starter
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED
from penstock.kernel.trigger import matches as wait_matches
from penstock.store.events import EventRow, EventStore
from penstock.store.releases import ReleaseStore
from penstock.store.run_store import RunStore

#: C-37: how long events are kept unless the setting `events.keep_hours` says otherwise.
KEEP_HOURS = 24.0
AT_ONCE = 200  # runs that are looked at in one iteration, and events that are taken up of one tenant,
SHORT_AT_ONCE = 20  # and while somebody waits for an answer on the loop
HOLDS_NS = 4_000_000  # nanoseconds after which it is left at that,
SHORT_NS = 1_000_000  # and then
CLOSED_AT_ONCE = 100  # events that have reached everybody, before it is written while there is more to do
_STARTS, _MESSAGE = 0, -1  # in place of a run: what the event begins, and who takes it
_HOUR_MS = 3_600_000
_LATER = 1 << 62  # behind every number
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode


class IntakeStore(EventStore, ReleaseStore, RunStore, Protocol):
    """What the intake needs of a store."""


class Intake:
    """`resume_run` drives a run of the store here, for a host that leaves others be; `shelve` keeps a large payload by
    reference."""

    def __init__(
        self,
        store: IntakeStore,
        turns: Turns,
        starter: Starter,
        tenant: Callable[[str], Tenant],
        now: Callable[[], int],
        resume_run: Callable[[int], None],
        shelve: Callable[[str, Any], Any],
        keep_hours: float = KEEP_HOURS,
    ) -> None:
        self.store, self.turns = store, turns
        self.now, self.resume_run, self.shelve = now, resume_run, shelve
        self.warnings = EventWarnings(store, tenant, now)
        self.starts = EventStarts(store, turns, starter, self.warnings, now, self._heard)
        self.keep_ms = int(keep_hours * _HOUR_MS)
        self.going: dict[int, Delivery] = {}  # by the event's number
        #: a run that waits, or what is to be done
        self.todo: FairQueue[tuple[int, Delivery]] = FairQueue(starter.start_limits.limits.share)
        self.taken_to: dict[str, int] = {}  # by tenant: the number of the newest event that was taken up
        #: runs that have begun to wait, and for what
        self.early: FairQueue[tuple[int, str]] = FairQueue(starter.start_limits.limits.share)
        self.sent: dict[int, set[int]] = {}  # waits that a signal is on its way to, by run
        self.done: list[Delivery] = []
        self.told = False  # a run has told something that is to be taken up before the next turn
        self.asked: dict[int, list[Callable[[PenstockError | None], None]]] = {}  # of events that are not taken up yet
        self.holds_ns, self.short_slices = HOLDS_NS, False
        self.came = store.has_events()  # while nothing has ever come, no wait can have been missed by anything
        turns.on_waits.append(self._on_waits)

    # -- doors ---------------------------------------------------------------------------------------------------------

    def on_told(self) -> None:
        self.told = True

    def poll(self) -> bool:
        """Take up events that are open in the store: sent here, by another process, or before a crash."""
        self.told = False
        # of a tenant that has much to do it is done first
        busy = {tenant: _LATER for tenant, queue in self.todo.queues.items() if len(queue) > AT_ONCE}
        after = {**self.taken_to, **busy} if busy else self.taken_to
        most = SHORT_AT_ONCE if self.short_slices else AT_ONCE
        rows = [row for row in self.store.open_events(after, most) if row.no not in self.going]
        self.came = self.came or bool(rows)
        until = self._until()
        for i, row in enumerate(rows):
            if i and time.perf_counter_ns() >= until:  # however slow the store is, one of them is taken up
                self.told = True  # and the others before the next turn
                break
            delivery = self.going[row.no] = Delivery(row, self._waiting(row))
            delivery.told += self.asked.pop(row.no, ())
            self.taken_to[row.tenant] = row.no
            for no in (*delivery.runs, _STARTS):
                self.todo.put(row.tenant, (no, delivery))
        return bool(rows)

    def tell(self, number: int, tenant: str, reply: Callable[[PenstockError | None], None]) -> None:
        """`reply` is called when an event is delivered."""
        delivery = self.going.get(number)
        if delivery is not None:
            delivery.told.append(reply)
        elif number > self.taken_to.get(tenant, 0):
            self.asked.setdefault(number, []).append(reply)
        else:
            reply(None)

    def recover(self) -> None:
        """A crash may have come after a run began to wait and before it was looked what had come for it."""
        for no, name in self.store.early():
            self.early.put("", (no, name))

    def look_for(self, loaded: LoadedRun) -> None:
        """The same for one run that goes on here."""
        if loaded.run is not None and loaded.run.st.waits:
            for name in {wait.name for wait in loaded.run.st.waits.values()}:
                self.early.put(loaded.tenant, (loaded.no, name))

    def forget_old(self, now: int) -> None:
        self.store.forget_events(now - self.keep_ms)

    @property
    def busy(self) -> bool:
        return bool(self.going or self.early)

    # -- delivery ------------------------------------------------------------------------------------------------------

    def deliver(self) -> bool:
        """Some of what is to be done; False when there was nothing."""
        for what, delivery in self.starts.due():
            self.todo.put(delivery.event.tenant, (what, delivery))
        if not (self.early or self.todo or self.done):
            return False
        until = self._until()
        for _ in range(min(AT_ONCE, len(self.early))):
            tenant, early = self.early.first()
            self._search(*early)  # it is gone from the list only when the store has answered
            self.early.done(tenant)
            if time.perf_counter_ns() >= until:
                break
        until = self._until()
        for _ in range(min(AT_ONCE, len(self.todo))):
            if time.perf_counter_ns() >= until:
                break
            tenant, (run, delivery) = self.todo.first()
            if run > _STARTS:
                self._offer(run, delivery)
            elif run == _STARTS:
                self._start(delivery)
            else:
                self._settle(delivery)
            self.todo.done(tenant)
        if self.done and self._closes():
            self._close()
        return True

    def _until(self) -> int:
        return time.perf_counter_ns() + (min(self.holds_ns, SHORT_NS) if self.short_slices else self.holds_ns)

    def _closes(self) -> bool:
        """A crash before it is written delivers it again, which changes nothing: it need not be written each time."""
        return len(self.done) >= CLOSED_AT_ONCE or not self.todo or any(delivery.told for delivery in self.done)

    def _close(self) -> None:
        """Everybody has it: it is open no longer."""
        done, self.done = self.done, []
        try:
            self.store.events_delivered([(_pack(delivery.reached), delivery.event.no) for delivery in done])
        except PenstockError:
            self.done = done + self.done
            raise
        for delivery in done:
            del self.going[delivery.event.no]
            for reply in delivery.told:
                reply(None)

    def _heard(self, delivery: Delivery) -> None:
        delivery.left -= 1
        if not delivery.left and delivery.settled:
            self.done.append(delivery)
        elif not delivery.left:
            delivery.left = 1
            self.todo.put(delivery.event.tenant, (_MESSAGE, delivery))

    # -- runs that wait ------------------------------------------------------------------------------------------------

    def _on_waits(self, loaded: LoadedRun, facts: list[F.Fact]) -> None:
        if self.came:
            for name in {str(f[4]) for f in facts if f[0] == F.WAIT_OPENED and f[1] in loaded.wait_names}:
                self.early.put(loaded.tenant, (loaded.no, name))

    def _search(self, no: int, name: str) -> None:
        """C-37: events newer than the run's start, oldest first. A run that an event has started begins with it,
        however long nobody was there to start it; and that event is not news to it."""
        loaded = self.turns.read_committed(no)
        if loaded is None or loaded.run is None:
            return
        since, after = min(loaded.started_at, begun_by(loaded.run.st.options).get("at", loaded.started_at)), 0
        while rows := self.store.events(loaded.tenant, name, since=since, after=after):
            for event in rows:
                self._give(loaded, event)
            after = rows[-1].no

    def _give(self, loaded: LoadedRun, event: EventRow) -> None:
        """What is on its way to others, too, says in its receipt that it has reached this run."""
        if event.answer is None and event.no not in self.going:
            self.poll()
        delivery = self.going.get(event.no)
        if delivery is None or not delivery.left:
            payload = _unpack(event.body)
            self._signal(loaded, event, payload, None)
            if self._open(loaded, event, payload, message=True):
                self._settle_again(loaded, event, delivery)
            return
        delivery.left += 1
        delivery.runs.append(loaded.no)
        delivery.refused.discard(loaded.no)
        if not self._signal(loaded, event, delivery.payload, delivery):
            self._heard(delivery)

    def _offer(self, no: int, delivery: Delivery) -> None:
        loaded = self.turns.read_committed(no)
        if loaded is None or not self._signal(loaded, delivery.event, delivery.payload, delivery):
            self._heard(delivery)

    def _signal(self, loaded: LoadedRun, event: EventRow, payload: Any, delivery: Delivery | None) -> bool:
        """One event may resume many waits, and each of them once: a wait that began after the run had taken the event
        gets it under a name of its own."""
        run, run_id = loaded.run, loaded.id
        waits, seen = self._open(loaded, event, payload, message=False), run.st.seen if run is not None else ()
        id = event.id if event.id not in seen else f"{event.id}@{waits[0]}" if waits else ""
        if not waits or id in seen:
            return False

        def heard(error: PenstockError | None) -> None:
            if delivery is not None:
                if error is None and run_id not in delivery.reached.resumed:
                    delivery.reached.resumed.append(run_id)
                self._heard(delivery)

        given = C.signal(id, event.source, self.shelve(loaded.tenant, payload), broadcast=True)
        self._send(loaded, given, waits, InternalReply(heard))
        return True

    def _open(self, loaded: LoadedRun, event: EventRow, payload: Any, *, message: bool) -> list[int]:
        """Waits of a run that this event fits and that nothing is on its way to. The event it began with is no news;
        nor is what it has told itself, which reached its own waits at that moment."""
        run = loaded.run
        if run is None or run.st.status >= COMPLETED or begun_by(run.st.options).get("id") == event.id:
            return []
        if not message and told_by(event, run):
            return []
        sent = self.sent.get(loaded.no, ())
        return [no for no in self._matching(run, event, payload, loaded.tenant, message) if no not in sent]

    def _send(self, loaded: LoadedRun, command: C.Command, waits: list[int], own: InternalReply) -> None:
        no, reply = loaded.no, own.reply
        self.sent.setdefault(no, set()).update(waits)

        def heard(error: PenstockError | None) -> None:
            self.sent.pop(no, None)
            reply(error)

        own.reply = heard
        self.resume_run(no)
        self.turns.send(no, command, own, loaded.tenant)

    def _matching(self, run: Run, event: EventRow, payload: Any, tenant: str, message: bool) -> list[int]:
        matching = []
        for no, wait in run.st.waits.items():
            firing = run.st.firings[wait.firing]
            if wait.name != event.source or run.net.nodes[firing.node].spec.triggers[wait.trigger].one != message:
                continue
            if wait_matches(run, firing, run.net.nodes[firing.node], wait, payload):
                matching.append(no)
            elif isinstance(wait.filter, dict):
                self.warnings.off_scale(event, payload, wait.filter, tenant, run.st.run)
        return matching

    # -- the one that takes a message ----------------------------------------------------------------------------------

    def _settle(self, delivery: Delivery) -> None:
        """Everybody has it who may hear it. It is given to the first run that waits for it as a message; else it begins
        a process, unless it has done so before a crash."""
        event, delivery.settled = delivery.event, True
        listeners = self.starts.listeners(event) if delivery.begins else ()
        begins = [listener for listener in listeners if listener.message and self.starts.fits(delivery, listener)]
        before = (self.store.run_by_key(event.tenant, listener.key) for listener in begins)
        known = next((row for row in before if row is not None), None)
        if known is not None:
            delivery.reached.started.append(known.id)
            delivery.reached.taken_by = known.id
        elif not self._taken(delivery) and begins:
            if self.starts.no_room(_MESSAGE, delivery):
                delivery.settled = False
                return
            self.starts.begin(delivery, begins[0])
        self._heard(delivery)

    def _taken(self, delivery: Delivery) -> bool:
        for no in sorted(set(delivery.runs) - delivery.refused):
            loaded = self.turns.read_committed(no)
            if loaded is not None and self._take(loaded, delivery):
                return True
        return False

    def _take(self, loaded: LoadedRun, delivery: Delivery) -> bool:
        """It is offered; that it is taken is written with the turn that uses it. Until then nobody else gets it."""
        event, reached, payload = delivery.event, delivery.reached, delivery.payload
        waits, run = self._open(loaded, event, payload, message=True), loaded.id
        if reached.taken_by not in ("", run) or not waits or loaded.run is None or event.id in loaded.run.st.seen:
            return False
        others = [other for other in reached.resumed if other != run]
        taken = msgspec.structs.replace(reached, taken_by=run, resumed=[*others, run])

        def heard(error: PenstockError | None) -> None:
            reached.taken_by, reached.resumed = (run, taken.resumed) if error is None else ("", others)
            if error is not None:  # it has ended meanwhile, or waits no longer
                delivery.settled = False
                delivery.refused.add(loaded.no)
            self._heard(delivery)

        delivery.left += 1
        given = C.signal(event.id, event.source, self.shelve(loaded.tenant, payload), broadcast=True, keep=False)
        self._send(loaded, given, waits, EventReply(heard, event.id, (_pack(taken), event.no)))
        return True

    def _settle_again(self, loaded: LoadedRun, event: EventRow, delivery: Delivery | None) -> None:
        """A message that nobody has taken is kept for who comes to wait for it; it begins nothing any more."""
        if delivery is None and event.answer is None:  # its delivery will come to this run
            return
        if delivery is None:
            delivery = Delivery(event, [])
            delivery.reached = msgspec.msgpack.decode(event.answer or b"", type=Reached)
        if delivery.reached.taken_by not in ("", loaded.id):
            return
        self.done = [other for other in self.done if other is not delivery]
        self.going[event.no] = delivery
        delivery.left, delivery.settled, delivery.begins = 1, False, False
        delivery.runs.append(loaded.no)
        delivery.refused.discard(loaded.no)
        self.todo.put(event.tenant, (_MESSAGE, delivery))

    def _waiting(self, event: EventRow) -> list[int]:
        """Runs that wait for news of its name, by number."""
        return self.store.waiting_for(event.tenant, event.source)

    # -- runs that begin -----------------------------------------------------------------------------------------------

    def _start(self, delivery: Delivery) -> None:
        listeners = [candidate for candidate in self.starts.listeners(delivery.event) if not candidate.message]
        if listeners and self.starts.no_room(_STARTS, delivery):
            return
        for candidate in listeners:
            if self.starts.fits(delivery, candidate):
                self.starts.begin(delivery, candidate)
        self._heard(delivery)
