"""The task that delivers what was written for others: it is woken when there may be something."""

from __future__ import annotations

import asyncio


class DeliveryTask:
    """`wrote`: since it was last woken, something was written."""

    def __init__(self) -> None:
        self.wrote = False
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def _wake(self) -> None:
        self._more.set()
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        raise NotImplementedError

    async def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
