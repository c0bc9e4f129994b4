"""Notices: messages to people that no node sends (C-46).

They are written with the facts that ask for them, into the outbox, and delivered at least once through the tenant's
channels, each for itself and under a key of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.dialects.notice import Notice
from penstock.errors import PenstockError, StoreError
from penstock.executors.contract import Executor, Failed, Request, Services, failed
from penstock.host.clock import Clock
from penstock.host.delivery_task import DeliveryTask
from penstock.kernel.failure import OUTAGE
from penstock.store.contract import Store
from penstock.store.run_store import Batch

TOPIC = "notice"
RETRY_MS = (1_000, 5_000, 30_000, 300_000)
MOST_TRIES = 50
GRACE_S = 3.0  # how long a host that closes waits for what it is just sending
_pack = msgspec.msgpack.Encoder().encode
log = logging.getLogger("penstock")


class Notices(DeliveryTask):
    def __init__(self, store: Store, clock: Clock, executors: Mapping[str, Executor], services: Services) -> None:
        super().__init__()
        self.store, self.clock, self.executors, self.services = store, clock, executors, services

    # -- in ------------------------------------------------------------------------------------------------------------

    def write(self, notice: Notice, run: int, seq: int, batch: Batch) -> None:
        """In the transaction of the facts that it is about."""
        batch.outbox.append((run, seq, TOPIC, _pack(msgspec.to_builtins(notice)), 0, 0))
        self.wrote = True

    # -- out -----------------------------------------------------------------------------------------------------------

    def kick(self) -> None:
        """There may be something to deliver."""
        self.wrote = False
        self._wake()

    async def _run(self) -> None:
        while True:
            self._more.clear()
            try:
                await self.deliver()
                left = self.store.notices_left()
            except StoreError as error:
                if not error.passing:
                    return  # the engine itself hears of it
                left = True
            if not left and not self._more.is_set():
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), RETRY_MS[0] / 1000)

    async def deliver(self, most: int = 64) -> int:
        """One round; how many have left."""
        sent = 0
        for no, body, tries in self.store.notices(self.clock.now(), most):
            outcome = await self._send(msgspec.msgpack.decode(body, type=Notice))
            later = None
            if isinstance(outcome, Failed):
                failure = outcome.failure
                if failure.category in OUTAGE and tries + 1 < MOST_TRIES:
                    later = (no, self.clock.now() + RETRY_MS[min(tries, len(RETRY_MS) - 1)])
                else:
                    log.warning("a notice was given up: %s %s", failure.code, failure.message)
            self.store.outbox_moved([no] if later is None else [], [later] if later is not None else [])
            sent += not isinstance(outcome, Failed)
        return sent

    async def _send(self, notice: Notice) -> Any:
        try:
            executor = self.executors.get("notify")
            if executor is None or self.services.tenant is None:
                return failed("EXECUTOR_UNKNOWN", "permanent", "this host can notify nobody")
            args = notice.args
            if args is None:
                channels = self._channels(notice)
                args = {"channels": channels, "message": notice.text, "config": {"subject": notice.subject}}
            request = Request(
                key=notice.key, tenant=notice.tenant, run=notice.run, node=notice.node, executor="notify", args=args,
                names=notice.names, at=self.clock.now(),
            )  # fmt: skip
            return await executor.run(request, self.services.of(notice.tenant))
        except PenstockError as error:
            return failed(error.code, "permanent", str(error))
        except Exception as error:
            return failed("EXECUTOR_ERROR", "external", f"{type(error).__name__}: {error}")

    def _channels(self, notice: Notice) -> list[str] | None:
        if notice.channels or not notice.escalates:
            return notice.channels or None
        assert self.services.tenant is not None
        settings = (self.services.tenant(notice.tenant).find("config", "tenant") or {}).get("notification")
        channels = settings.get("escalation_channels") if isinstance(settings, Mapping) else None
        return [str(channel) for channel in channels] if isinstance(channels, list) and channels else None

    async def close(self) -> None:
        """What is just being sent may still leave; the rest is for the next host."""
        if self._task is None or self._task.done():
            return
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(GRACE_S):
                while self.store.notices(self.clock.now(), 1) and not self._task.done():
                    await asyncio.sleep(0.01)
        await self._cancel()
