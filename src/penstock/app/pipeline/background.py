"""What goes on beside the engine: consumers of queues, watched folders, the clock of schedules, what follows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from penstock.app.penstock import Penstock
from penstock.app.pipeline.follow_ups import FollowUpDelivery
from penstock.app.pipeline.intake.batches import Batches
from penstock.app.pipeline.intake.consumer import QueueConsumer, queues_of
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.intake.intake_state import consuming
from penstock.app.pipeline.intake.sqs_consumer import SqsConsumer, SqsQueue
from penstock.app.pipeline.intake.watched_folders import watch, watched_folders
from penstock.app.pipeline.schedules import ScheduleClock
from penstock.errors import PenstockError, StoreError

#: seconds between two looks of what has found nothing to do
_LOOK_S = 0.2
#: and before what has broken down begins again
_AFTER_S = 5.0
log = logging.getLogger("penstock")


class Consuming:
    def __init__(self, door: Penstock, ingest: Ingest | None = None) -> None:
        self.door = door
        self.ingest = ingest or Ingest(door)
        self.consumers = [QueueConsumer(self.ingest, queue=queue) for queue in queues_of(door.settings)]
        self.clock = ScheduleClock(door)
        self.follow_ups = FollowUpDelivery(door)
        self.batches = Batches(door)
        queue = SqsQueue.of(door.settings)
        self.sqs = SqsConsumer(door.path, queue) if queue is not None else None
        self.folders = watched_folders(door)
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def idle(self) -> bool:
        beside = all(consumer.idle for consumer in self.consumers) and self.follow_ups.idle and self.batches.idle
        return beside and all(folder.idle for folder in self.folders)

    def open(self) -> None:
        self._release()
        beside: list[tuple[object, Callable[[], Awaitable[None]]]] = []
        beside += [(consumer, consumer.run) for consumer in self.consumers]
        beside += [(part, partial(_again, part.step)) for part in (self.clock, self.follow_ups, self.batches)]
        beside += [(folder, partial(watch, folder)) for folder in self.folders]
        self.tasks = [asyncio.ensure_future(_kept_up(type(part).__name__, work)) for part, work in beside]
        if self.sqs is not None:
            self.sqs.open()
        consuming(self.door.host, self)

    def _release(self) -> None:
        """Nobody else drives the store: what is received now was received by a process that is dead."""
        store, now = self.door.store, self.door.now()
        try:
            for queue in [*(consumer.queue for consumer in self.consumers), *self.batches.queues()]:
                store.release_messages(queue, now)
        except StoreError as error:  # then they are seen when their time is over
            if not error.passing:
                raise

    async def close(self) -> None:
        consuming(self.door.host, None)
        if self.sqs is not None:
            await asyncio.to_thread(self.sqs.close)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def _kept_up(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Nobody waits for it, so nobody would hear that it has ended: it is logged, and begins again."""
    while True:
        try:
            await work()
        except Exception as error:
            log.error("%s has broken down and begins again in %s s", name, _AFTER_S, exc_info=error)
        await asyncio.sleep(_AFTER_S)


async def _again(step: Callable[[], Awaitable[int]]) -> None:
    """Step by step until it is cancelled; while the store takes nothing it waits."""
    while True:
        try:
            done = await step()
        except StoreError as error:
            if not error.passing:
                raise
            done = 0
        except PenstockError as error:
            log.warning("a step beside the engine has failed: %s %s", error.code, error)
            done = 0
        if not done:
            await asyncio.sleep(_LOOK_S)
