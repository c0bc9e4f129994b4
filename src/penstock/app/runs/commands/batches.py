"""Batches: one verb for many runs, in slices beside everything else; with progress, and kept in the store.

The runs of a slice are written down before the first of them is commanded. Whoever drives the store next, after a crash
too, looks into their journals for what was done already, does the rest, and goes on from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import secrets
from typing import Literal, cast

import msgspec
from msgspec.structs import replace

from penstock.app.access.audit import AuditLog
from penstock.app.runs.commands.batch_care import CARELESS, STOPPED, WATCHING, Care, Results
from penstock.app.runs.commands.batch_slices import (
    Asked,
    done_before,
    first_place,
    next_steps,
    pack,
    read_steps,
    total,
)
from penstock.app.runs.commands.bulk import BulkCommand, Refusal, command_run
from penstock.app.runs.queries import Queries
from penstock.app.runs.runs import Runs
from penstock.app.runs.search import Filters
from penstock.errors import BadInput, BatchesTooMany, BatchNotFound, PenstockError, StoreError
from penstock.store.batches import BatchRow
from penstock.store.contract import Store

#: of one tenant at a time; so many runs can be named by their ids; so many refusals are kept
MOST_RUNNING, MOST_IDS, _REFUSALS = 4, 1000, 100
#: seconds: between two looks for batches that other processes have left; for the run that is under way at the end
LOOK_S, _END_S = 1.0, 5.0
_NOBODY = pack([])
_asked = msgspec.msgpack.Decoder(Asked)
_refusals = msgspec.msgpack.Decoder(list[Refusal])

State = Literal["running", "paused", "done", "cancelled", "failed"]


class Batch(msgspec.Struct, kw_only=True):
    """`total` is how many fitted at the beginning, None where only looking tells. `looked` are the runs that fitted
    so far: those that it was `done` to, and those that have `refused`, of which the first are told. Where their end is
    watched, `through` of those came through and `back` have failed again. `code` and `message` say why it has failed,
    or is paused by itself."""

    id: str
    verb: str
    by: str
    reason: str | None
    state: State
    total: int | None
    looked: int
    done: int
    refused: int
    refusals: list[Refusal]
    started_at: int
    ended_at: int | None
    code: str | None
    message: str | None
    care: Care
    through: int
    back: int


def batch_of(store: Store, row: BatchRow) -> Batch:
    """With how those have ended meanwhile that were begun before it was paused or cancelled."""
    asked = _asked.decode(row.asked)
    through, back = Results(asked.care, row.watched).read(store)
    return Batch(
        id=row.id, verb=row.verb, by=row.by, reason=asked.reason, state=cast(State, row.state),
        total=row.total, looked=row.looked, done=row.done, refused=row.refused,
        refusals=_refusals.decode(row.refusals), started_at=row.started_at, ended_at=row.ended_at, code=row.code,
        message=row.message, care=asked.care, through=row.through + through, back=row.back + back,
    )  # fmt: skip


def begin(
    door: Queries, command: BulkCommand, filters: Filters | None = None, ids: list[str] | None = None,
    reason: str | None = None, care: Care = CARELESS,
) -> Batch:  # fmt: skip
    """Written down: whoever drives the store does it. Raises NotAllowed, BadInput, BatchesTooMany."""
    command.check()
    if ids is not None and len(ids) > MOST_IDS:
        raise BadInput(
            what="the runs", why=f"{len(ids)} are named, and at most {MOST_IDS} can be", hint="Use a filter."
        )
    named = None if ids is None else [*dict.fromkeys(ids)]
    asked = Asked(command=command, filters=filters, ids=named, reason=reason, care=care)
    row = BatchRow(
        tenant=door.tenant, id=secrets.token_hex(8), verb=command.verb, by=command.user, state="running",
        asked=pack(asked), place=first_place(door, asked), slice=_NOBODY, total=total(door, asked), looked=0, done=0,
        refused=0, refusals=_NOBODY, started_at=door.now(),
    )  # fmt: skip
    if not door.store.add_batch(row, MOST_RUNNING):
        raise BatchesTooMany(count=MOST_RUNNING, retry_s=5)
    return batch_of(door.store, row)


def get(door: Queries, id: str) -> Batch:
    """Raises BatchNotFound."""
    row = door.store.batch(door.tenant, id)
    if row is None:
        raise BatchNotFound(batch=id)
    return batch_of(door.store, row)


def each(door: Queries, before: tuple[int, str] | None = None, limit: int = 50) -> list[Batch]:
    """The newest first."""
    return [batch_of(door.store, row) for row in door.store.batches(door.tenant, before=before, limit=limit)]


def cancel(door: Queries, id: str) -> Batch:
    """What is done stays done. Whoever does it begins no more slices, and no more runs where it is this process. One
    that is over stays as it is. Raises BatchNotFound."""
    return _turned(door, id, "cancelled", ("running", "paused"))


def pause(door: Queries, id: str) -> Batch:
    """Nothing more is begun until somebody goes on with it. One that does not run stays as it is. Raises
    BatchNotFound."""
    return _turned(door, id, "paused", ("running",))


def resume(door: Queries, id: str) -> Batch:
    """Goes on where it was; one that has stopped by itself counts its failures anew. One that is not paused stays as it
    is. Raises BatchNotFound."""
    return _turned(door, id, "running", ("paused",))


def _turned(door: Queries, id: str, state: State, of: tuple[State, ...]) -> Batch:
    get(door, id)
    door.store.turn_batch(door.tenant, id, state, door.now() if state == "cancelled" else None, of)
    return get(door, id)


class Batches:
    """Does those of all tenants, in the process that drives the store."""

    def __init__(self, door: Runs, audit: AuditLog) -> None:
        self.door, self.audit = door, audit
        self._doing: dict[tuple[str, str], _Doing] = {}
        self._watching: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Goes on with those that are under way, and with those that other processes leave in the store."""
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(StoreError):  # the engine says so, and waits
                self.look()
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Begins with every batch that nobody here works on."""
        for row in self.door.store.open_batches():
            key = (row.tenant, row.id)
            if key not in self._doing:
                doing = self._doing[key] = _Doing(self.door.of(row.tenant), self.audit, row)
                doing.task.add_done_callback(functools.partial(self._over, key))

    def _over(self, key: tuple[str, str], _: asyncio.Task[None]) -> None:
        del self._doing[key]

    @property
    def idle(self) -> bool:
        return not self._doing

    def get(self, door: Queries, id: str) -> Batch:
        """Raises BatchNotFound."""
        doing = self._doing.get((door.tenant, id))
        return doing.batch if doing is not None else get(door, id)

    async def cancel(self, door: Queries, id: str) -> Batch:
        """When it returns, nothing more is begun. Raises BatchNotFound."""
        return await self._stopped(door, cancel(door, id))

    async def pause(self, door: Queries, id: str) -> Batch:
        """The same, until it is resumed."""
        return await self._stopped(door, pause(door, id))

    async def _stopped(self, door: Queries, batch: Batch) -> Batch:
        doing = self._doing.get((door.tenant, batch.id))
        if doing is not None and batch.state != "running":
            await doing.stopped()
        return get(door, batch.id)

    def resume(self, door: Queries, id: str) -> Batch:
        batch = resume(door, id)
        self.look()
        return batch

    async def close(self) -> None:
        """They stay under way in the store, for whoever drives it next."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        await asyncio.gather(*(doing.stopped() for doing in [*self._doing.values()]))


class _Doing:
    """One of them, from where its row says on."""

    def __init__(self, door: Runs, audit: AuditLog, row: BatchRow) -> None:
        self.door, self.audit, self.row = door, audit, row
        self.asked: Asked = _asked.decode(row.asked)
        self.steps = read_steps(row.slice)
        self.refusals: list[Refusal] = _refusals.decode(row.refusals)
        self.results = Results(self.asked.care, row.watched)
        self.stopping = False
        self.task = asyncio.ensure_future(self._go())

    @property
    def batch(self) -> Batch:
        row = replace(self.row, refusals=pack(self.refusals), watched=self.results.packed())
        return batch_of(self.door.store, row)

    async def stopped(self) -> None:
        """The run that is under way is waited for, so that it is counted."""
        self.stopping = True
        await asyncio.wait([self.task], timeout=_END_S)
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _go(self) -> None:
        try:
            await self._do(again=True)
            while self.row.place is not None and not self.stopping:
                await self._next_slice(self.row.place)
                await self._do()
            while self.results.under_way and not self.stopping:
                await self._look()
            if not self.stopping:
                await self._end("done")
        except StoreError:
            return  # whoever looks for batches next takes it up where it is written down
        except PenstockError as error:
            self.row = replace(self.row, code=error.code, message=error.message)
            await self._end("failed")

    async def _next_slice(self, place: str) -> None:
        """Written down with what was done before, after the audit has it."""
        self.steps, more = await next_steps(self.door, self.asked, place)
        if self.steps:
            await self._recorded("batch.slice", {"verb": self.row.verb, "runs": [step.run for step in self.steps]})
        self.row = replace(self.row, place=more)
        self._move()
        await asyncio.sleep(0)

    async def _do(self, *, again: bool = False) -> None:
        """Each by itself: one that is refused keeps nobody else from it."""
        command = self.asked.command
        while self.steps and not self.stopping:
            step = self.steps[0]
            await self._room()
            if self.stopping:
                break
            refusal = None
            if not again or not done_before(self.door, command, step):
                refusal = await command_run(self.door, command, step.run, id=f"batch:{self.row.id}")
            self._count(refusal)
            if refusal is None:
                self.results.sent(step.no)
            self.steps = self.steps[1:]
        if self.stopping:
            self._move()

    async def _room(self) -> None:
        """Waits for its turn at the speed that was asked for, and for results where too many are not known."""
        if self.results.due(asyncio.get_running_loop().time()):
            await self._read_results()
        while self.results.full(self.row.done) and not self.stopping:
            await self._look()
        pause_s = self.results.pause_s(asyncio.get_running_loop().time())
        if pause_s > 0 and not self.stopping:
            await asyncio.sleep(pause_s)

    async def _look(self) -> None:
        await self._read_results()
        if not self.stopping:
            await asyncio.sleep(WATCHING)

    async def _read_results(self) -> None:
        """How those that were sent have ended; pauses where too many of them have failed again."""
        through, back = self.results.read(self.door.store)
        if through or back:
            self.row = replace(self.row, through=self.row.through + through, back=self.row.back + back)
        why = self.results.stops()
        if why is not None:
            self.results.forget()
            self.row = replace(self.row, state="paused", code=STOPPED, message=why)
            await self._recorded("batch.stopped", {"why": why})
            self.stopping = True
        if through or back or why:
            self._move()

    def _count(self, refusal: Refusal | None) -> None:
        row = self.row
        if refusal is None:
            self.row = replace(row, looked=row.looked + 1, done=row.done + 1)
            return
        self.row = replace(row, looked=row.looked + 1, refused=row.refused + 1)
        if len(self.refusals) < _REFUSALS:
            self.refusals.append(refusal)

    def _move(self) -> None:
        row = self.row = replace(
            self.row, slice=pack(self.steps), refusals=pack(self.refusals), watched=self.results.packed()
        )
        if not self.door.store.move_batch(row):  # somebody has cancelled it
            self.stopping = True
            self.door.store.count_batch(row)

    async def _end(self, state: State) -> None:
        self.row = replace(self.row, state=state, ended_at=self.door.now())
        self.steps = []
        counts = {"looked": self.row.looked, "done": self.row.done, "refused": self.row.refused}
        await self._recorded("batch.end", {"state": state, **counts})
        self._move()

    async def _recorded(self, action: str, body: dict[str, object]) -> None:
        await self.audit.recorded(self.row.tenant, self.row.by, action, f"batches/{self.row.id}", body)
