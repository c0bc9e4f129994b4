"""The consumer of the built-in queue: receive, take in, and only then take the message away (F-3.3, F-3.5, F-S.1)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE, cause_of
from penstock.app.pipeline.intake.ingest import Ingest, Receipt, day_rows
from penstock.app.pipeline.intake.rates import Rate
from penstock.app.pipeline.starts import NO_ROOM
from penstock.errors import BadInput, PenstockError, StoreError
from penstock.executors.parts.personal_data import hashed
from penstock.host.limits import checked_count
from penstock.lang.pipeline.messages import FileMessage, messages_of
from penstock.store.queues import Failed, QueueMessage

#: F-3.5
MAX_RECEIVES = 5
#: F-3.4, F-X.20
VISIBILITY_MS = 300_000
#: messages of one transaction
AT_ONCE = 500
#: F-4.4: with so many executions that wait to be picked up, no more messages are taken
MAX_PENDING = 200_000
_MAX_PENDING, _QUEUES = "pipelines.max_pending", "pipelines.queues"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,80}\Z", re.ASCII)
_LONGEST_BACKOFF_S = 60
_LOOK_S = 0.2
_LOG = logging.getLogger(__name__)
#: for what a storage or the network has refused (F-10.6)
IO = "PP-500-IO"


class ConsumerCounts(msgspec.Struct):
    received: int = 0
    acked: int = 0
    failed: int = 0
    dead: int = 0


class _Work(msgspec.Struct):
    """A message in hand: what it announces, and what has become of that."""

    message: QueueMessage
    files: list[FileMessage] = []
    receipts: list[Receipt] = []
    cause: tuple[str, str] | None = None  # code, words: why it cannot be taken

    @property
    def waits(self) -> bool:
        """There was no room: it is held and tried again, which is no failure of the message."""
        return self.cause is None and any(receipt.refused is not None for receipt in self.receipts)


class QueueConsumer:
    """Of a door that drives its store; several may take from one queue."""

    def __init__(
        self, ingest: Ingest, *, queue: str = QUEUE, visibility_ms: int = VISIBILITY_MS, at_once: int = AT_ONCE
    ) -> None:
        self.ingest, self.door, self.queue, self.visibility_ms = ingest, ingest.door, queue, visibility_ms
        self.at_once, self.max_pending = at_once, max_pending_of(ingest.door.settings)
        self.handle = secrets.token_hex(16)
        self.counts, self.rate = ConsumerCounts(), Rate()
        self.held: list[_Work] = []

    @property
    def idle(self) -> bool:
        return not self.held and self.door.store.queue_size(self.queue) == 0

    async def step(self) -> int:
        """One batch; how many messages were received or tried again. While some have no room, no more are received
        (F-4.4)."""
        store, now = self.door.store, self.door.now()
        until = now + self.visibility_ms
        if self.held:
            store.hold_messages(self.handle, [work.message.no for work in self.held], until)
            works = self.held
        else:
            seen_at = store.next_visible(self.queue)  # a look first: who only waits writes nothing
            if seen_at is None or seen_at > now or store.pending_beyond(self.max_pending):
                return 0
            received = store.receive_messages(self.queue, self.handle, now, until, self.at_once)
            works = [self._read(message) for message in received]
            self.counts.received += len(works)
        if works:
            holding = asyncio.ensure_future(self._hold([work.message.no for work in works]))
            try:
                await self._take(works)
            finally:
                holding.cancel()
            self.held = [work for work in works if work.waits]
            self._settle(work for work in works if not work.waits)
            self.rate.add(len(works) - len(self.held))
        return len(works)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                done = await self.step()
            except StoreError as error:
                if not error.passing:
                    raise
                done = 0
            if not done or self.held:
                await asyncio.sleep(_LOOK_S)

    async def _hold(self, numbers: list[int]) -> None:
        """F-3.4: while it works on them nobody else gets them, however long it takes."""
        while True:
            await asyncio.sleep(self.visibility_ms / 3000)
            with contextlib.suppress(StoreError):  # it is tried again, well before their time is over
                self.door.store.hold_messages(self.handle, numbers, self.door.now() + self.visibility_ms)

    def _read(self, message: QueueMessage) -> _Work:
        work = _Work(message)
        if message.receives > MAX_RECEIVES:
            times = message.receives - 1
            work.cause = (message.code or IO, message.why or f"It was received {times} times and never taken.")
            return work
        try:
            work.files = messages_of(message.body, msgspec.msgpack.decode(message.attributes, type=dict[str, str]))
        except PenstockError as error:
            work.cause = cause_of(error)
        return work

    async def _take(self, works: list[_Work]) -> None:
        """All in one go; where that cannot be done, one by one, so that none fails for another's sake."""
        good = [work for work in works if work.cause is None]
        try:
            receipts = iter(await self.ingest.take([file for work in good for file in work.files], counted=False))
            for work in good:
                work.receipts = [next(receipts) for _ in work.files]
        except StoreError:
            raise
        except PenstockError:
            for work in good:
                await self._take_alone(work)
        for work in good:
            refused = next((receipt.refused for receipt in work.receipts if receipt.refused is not None), None)
            if refused is not None and refused.http != NO_ROOM:
                work.cause = cause_of(refused)

    async def _take_alone(self, work: _Work) -> None:
        try:
            work.receipts = await self.ingest.take(work.files, counted=False)
        except StoreError:
            raise
        except PenstockError as error:
            work.cause = cause_of(error)

    def _settle(self, works: Iterable[_Work]) -> None:
        store, now = self.door.store, self.door.now()
        done: list[_Work] = []
        failed: list[Failed] = []
        for work in works:
            if work.cause is None:
                done.append(work)
                continue
            dead = work.message.receives >= MAX_RECEIVES
            at = now if dead else now + backoff_s(work.message.receives) * 1000
            queue = DEAD_QUEUE if dead else self.queue
            failed.append(Failed(work.message, queue, at, *work.cause))
            self.counts.failed += 1
            self.counts.dead += dead
            keys = ", ".join(hashed(file.key) for file in work.files[:10]) or "unknown"
            _LOG.warning("message %s was not taken: %s, file %s", work.message.id[:100], work.cause[0], keys)
        if failed:
            store.messages_failed(self.handle, failed)
        if done:
            files = [file for work in done for file in work.files]
            counted = day_rows(files, [receipt for work in done for receipt in work.receipts], now)
            self.counts.acked += store.take_messages(self.handle, [work.message.no for work in done], counted)


def max_pending_of(settings: Mapping[str, Any]) -> int:
    most = settings.get(_MAX_PENDING)
    return MAX_PENDING if most is None else checked_count(_MAX_PENDING, most)


def queues_of(settings: Mapping[str, Any]) -> list[str]:
    """F-8.2: the built-in queues that are consumed here, each by a consumer of its own. The first one always is: what
    comes from SQS, over HTTP and from the dead ones lies there, and nobody else drives the store."""
    names = settings.get(_QUEUES)
    if names is None:
        return [QUEUE]
    if not isinstance(names, list) or not names or not all(_NAME.match(str(name)) for name in names):
        why = "it is a list of names of letters, digits, _ . and -, at most 80"
        raise BadInput(what=f"the setting «{_QUEUES}»", why=why)
    return list(dict.fromkeys((*map(str, names), QUEUE)))


def backoff_s(receives: int) -> int:
    """F-3.6, F-X.6a: 2, 4, 8, 16, 32 seconds, and never more than a minute."""
    return min(_LONGEST_BACKOFF_S, 1 << min(receives, 6))
