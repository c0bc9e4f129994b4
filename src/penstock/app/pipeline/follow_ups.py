"""Does what follows executions (F-X.12, F-X.13, F-X.16, F-X.24).

It tells events, begins pipelines, writes lines into the log, and puts what is too large for a row into the bucket.

What was written with the facts is done at least once: it leaves the outbox when it is done, and everything that it
begins has a key. What cannot be done now is tried again, later each time.
"""

from __future__ import annotations

import logging

import msgspec
from msgspec.structs import replace

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import Definition, in_force
from penstock.app.pipeline.event_targets import EventTargets
from penstock.app.pipeline.schedules import message_of_file
from penstock.app.pipeline.starts import NO_ROOM, ExecutionStarts
from penstock.dialects.pipeline.follow_ups import FollowUp
from penstock.errors import PenstockError, StoreError
from penstock.executors.parts.objects import Buckets
from penstock.lang.pipeline.keys import action_key, dependency_key
from penstock.lang.pipeline.matching import unfit
from penstock.store.events import EventRow

#: the trigger of executions that another one begins (F-1.3.8)
DEPENDENCY = "DEPENDENCY"
#: executions that begin each other, one after the other: pipelines of several owners may make a circle
LONGEST_CHAIN = 32
RETRY_MS = (1_000, 5_000, 30_000, 300_000)
_AT_ONCE = 200
_pack = msgspec.msgpack.Encoder().encode
log = logging.getLogger("penstock")


class FollowUpDelivery:
    """Of a door that drives its store, for all tenants."""

    def __init__(self, door: Penstock) -> None:
        self.door, self.targets = door, EventTargets(door)
        self.in_force: dict[str, list[Definition]] = {}  # of this step
        self.done_so_far = 0

    @property
    def idle(self) -> bool:
        """Nothing is to be done now; what waits for another try may wait."""
        return not self.door.store.follow_ups(self.door.now(), 1)

    async def step(self) -> int:
        """One round; how many were done."""
        store, now = self.door.store, self.door.now()
        rows = [
            (no, msgspec.msgpack.decode(body, type=FollowUp), tries)
            for no, body, tries in store.follow_ups(now, _AT_ONCE)
        ]
        if not rows:
            return 0
        self.in_force = {}
        events = [what for _, what, _ in rows if what.kind == "event"]
        if events:
            self._keep(events, now)
        done: list[int] = []
        later: list[tuple[int, int]] = []
        unheard = False  # a receiver that takes nothing is waited for once in a round, and nobody waits behind it
        for no, what, tries in sorted(rows, key=lambda row: row[1].kind == "event"):
            if not (unheard and what.kind == "event") and await self._done(what):
                done.append(no)
                continue
            unheard = unheard or what.kind == "event"
            later.append((no, self.door.now() + RETRY_MS[min(tries, len(RETRY_MS) - 1)]))
        store.outbox_moved(done, later)
        self.done_so_far += len(done)
        return len(done)

    def _keep(self, events: list[FollowUp], now: int) -> None:
        """Whoever waits for news in this store hears of them; one that is known by its key changes nothing."""
        rows = [EventRow(event.tenant, event.key, event.name, _pack(event.about), now) for event in events]
        self.door.store.put_events(rows)
        self.door.host.intake.on_told()
        self.door.host.wake_up()

    async def _done(self, what: FollowUp) -> bool:
        """False: it is tried again."""
        try:
            if what.kind == "event":
                await self.targets.tell(what)
            elif what.kind == "log":
                log.info("execution %s %s", what.run, _line(what))
            elif what.kind == "object":
                await Buckets(self.door.host.dispatch.services).artifacts.put(what.name, what.text, "application/json")
            elif what.kind == "begin":
                await self._begin(what)
            else:
                await self._completed(what)
        except StoreError:
            raise
        except PenstockError as error:
            if what.kind != "event" and error.http != NO_ROOM:
                log.warning("what follows %s was given up: %s %s", what.run, error.code, error)
                return True
            return False
        except Exception as error:  # a target may fail in ways of its own, and none of them may end the task
            log.warning("what follows %s was not done: %s", what.run, type(error).__name__)
            return False
        return True

    def _definitions(self, tenant: str) -> list[Definition]:
        if tenant not in self.in_force:
            self.in_force[tenant] = in_force(self.door, tenant)
        return self.in_force[tenant]

    async def _begin(self, what: FollowUp) -> None:
        """F-X.13: an action names a pipeline for the same file."""
        definition = next((each for each in self._definitions(what.tenant) if each.code == what.name), None)
        if definition is None:
            log.warning("«%s» was not begun after %s: it is not in force", what.name, what.run)
            return
        await self._start(definition, what, action_key(what.key, what.name), [what.run])

    async def _completed(self, what: FollowUp) -> None:
        """F-X.12: those that have waited for this pipeline begin when all that they wait for have completed for the
        file; of each of these the newest counts."""
        waiting = [each for each in self._definitions(what.tenant) if what.name in each.after]
        if not waiting or not what.file:
            return
        completed = self.door.store.completed_for(what.tenant, what.file)
        for definition in waiting:
            if all(code in completed for code in definition.after):
                parents = [completed[code] for code in definition.after]
                await self._start(definition, what, dependency_key(definition.code, what.file, parents), parents)

    async def _start(self, definition: Definition, what: FollowUp, key: str, parents: list[str]) -> None:
        file = self.door.store.file_asset(what.tenant, what.file)
        if file is None:
            log.warning("«%s» was not begun after %s: it had no file", definition.code, what.run)
            return
        message = replace(message_of_file(file), trace_id=str(what.about.get("traceId") or file.trace))
        if unfit(definition.about, message):
            return
        if what.chain >= LONGEST_CHAIN:
            log.warning("«%s» was not begun after %s: the chain of executions is too long", definition.code, what.run)
            return
        await self.door.nets.prepare(definition.net)
        known = self.door.store.ids_by_key(what.tenant, [key])
        starts = ExecutionStarts(self.door, {(what.tenant, each): id for each, id in known.items()})
        trigger = {"type": DEPENDENCY, "source": f"execution:{what.run}", "after": parents, "chain": what.chain + 1}
        try:
            starts.begin(definition, message, file.id, key=key, trigger=trigger, parent=what.run)
        finally:
            await starts.heard()


def _line(what: FollowUp) -> str:
    """F-X.34: ids and codes alone."""
    about = what.about
    error = about.get("error") or {}
    parts = {
        "pipeline": about.get("pipelineCode"), "status": about.get("status"), "tenant": what.tenant,
        "file": what.file, "trace": about.get("traceId"), "code": error.get("code"), "stage": error.get("stage"),
    }  # fmt: skip
    return " ".join(f"{name}={value}" for name, value in parts.items() if value not in (None, ""))
