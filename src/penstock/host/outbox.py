"""The outbox: what leaves the house is written with its facts, and delivered at least once, in order per run.

It has a task of its own: a receiver that is slow or down holds up nobody but itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from penstock.errors import StoreError
from penstock.host.clock import Clock
from penstock.host.delivery_task import DeliveryTask
from penstock.host.loaded_run import LoadedRun
from penstock.host.runtimes import Runtimes
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.store.run_store import Batch, RunStore

#: topic, body, key: the key is the same on every delivery
Sink = Callable[[str, dict[str, Any], str], Awaitable[None]]
RETRY_MS = (100, 1_000, 5_000, 30_000)
#: facts that the world may hear of
PUBLISHED = frozenset({F.STARTED, F.MOVED, F.INCIDENT, F.WORK_OPENED, F.WORK_MOVED})
_KEPT_INSIDE = ("input", "options", "draft", "run", "tenant")
_pack = msgspec.msgpack.Encoder().encode


class Outbox(DeliveryTask):
    """`publish` writes rows although nobody is there to take them yet."""

    def __init__(self, store: RunStore, clock: Clock, *, publish: bool = False) -> None:
        super().__init__()
        self.store, self.clock, self.publish = store, clock, publish
        self.sinks: list[Sink] = []
        self.runtimes = Runtimes()  # a language may have events of its own
        self.delivered = 0

    # -- in ------------------------------------------------------------------------------------------------------------

    def write(self, live: LoadedRun, facts: list[F.Fact], first: int, now: int, batch: Batch) -> None:
        """H10: the rows of a turn, in the transaction of its facts."""
        if not self.sinks and not self.publish:
            return
        runtime = self.runtimes[live.run.net.net.language] if live.run is not None else None
        events = None if runtime is None else runtime.publish(live, facts, first, now, batch)
        if events is not None:
            for seq, topic, payload in events:
                about = {"run": live.id, "tenant": live.tenant, "seq": seq, "at": now}
                batch.outbox.append((live.no, seq, topic, _pack({**about, **payload}), 0, 0))
                self.wrote = True
            return
        for seq, fact in enumerate(facts, first):
            if fact[0] in PUBLISHED:
                body = _pack(_event_of(live, fact, seq, now))
                batch.outbox.append((live.no, seq, F.name_of(fact), body, 0, 0))
                self.wrote = True

    # -- out -----------------------------------------------------------------------------------------------------------

    def kick(self) -> None:
        """There may be something to deliver."""
        self.wrote = False
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.result()
        if self.sinks:
            self._wake()

    async def _run(self) -> None:
        while True:
            self._more.clear()
            try:
                if await self.deliver():
                    continue
                left = self.store.outbox_left()
            except StoreError as error:
                if not error.passing:
                    raise
                await asyncio.sleep(RETRY_MS[1] / 1000)  # what was delivered and could not be noted comes twice
                continue
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), RETRY_MS[0] / 1000 if left else None)

    async def deliver(self, most: int = 256) -> int:
        """One round. A row that fails holds back the later rows of its own run only."""
        now = self.clock.now()
        held: set[int] = set()
        done: list[int] = []
        later: list[tuple[int, int]] = []
        for no, run, _seq, topic, body, tries in self.store.outbox(now, most):
            if run in held:
                continue
            event = msgspec.msgpack.decode(body)
            try:
                for sink in self.sinks:
                    await sink(topic, event, f"{event['run']}/{event['seq']}")
                done.append(no)
            except Exception:
                held.add(run)
                later.append((no, now + RETRY_MS[min(tries, len(RETRY_MS) - 1)]))
        if done or later:
            self.store.outbox_moved(done, later)
        self.delivered += len(done)
        return len(done)

    async def close(self) -> None:
        await self._cancel()


def _event_of(live: LoadedRun, fact: F.Fact, seq: int, now: int) -> dict[str, Any]:
    fields = {k: v for k, v in F.fields_of(fact).items() if k not in _KEPT_INSIDE and v is not None}
    if type(fields.get("node")) is int and live.run is not None:
        fields["node"] = live.run.net.nodes[fields["node"]].id
    failure = fields.get("failure")
    if type(failure) is Failure:
        fields["failure"] = msgspec.structs.asdict(failure)
    return {"run": live.id, "tenant": live.tenant, "seq": seq, "at": now, **fields}
