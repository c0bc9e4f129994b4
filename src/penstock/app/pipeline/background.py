"""What goes on beside the engine: the consumer of the built-in queue, and those of the queues that settings name."""

from __future__ import annotations

import asyncio

from penstock.app.penstock import Penstock
from penstock.app.pipeline.consumer import QueueConsumer
from penstock.app.pipeline.ingest import Ingest
from penstock.app.pipeline.sqs_consumer import SqsConsumer, SqsQueue


class Consuming:
    def __init__(self, door: Penstock, ingest: Ingest | None = None) -> None:
        self.ingest = ingest or Ingest(door)
        self.consumer = QueueConsumer(self.ingest)
        queue = SqsQueue.of(door.settings)
        self.sqs = SqsConsumer(door.path, queue) if queue is not None else None
        self.task: asyncio.Task[None] | None = None

    @property
    def idle(self) -> bool:
        return self.consumer.idle

    def open(self) -> None:
        self.task = asyncio.ensure_future(self.consumer.run())
        if self.sqs is not None:
            self.sqs.open()

    async def close(self) -> None:
        if self.sqs is not None:
            await asyncio.to_thread(self.sqs.close)
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
