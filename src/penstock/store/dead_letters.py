"""Dead letters: runs that ended badly and that nobody retries unasked."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from penstock.store.sql import HOUR_MS, Sql


class LetterRow(msgspec.Struct, frozen=True):
    tenant: str
    run: str
    name: str
    version: int
    queue: str
    status: str
    code: str
    category: str
    body: bytes
    replays: int
    at: int
    until: int
    no: int = 0


class DeadLetterStore(Protocol):
    def letters(self, tenant: str, *, name: str | None = None, since: int = 0, limit: int = 100) -> list[LetterRow]:
        """Newest first."""
        ...

    def letter(self, tenant: str, run: str) -> LetterRow | None: ...

    def letters_since(self, tenant: str, queue: str, since: int) -> int:
        """How many letters of a queue have come after a time."""
        ...

    def letter_replayed(self, run: str, replays: int) -> None: ...

    def letter_counts(self, tenant: str, since: int) -> tuple[int, list[tuple[int, int]]]:
        """How many dead letters there are, and by hour those that came after `since`."""
        ...


_LETTER = "tenant,run,name,version,queue,status,code,category,body,replays,at,until,no"

#: forgotten by `tidy` at a time
FORGET_LETTERS = "DELETE FROM letter WHERE until<=?"


class SqlDeadLetters(Sql):
    def letters(self, tenant: str, *, name: str | None = None, since: int = 0, limit: int = 100) -> list[LetterRow]:
        """Newest first."""
        sql = f"SELECT {_LETTER} FROM letter WHERE tenant=? AND at>=?"
        values: list[Any] = [tenant, since]
        if name is not None:
            sql, values = sql + " AND name=?", [*values, name]
        return [LetterRow(*row) for row in self._read(sql + " ORDER BY at DESC, no DESC LIMIT ?", (*values, limit))]

    def letter(self, tenant: str, run: str) -> LetterRow | None:
        return self._row(LetterRow, f"SELECT {_LETTER} FROM letter WHERE tenant=? AND run=?", (tenant, run))

    def letters_since(self, tenant: str, queue: str, since: int) -> int:
        sql = "SELECT count(*) FROM letter WHERE tenant=? AND queue=? AND at>?"
        return int(self._one(sql, (tenant, queue, since)))

    def letter_replayed(self, run: str, replays: int) -> None:
        with self.transaction():
            self._execute(f"UPDATE letter SET replays={self.LARGER}(replays,?) WHERE run=?", (replays, run))

    def letter_counts(self, tenant: str, since: int) -> tuple[int, list[tuple[int, int]]]:
        ((total,),) = self._rows("SELECT count(*) FROM letter WHERE tenant=?", (tenant,))
        sql = f"SELECT at/{HOUR_MS}, count(*) FROM letter WHERE tenant=? AND at>=? GROUP BY 1"
        return int(total), self._rows(sql, (tenant, since))
