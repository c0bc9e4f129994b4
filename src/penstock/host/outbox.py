"""The outbox: what leaves the house was written with the facts that ask for it; here it is delivered, at least once, in order
per run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from penstock.host.clock import Clock
from penstock.store.contract import Store

#: topic, body, key: the key is the same on every delivery
Sink = Callable[[str, dict[str, Any], str], Awaitable[None]]
RETRY_MS = (100, 1_000, 5_000, 30_000)


class Outbox:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.sinks: list[Sink] = []
        self.delivered = 0
        self._quiet_until = 0

    def pending(self) -> bool:
        return bool(self.sinks) and self.clock.now() >= self._quiet_until

    async def deliver(self, most: int = 256) -> int:
        """One round. A row that fails holds back the later rows of its own run only."""
        now = self.clock.now()
        rows = self.store.outbox(now, most)
        if not rows:
            self._quiet_until = now + 50
            return 0
        held: set[int] = set()
        done: list[int] = []
        for no, run, seq, topic, body, tries in rows:
            if run in held:
                continue
            try:
                for sink in self.sinks:
                    await sink(topic, msgspec.msgpack.decode(body), f"{run}/{seq}")
                done.append(no)
            except Exception:
                held.add(run)
                self.store.outbox_later(no, now + RETRY_MS[min(tries, len(RETRY_MS) - 1)])
        self.store.outbox_done(done)
        self.delivered += len(done)
        return len(done)
