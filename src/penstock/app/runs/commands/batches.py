"""Batches: one verb for all runs that fit a filter, however many, in slices beside everything else; with progress.

A batch belongs to the process that has begun it. Each command is committed by itself, so a batch that was cancelled, or
whose server has ended, has done what it says; who asks for it again does the rest.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Literal

import msgspec

from penstock.app.runs.commands.bulk import SLICE, BulkCommand, Refusal, command_run
from penstock.app.runs.runs import Runs
from penstock.app.runs.search import Filters, find_rows
from penstock.errors import BatchesTooMany, BatchNotFound, PenstockError

#: of one tenant at a time; and so many of a tenant are remembered when they are over
MOST_RUNNING, REMEMBERED = 4, 50
_PAGE, _REFUSALS = 100, 100


class Batch(msgspec.Struct, kw_only=True):
    """`looked_at` are the runs that fitted so far: those that it was `done` to, and those that have `refused`, of which
    the first are told. `code` and `message` say why it has failed."""

    id: str
    verb: str
    by: str
    state: Literal["running", "done", "cancelled", "failed"] = "running"
    looked_at: int = 0
    done: int = 0
    refused: int = 0
    refusals: list[Refusal] = []
    started_at: int
    ended_at: int | None = None
    code: str | None = None
    message: str | None = None


class Batches:
    """Of all tenants of a server."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self._of: dict[str, dict[str, Batch]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def begin(self, door: Runs, command: BulkCommand, filters: Filters) -> Batch:
        """Raises NotAllowed, BatchesTooMany."""
        command.check()
        mine = self._of.setdefault(door.tenant, {})
        if sum(batch.state == "running" for batch in mine.values()) >= MOST_RUNNING:
            raise BatchesTooMany(count=MOST_RUNNING, retry_s=5)
        over = [id for id, batch in mine.items() if batch.state != "running"]
        for id in over[: max(len(mine) - REMEMBERED, 0)]:
            del mine[id]
        batch = Batch(id=secrets.token_hex(8), verb=command.verb, by=command.user, started_at=self.now())
        mine[batch.id] = batch
        task = self._tasks[batch.id] = asyncio.ensure_future(self._go(door, command, filters, batch))
        task.add_done_callback(lambda _: self._over(batch))
        return batch

    def _over(self, batch: Batch) -> None:
        self._tasks.pop(batch.id, None)
        if batch.state == "running":  # it was cancelled before it had begun
            batch.state, batch.ended_at = "cancelled", self.now()

    def each(self, tenant: str) -> list[Batch]:
        """The newest first."""
        return [*reversed(self._of.get(tenant, {}).values())]

    def get(self, tenant: str, id: str) -> Batch:
        """Raises BatchNotFound."""
        batch = self._of.get(tenant, {}).get(id)
        if batch is None:
            raise BatchNotFound(batch=id)
        return batch

    async def cancel(self, tenant: str, id: str) -> Batch:
        """What is done stays done; when it returns, nothing more is begun."""
        batch, task = self.get(tenant, id), self._tasks.get(id)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.sleep(0)
        return batch

    async def close(self) -> None:
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # until what is called at their ends has been

    async def _go(self, door: Runs, command: BulkCommand, filters: Filters, batch: Batch) -> None:
        state: Literal["done", "cancelled", "failed"] = "failed"
        try:
            cursor: str | None = ""
            while cursor is not None:
                rows, cursor = await find_rows(door, filters, cursor or None, _PAGE)
                for row in rows:
                    await self._one(door, command, row.id, batch)
            state = "done"
        except asyncio.CancelledError:
            state = "cancelled"
            raise
        except PenstockError as error:
            batch.code, batch.message = error.code, error.message
        finally:
            batch.state, batch.ended_at = state, self.now()

    async def _one(self, door: Runs, command: BulkCommand, run: str, batch: Batch) -> None:
        refusal = await command_run(door, command, run, dry_run=False)
        batch.looked_at += 1
        if refusal is None:
            batch.done += 1
        else:
            batch.refused += 1
            batch.refusals += [refusal] if len(batch.refusals) < _REFUSALS else []
        if batch.looked_at % SLICE == 0:
            await asyncio.sleep(0)
