"""Runs, their journals and nets, and what a turn commits with them: all that an engine needs to drive runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol
from zlib import crc32

import msgspec

from penstock.errors import RunAmbiguous, RunNotFound, StoreError
from penstock.store.sql import Sql


class Batch(msgspec.Struct, eq=False):
    """Everything that one commit writes. Rows are tuples in the order of `tables.py`."""

    new: list[tuple[Any, ...]] = []  # run rows
    journal: list[tuple[Any, ...]] = []  # run, seq_from, seq_to, at, body
    moved: list[tuple[Any, ...]] = []  # status, updated_at, wake_at, checkpoint_seq, checkpoint, net, no
    ended: list[tuple[Any, ...]] = []  # status, updated_at, net, no: ended runs keep the checkpoint they had
    firing: list[tuple[Any, ...]] = []
    wait: list[tuple[Any, ...]] = []
    unwait: list[tuple[Any, ...]] = []
    item_new: list[tuple[Any, ...]] = []
    item_moved: list[tuple[Any, ...]] = []  # status, by, moved_at, run, firing
    item_renumbered: list[tuple[Any, ...]] = []  # node, run, firing: of a run that has moved to another net
    work_new: list[tuple[Any, ...]] = []
    work_moved: list[tuple[Any, ...]] = []  # status, assignee, mode, version, run, firing
    incident: list[tuple[Any, ...]] = []
    cause: list[tuple[Any, ...]] = []
    cause_gone: list[tuple[Any, ...]] = []  # run; done before those that are new
    outbox: list[tuple[Any, ...]] = []  # run, seq, topic, body, tries, due_at
    intent: list[tuple[Any, ...]] = []
    intent_moved: list[tuple[Any, ...]] = []  # state, key
    intent_gone: list[tuple[Any, ...]] = []  # key
    inbox_answered: list[tuple[Any, ...]] = []  # answer, no
    event_taken: list[tuple[Any, ...]] = []  # answer, no
    gate: list[tuple[Any, ...]] = []
    memo: list[tuple[Any, ...]] = []
    blobs: list[tuple[Any, ...]] = []
    judgment: list[tuple[Any, ...]] = []
    artifact_use: list[tuple[Any, ...]] = []
    letter: list[tuple[Any, ...]] = []  # all but its number
    letter_gone: list[tuple[Any, ...]] = []  # run
    checkpoint: list[tuple[Any, ...]] = []
    checkpoint_until: list[tuple[Any, ...]] = []  # until, run
    execution_new: list[tuple[Any, ...]] = []
    execution_moved: list[tuple[Any, ...]] = []  # the columns that change (`executions.MOVED`), run
    stage_log: list[tuple[Any, ...]] = []
    usage: list[tuple[Any, ...]] = []  # what is added to the row of a tenant and day
    task: list[tuple[Any, ...]] = []  # whole rows, as they are now
    task_agent: list[tuple[Any, ...]] = []
    task_execution: list[tuple[Any, ...]] = []
    job_gone: list[tuple[Any, ...]] = []  # ended_at, run, firing; done before those that are new
    job_new: list[tuple[Any, ...]] = []
    job_paused: list[tuple[Any, ...]] = []  # 1 or 0, run: it is paused, or goes on
    project_began: list[tuple[Any, ...]] = []  # run, status, why, tenant, id: it has a new run
    project_moved: list[tuple[Any, ...]] = []  # status, why, tenant, id, run: where that is still its run

    def mark(self) -> list[int]:
        """How much it holds, to go back to."""
        return [len(getattr(self, name)) for name in self.__struct_fields__]

    def back_to(self, mark: list[int]) -> None:
        for name, size in zip(self.__struct_fields__, mark, strict=True):
            del getattr(self, name)[size:]


class RunRow(msgspec.Struct, frozen=True):
    no: int
    id: str
    tenant: str
    net: int
    key: str | None
    status: int
    priority: int
    created_at: int
    updated_at: int
    wake_at: int | None
    parent: str | None
    checkpoint_seq: int
    checkpoint: bytes | None


class NetRow(msgspec.Struct, frozen=True):
    no: int
    hash: str
    name: str
    language: str
    body: bytes
    source: bytes | None
    released_at: int


class PendingRun(msgspec.Struct, frozen=True):
    """A run that waits to be admitted, and its place among the others."""

    no: int
    tenant: str
    net: int
    priority: int
    created_at: int


class JournalRow(msgspec.Struct, frozen=True):
    """`checksum` is what was written with the row, where whoever reads has asked for it."""

    seq_from: int
    seq_to: int
    at: int
    body: bytes
    checksum: int | None = None


def checksum(run: int, seq_from: int, seq_to: int, at: int, body: Any) -> int:
    """CRC-32 of a row of the journal: a changed bit in any of its columns changes it."""
    return crc32(body, (run ^ seq_from << 8 ^ seq_to << 16 ^ at ^ at >> 32) & 0xFFFFFFFF)


def is_whole(run: int, row: JournalRow) -> bool:
    """Whether a row is what was written; of rows that are older than checksums nobody knows."""
    return row.checksum is None or row.checksum == checksum(run, row.seq_from, row.seq_to, row.at, row.body)


def with_checksums(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows of a batch's journal as they are stored."""
    try:
        return [(*row, checksum(*row)) for row in rows]
    except TypeError as error:
        raise StoreError(why=f"a row of the journal is not one: {error}") from error


class RunStore(Protocol):
    """`commit` is atomic and durable: when it returns, the batch survives kill -9 of everything; when it raises,
    nothing of it was written. It raises Fenced when another host has the store, StoreFull when there is no room.

    Here one engine holds the whole store, by one fence. When several share one, each will claim runs: to claim, renew
    and release a run, and the fence of a claim, belong to this contract, beside `load` and `commit`, and nowhere else;
    `unfinished` and `due` will then give only runs that are claimed here."""

    #: how many there were since it was opened
    commits: int

    def commit(self, batch: Batch) -> None: ...

    def load(self, numbers: Iterable[int]) -> list[tuple[RunRow, list[JournalRow]]]:
        """Run rows with the journal after their checkpoint, for many runs at once."""
        ...

    def run_by_id(self, prefix: str, *, tenant: str | None = None) -> RunRow:
        """By id or a unique beginning of it; RunNotFound, RunAmbiguous."""
        ...

    def run_by_key(self, tenant: str, key: str) -> RunRow | None: ...

    def unfinished(self) -> list[int]:
        """Runs that can go on by themselves."""
        ...

    def pending_runs(self, after: PendingRun | None, limit: int) -> list[PendingRun]:
        """PENDING runs that wait for no timer, by priority and then by age, behind `after`."""
        ...

    def pending_beyond(self, most: int) -> bool:
        """Are there at least so many PENDING runs that wait for no timer? Looks at no more of them, by an index."""
        ...

    def open_by_net(self, status: Sequence[int]) -> list[tuple[int, str, int]]:
        """How many runs have one of these statuses: net, tenant, count."""
        ...

    def open_below(self, prefix: str) -> list[tuple[int, str]]:
        """Runs that have not ended and whose id begins so: number, id."""
        ...

    def count_open_runs(self, tenant: str, most: int) -> int:
        """How many runs of the tenant have not ended; it is not counted further than `most`."""
        ...

    def count_open_items(self, tenant: str, most: int) -> int:
        """The same of work items."""
        ...

    def due(self, before: int, limit: int, after: tuple[int, int] = (-1, 0)) -> list[tuple[int, int, str]]:
        """Runs whose next timer is due before then, by due time and number, and behind `after`: number, due time,
        tenant."""
        ...

    def last_run(self) -> int: ...

    def newest_time(self) -> int:
        """When a run's row was written last, which is at least when its timers were set; 0 where there is none."""
        ...

    def journal(self, run: int, after: int = 0) -> Iterator[JournalRow]:
        """Its turns after a fact, in pages: however slowly they are taken, no read of the store stays open."""
        ...

    def facts_of(self, run: int) -> int:
        """How many facts a run has. Costs one look-up."""
        ...

    def fact_times(self, run: int, facts: Iterable[int]) -> list[int]:
        """When these facts happened. Costs one look-up each; no body is read."""
        ...

    def add_net(self, row: NetRow) -> int:
        """The number of the net with this hash, released now or before."""
        ...

    def net(self, no: int) -> NetRow: ...

    def net_by_hash(self, hash: str) -> NetRow | None: ...

    def net_numbers(self) -> list[int]: ...

    def put_inbox(self, run: int, command: bytes, at: int) -> int: ...

    def inbox(self, limit: int = 512) -> list[tuple[int, int, bytes]]: ...

    def inbox_answer(self, no: int) -> bytes | None: ...

    def blob(self, hash: str) -> bytes | None: ...

    def memo(self, key: str, now: int) -> tuple[bytes | None] | None: ...

    def gates(self) -> list[tuple[str, bytes]]: ...

    def intents(self) -> list[tuple[str, int, int, int, str]]: ...

    def outbox(self, now: int, limit: int) -> list[tuple[int, int, int, str, bytes, int]]:
        """What may be delivered now, oldest first: no, run, seq, topic, body, tries. Nothing of a run whose oldest row
        waits for a later try."""
        ...

    def outbox_left(self) -> bool:
        """Is there anything, due or not?"""
        ...

    def outbox_moved(self, done: Iterable[int], later: Iterable[tuple[int, int]]) -> None:
        """In one transaction: rows that were delivered, and rows to be tried again at a time."""
        ...


RUN = "no,id,tenant,net,key,status,priority,created_at,updated_at,wake_at,parent,checkpoint_seq,checkpoint"
#: turns of a journal that one read takes; the first reads take fewer, for those who want the next one only
JOURNAL_PAGE, _FIRST_PAGE = 1024, 16
#: what the partial index `run_pending` asks for: those that may begin lie there in their order, and nobody else, so a
#: planner that knows nothing of the table yet has no better way
_PENDING = " FROM run WHERE status=1 AND status<5 AND wake_at IS NULL"
_TOLD = "topic NOT IN ('notice','follow-up')"  # rows of the outbox that sinks see
UNFINISHED = "SELECT no FROM run WHERE status IN (0,2,4) AND status < 5"  # «< 5» is what the partial index asks for


class SqlRuns(Sql):
    def run_by_id(self, prefix: str, *, tenant: str | None = None) -> RunRow:
        if not prefix.replace("-", "").isalnum():
            raise RunNotFound(run=prefix)
        low = prefix.lower()
        mine, values = ("", ()) if tenant is None else (" AND tenant=?", (tenant,))
        sql = f"SELECT {RUN} FROM run WHERE id >= ? AND id < ?{mine} ORDER BY id LIMIT 3"
        rows = self._read(sql, (low, low + "\x7f", *values)).fetchall()
        exact = [r for r in rows if r[1] == low]
        if exact:
            return RunRow(*exact[0])
        if not rows:
            raise RunNotFound(run=prefix)
        if len(rows) > 1:
            raise RunAmbiguous(run=prefix, count="several")
        return RunRow(*rows[0])

    def run_by_key(self, tenant: str, key: str) -> RunRow | None:
        return self._row(RunRow, f"SELECT {RUN} FROM run WHERE tenant=? AND key=?", (tenant, key))

    def unfinished(self) -> list[int]:
        return [r[0] for r in self._read(f"{UNFINISHED} ORDER BY no")]

    def pending_runs(self, after: PendingRun | None, limit: int) -> list[PendingRun]:
        sql, values = f"SELECT no,tenant,net,priority,created_at{_PENDING}", list[Any]()
        if after is not None:
            sql += " AND (priority,created_at,no)>(?,?,?)"
            values = [after.priority, after.created_at, after.no]
        rows = self._read(f"{sql} ORDER BY priority,created_at,no LIMIT ?", (*values, limit))
        return [PendingRun(*row) for row in rows]

    def pending_beyond(self, most: int) -> bool:
        sql = f"SELECT 1{_PENDING} ORDER BY priority,created_at,no LIMIT 1 OFFSET ?"
        return self._one(sql, (most - 1,)) is not None

    def open_by_net(self, status: Sequence[int]) -> list[tuple[int, str, int]]:
        marks = ",".join("?" * len(status))
        sql = f"SELECT net,tenant,count(*) FROM run WHERE status IN ({marks}) AND status<5 GROUP BY net,tenant"
        return [(net, tenant, count) for net, tenant, count in self._read(sql, tuple(status))]

    def open_below(self, prefix: str) -> list[tuple[int, str]]:
        sql = "SELECT no,id FROM run WHERE id >= ? AND id < ? AND status < 5"
        return self._read(sql, (prefix, prefix + "\x7f")).fetchall()

    def count_open_runs(self, tenant: str, most: int) -> int:
        sql = "SELECT count(*) FROM (SELECT 1 FROM run WHERE tenant=? AND status<5 LIMIT ?) t"
        number: int = self._one(sql, (tenant, most))
        return number

    def count_open_items(self, tenant: str, most: int) -> int:
        sql = (
            "SELECT count(*) FROM (SELECT 1 FROM run r JOIN item i ON i.run=r.no WHERE r.tenant=? AND r.status<5"
            " AND i.status IN ('TODO','IN_PROGRESS','SUBMITTED','REWORK') LIMIT ?) t"
        )
        number: int = self._one(sql, (tenant, most))
        return number

    def due(self, before: int, limit: int, after: tuple[int, int] = (-1, 0)) -> list[tuple[int, int, str]]:
        sql = (
            "SELECT no, wake_at, tenant FROM run WHERE wake_at IS NOT NULL AND wake_at<=? AND wake_at>=?"
            " AND (wake_at>? OR no>?) ORDER BY wake_at, no LIMIT ?"
        )
        return self._read(sql, (before, after[0], *after, limit)).fetchall()

    def last_run(self) -> int:
        number: int = self._one("SELECT coalesce(max(no),0) FROM run")
        return number

    def newest_time(self) -> int:
        at: int = self._one("SELECT coalesce(max(updated_at),0) FROM run")
        return at

    def journal(self, run: int, after: int = 0) -> Iterator[JournalRow]:
        columns = "seq_from,seq_to,at,body,checksum"
        sql = f"SELECT {columns} FROM journal WHERE run=? AND seq_from>? ORDER BY seq_from LIMIT ?"
        size = _FIRST_PAGE
        while True:
            page = self._read(sql, (run, after, size)).fetchall()
            for row in page:
                yield JournalRow(*row)
            if len(page) < size:
                return
            after, size = page[-1][0], min(4 * size, JOURNAL_PAGE)

    def facts_of(self, run: int) -> int:
        number: int = self._one("SELECT seq_to FROM journal WHERE run=? ORDER BY seq_from DESC LIMIT 1", (run,)) or 0
        return number

    def fact_times(self, run: int, facts: Iterable[int]) -> list[int]:
        sql = "SELECT at FROM journal WHERE run=? AND seq_from<=? ORDER BY seq_from DESC LIMIT 1"
        return [int(self._one(sql, (run, fact))) for fact in facts]

    def net(self, no: int) -> NetRow:
        sql = "SELECT no,hash,name,language,body,source,released_at FROM net WHERE no=?"
        row = self._read(sql, (no,)).fetchone()
        if row is None:
            raise StoreError(why=f"net {no} is missing")
        return NetRow(*row)

    def net_by_hash(self, hash: str) -> NetRow | None:
        sql = "SELECT no,hash,name,language,body,source,released_at FROM net WHERE hash=?"
        return self._row(NetRow, sql, (hash,))

    def net_numbers(self) -> list[int]:
        return [row[0] for row in self._read("SELECT no FROM net ORDER BY no")]

    def inbox(self, limit: int = 512) -> list[tuple[int, int, bytes]]:
        sql = "SELECT no,run,command FROM inbox WHERE answer IS NULL ORDER BY no LIMIT ?"
        return self._read(sql, (limit,)).fetchall()

    def inbox_answer(self, no: int) -> bytes | None:
        answer: bytes | None = self._one("SELECT answer FROM inbox WHERE no=?", (no,))
        return answer

    def blob(self, hash: str) -> bytes | None:
        body: bytes | None = self._one("SELECT body FROM blob WHERE hash=?", (hash,))
        return body

    def memo(self, key: str, now: int) -> tuple[bytes | None] | None:
        sql = "SELECT body FROM memo WHERE key=? AND until>?"
        row: tuple[bytes | None] | None = self._read(sql, (key, now)).fetchone()
        return row

    def gates(self) -> list[tuple[str, bytes]]:
        return self._read("SELECT name,body FROM gate").fetchall()

    def intents(self) -> list[tuple[str, int, int, int, str]]:
        return self._read("SELECT key,run,firing,attempt,state FROM intent").fetchall()

    def outbox(self, now: int, limit: int) -> list[tuple[int, int, int, str, bytes, int]]:
        sql = (
            f"SELECT no,run,seq,topic,body,tries FROM outbox WHERE due_at<=? AND {_TOLD} AND run NOT IN"
            f" (SELECT run FROM outbox WHERE due_at>? AND tries>0 AND {_TOLD}) ORDER BY no LIMIT ?"
        )
        return self._read(sql, (now, now, limit)).fetchall()

    def outbox_left(self) -> bool:
        return self._one(f"SELECT 1 FROM outbox WHERE {_TOLD} LIMIT 1") is not None

    def outbox_moved(self, done: Iterable[int], later: Iterable[tuple[int, int]]) -> None:
        with self.transaction():
            self._many("DELETE FROM outbox WHERE no=?", [(no,) for no in done])
            self._many("UPDATE outbox SET tries=tries+1, due_at=? WHERE no=?", [(at, no) for no, at in later])
