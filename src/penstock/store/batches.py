"""Batches of runs: one verb for many of them, and how far it is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.sql import Sql, insert_new, is_in

#: how long one that is over can be looked up
KEPT_MS = 30 * 86_400_000
#: no runs under way, no results, msgpack
NOTHING_WATCHED = b"\x92\x90\x90"


class BatchRow(msgspec.Struct, frozen=True):
    """`slice` are the runs that it is about to be done to: written before the first of them, so that after a crash
    nobody has to guess."""

    tenant: str
    id: str
    verb: str
    by: str
    state: str
    asked: bytes
    place: str | None
    slice: bytes
    total: int | None
    looked: int
    done: int
    refused: int
    refusals: bytes
    started_at: int
    ended_at: int | None = None
    code: str | None = None
    message: str | None = None
    through: int = 0
    back: int = 0
    watched: bytes = NOTHING_WATCHED


class BatchStore(Protocol):
    def add_batch(self, row: BatchRow, most: int) -> bool:
        """False, and nothing changes, where so many of the tenant are under way already."""
        ...

    def batch(self, tenant: str, id: str) -> BatchRow | None: ...

    def batches(
        self, tenant: str, *, before: tuple[int, str] | None = None, limit: int = 50
    ) -> list[BatchRow]:  # fmt: skip
        """The newest first; `before` is where the last page ended: its time and its id."""
        ...

    def open_batches(self) -> list[BatchRow]:
        """Of all tenants, the oldest first."""
        ...

    def move_batch(self, row: BatchRow) -> bool:
        """How far it is. False, and nothing changes, where it does not run: somebody has paused or cancelled it."""
        ...

    def count_batch(self, row: BatchRow) -> None:
        """What was done meanwhile of one that was paused or cancelled."""
        ...

    def turn_batch(self, tenant: str, id: str, state: str, ended_at: int | None, of: Collection[str]) -> bool:
        """Somebody pauses it, goes on with it or cancels it. False, and nothing changes, where it is in none of these
        states."""
        ...


_ASKED = 'tenant,id,verb,"by",state,asked'
_MOVES = "place,slice,total,looked,done,refused,refusals"
_BATCH = f"{_ASKED},{_MOVES},started_at,ended_at,code,message,through,back,watched"
_COUNTS = "place=?,slice=?,looked=?,done=?,refused=?,refusals=?,through=?,back=?,watched=?"
FORGET_BATCHES = f"DELETE FROM batch WHERE ended_at IS NOT NULL AND ended_at + {KEPT_MS}<?"


class SqlBatches(Sql):
    def add_batch(self, row: BatchRow, most: int) -> bool:
        with self.transaction():
            under_way = "SELECT count(*) FROM batch WHERE tenant=? AND state='running'"
            if self._execute(under_way, (row.tenant,)).fetchone()[0] >= most:
                return False
            self._execute(insert_new("batch", _BATCH), astuple(row))
        return True

    def batch(self, tenant: str, id: str) -> BatchRow | None:
        return self._row(BatchRow, f"SELECT {_BATCH} FROM batch WHERE tenant=? AND id=?", (tenant, id))

    def batches(
        self, tenant: str, *, before: tuple[int, str] | None = None, limit: int = 50
    ) -> list[BatchRow]:  # fmt: skip
        after = "" if before is None else " AND (started_at,id)<(?,?)"
        sql = f"SELECT {_BATCH} FROM batch WHERE tenant=?{after} ORDER BY started_at DESC,id DESC LIMIT ?"
        return [BatchRow(*row) for row in self._read(sql, (tenant, *(before or ()), limit))]

    def open_batches(self) -> list[BatchRow]:
        sql = f"SELECT {_BATCH} FROM batch WHERE state='running' ORDER BY started_at,id"
        return [BatchRow(*row) for row in self._read(sql)]

    def move_batch(self, row: BatchRow) -> bool:
        sql = (
            f"UPDATE batch SET state=?,{_COUNTS},ended_at=?,code=?,message=?"
            " WHERE tenant=? AND id=? AND state='running'"
        )
        end = (row.ended_at, row.code, row.message, row.tenant, row.id)
        return self._put(sql, (row.state, *_counts(row), *end))

    def count_batch(self, row: BatchRow) -> None:
        self._change(f"UPDATE batch SET {_COUNTS} WHERE tenant=? AND id=?", (*_counts(row), row.tenant, row.id))

    def turn_batch(self, tenant: str, id: str, state: str, ended_at: int | None, of: Collection[str]) -> bool:
        states = tuple(of)
        sql = (
            "UPDATE batch SET state=?,ended_at=?,code=NULL,message=NULL"
            f" WHERE tenant=? AND id=? AND {is_in('state', states)}"
        )
        return self._put(sql, (state, ended_at, tenant, id, *states))


def _counts(row: BatchRow) -> tuple[object, ...]:
    counts = (row.looked, row.done, row.refused, row.refusals, row.through, row.back, row.watched)
    return (row.place, row.slice, *counts)
