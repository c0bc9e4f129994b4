"""Dead letters, notices and the checkpoints that documents ask for."""

from __future__ import annotations

from typing import Any

from penstock.store.contract import CheckpointRow, LetterRow
from penstock.store.sql import Sql

_LETTER = "tenant,run,name,version,queue,status,code,category,body,replays,at,until,no"
CHECKPOINT = "run,number,id,node,status,context,outputs,pending,size,storage,moved,at,until"
#: C-47: the newest checkpoint of a run that has not ended is never purged
_OVER = (
    "until<=? AND (number < (SELECT max(c.number) FROM checkpoint c WHERE c.run=checkpoint.run)"
    " OR NOT EXISTS (SELECT 1 FROM run WHERE run.id=checkpoint.run AND run.status<5))"
)
TIDY = (
    "DELETE FROM letter WHERE until<=?",
    f"DELETE FROM checkpoint WHERE {_OVER} AND (storage='database' OR moved=0)",
)


class Letters(Sql):
    # -- notices -------------------------------------------------------------------------------------------------------

    def notices(self, now: int, limit: int) -> list[tuple[int, bytes, int]]:
        sql = "SELECT no,body,tries FROM outbox WHERE topic='notice' AND due_at<=? ORDER BY no LIMIT ?"
        return self._read(sql, (now, limit)).fetchall()

    def notices_left(self) -> bool:
        return self._one("SELECT 1 FROM outbox WHERE topic='notice' LIMIT 1") is not None

    # -- letters -------------------------------------------------------------------------------------------------------

    def letters(self, tenant: str, *, name: str | None = None, since: int = 0, limit: int = 100) -> list[LetterRow]:
        """Newest first."""
        sql = f"SELECT {_LETTER} FROM letter WHERE tenant=? AND at>=?"
        values: list[Any] = [tenant, since]
        if name is not None:
            sql, values = sql + " AND name=?", [*values, name]
        return [LetterRow(*row) for row in self._read(sql + " ORDER BY at DESC, no DESC LIMIT ?", (*values, limit))]

    def letter(self, tenant: str, run: str) -> LetterRow | None:
        row = self._read(f"SELECT {_LETTER} FROM letter WHERE tenant=? AND run=?", (tenant, run)).fetchone()
        return None if row is None else LetterRow(*row)

    def letters_since(self, tenant: str, queue: str, since: int) -> int:
        sql = "SELECT count(*) FROM letter WHERE tenant=? AND queue=? AND at>?"
        return int(self._one(sql, (tenant, queue, since)))

    def letter_replayed(self, run: str, replays: int) -> None:
        with self.transaction():
            self._execute(f"UPDATE letter SET replays={self.LARGER}(replays,?) WHERE run=?", (replays, run))

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def last_checkpoint(self, run: str) -> tuple[int, int] | None:
        """The number and the time of the newest one."""
        sql = "SELECT number,at FROM checkpoint WHERE run=? ORDER BY number DESC LIMIT 1"
        found: tuple[int, int] | None = self._read(sql, (run,)).fetchone()
        return found

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
