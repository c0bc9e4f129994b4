"""The checkpoints that documents ask for (C-47): beside those of the engine, for people and other programs."""

from __future__ import annotations

from typing import Protocol

import msgspec

from penstock.store.sql import Sql


class CheckpointRow(msgspec.Struct, frozen=True):
    run: str
    number: int
    id: str
    node: str
    status: str
    context: bytes
    outputs: bytes | None
    pending: bytes | None
    size: int
    storage: str
    moved: int
    at: int
    until: int


class CheckpointStore(Protocol):
    def last_checkpoint(self, run: str) -> tuple[int, int] | None:
        """The number and the time of the newest checkpoint that a document has asked for."""
        ...

    def checkpoints(self, run: str) -> list[CheckpointRow]:
        """Newest first."""
        ...

    def checkpoints_to_move(self, limit: int) -> list[CheckpointRow]: ...

    def checkpoint_moved(self, row: CheckpointRow) -> None:
        """Its contents have been put where they belong; the row has references now."""
        ...

    def checkpoints_over(self, now: int, limit: int) -> list[CheckpointRow]:
        """Those that may be purged and whose contents lie elsewhere; the others are purged by `tidy`."""
        ...

    def drop_checkpoint(self, run: str, number: int) -> None: ...

    def checkpoint_sizes(self) -> tuple[int, int, int]:
        """How many there are, their bytes, and the bytes of the largest."""
        ...

    def largest_checkpoints(self, most: int) -> list[tuple[str, int]]:
        """By tenant, in bytes; nothing where there are more than `most`: each of them would have to be read."""
        ...


CHECKPOINT = "run,number,id,node,status,context,outputs,pending,size,storage,moved,at,until"
#: C-47: the newest checkpoint of a run that has not ended is never purged
_OVER = (
    "until<=? AND (number < (SELECT max(c.number) FROM checkpoint c WHERE c.run=checkpoint.run)"
    " OR NOT EXISTS (SELECT 1 FROM run WHERE run.id=checkpoint.run AND run.status<5))"
)

#: forgotten by `tidy` at a time
FORGET_CHECKPOINTS = f"DELETE FROM checkpoint WHERE {_OVER} AND (storage='database' OR moved=0)"


class SqlCheckpoints(Sql):
    def last_checkpoint(self, run: str) -> tuple[int, int] | None:
        """The number and the time of the newest one."""
        sql = "SELECT number,at FROM checkpoint WHERE run=? ORDER BY number DESC LIMIT 1"
        newest: tuple[int, int] | None = self._read(sql, (run,)).fetchone()
        return newest

    def checkpoints(self, run: str) -> list[CheckpointRow]:
        """Newest first."""
        sql = f"SELECT {CHECKPOINT} FROM checkpoint WHERE run=? ORDER BY number DESC"
        return [CheckpointRow(*row) for row in self._read(sql, (run,))]

    def checkpoints_to_move(self, limit: int) -> list[CheckpointRow]:
        sql = f"SELECT {CHECKPOINT} FROM checkpoint WHERE moved=0 ORDER BY at LIMIT ?"
        return [CheckpointRow(*row) for row in self._read(sql, (limit,))]

    def checkpoint_moved(self, row: CheckpointRow) -> None:
        with self.transaction():
            self._execute(
                "UPDATE checkpoint SET context=?,outputs=?,pending=?,moved=1 WHERE run=? AND number=?",
                (row.context, row.outputs, row.pending, row.run, row.number),
            )

    def checkpoints_over(self, now: int, limit: int) -> list[CheckpointRow]:
        sql = f"SELECT {CHECKPOINT} FROM checkpoint WHERE {_OVER} AND storage<>'database' AND moved=1 LIMIT ?"
        return [CheckpointRow(*row) for row in self._read(sql, (now, limit))]

    def drop_checkpoint(self, run: str, number: int) -> None:
        with self.transaction():
            self._execute("DELETE FROM checkpoint WHERE run=? AND number=?", (run, number))

    def checkpoint_sizes(self) -> tuple[int, int, int]:
        """How many there are, their bytes, and the bytes of the largest."""
        row = self._read("SELECT count(*), coalesce(sum(size),0), coalesce(max(size),0) FROM checkpoint").fetchone()
        return int(row[0]), int(row[1]), int(row[2])

    def largest_checkpoints(self, most: int) -> list[tuple[str, int]]:
        ((count,),) = self._rows("SELECT count(*) FROM checkpoint")
        sql = "SELECT r.tenant, max(c.size) FROM checkpoint c JOIN run r ON r.id=c.run GROUP BY 1"
        return self._rows(sql) if count <= most else []
