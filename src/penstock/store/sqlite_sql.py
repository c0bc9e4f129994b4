"""SQLite's half of the repositories: how a statement is asked, and its errors in the house's words."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from penstock.errors import Fenced, StoreAway, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreNotOurs
from penstock.store.run_store import RUN, JournalRow, RunRow
from penstock.store.sql import Sql, marks


class Reading(sqlite3.Cursor):
    """Rows come when they are asked for, and so do SQLite's errors."""

    path: Path

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except sqlite3.Error as error:
            raise_for(error, self.path)

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except sqlite3.Error as error:
            raise_for(error, self.path)

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except sqlite3.Error as error:
            raise_for(error, self.path)


class SqliteSql(Sql):
    c: sqlite3.Connection
    path: Path

    def _read(self, sql: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        try:
            cursor = self.c.cursor(Reading)
            cursor.path = self.path
            return cursor.execute(sql, tuple(values))
        except sqlite3.Error as error:
            raise_for(error, self.path)

    def _execute(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        return self.c.execute(sql, values)

    def _many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self.c.executemany(sql, rows)

    @contextlib.contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        writes = begin != "BEGIN"
        if writes:
            self._before_writing()
        try:
            self.c.execute(begin)
            yield
            self.c.execute("COMMIT")
        except sqlite3.Error as error:
            self._rollback()
            raise_for(error, self.path)
        except BaseException:
            self._rollback()
            raise
        if writes:
            self._written()

    def _before_writing(self) -> None:
        """Raises StoreGone where the file is not the one that was opened."""
        raise NotImplementedError

    def _written(self) -> None:
        """The same, after the commit."""
        raise NotImplementedError

    def _rollback(self) -> None:
        # after SQLITE_FULL the transaction is gone already, and a blind ROLLBACK would raise; after an I/O error it may
        # fail as well, and the first error is the one that matters
        if self.c.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self.c.execute("ROLLBACK")

    def load(self, numbers: Iterable[int]) -> list[tuple[RunRow, list[JournalRow]]]:
        by_number: dict[int, tuple[RunRow, list[JournalRow]]] = {}
        asked = list(numbers)
        for i in range(0, len(asked), 500):
            part = asked[i : i + 500]
            those = f"no IN ({marks(part)})"
            tail = (
                "SELECT j.run,j.seq_from,j.seq_to,j.at,j.body FROM run r JOIN journal j ON j.run=r.no"
                f" AND j.seq_from>r.checkpoint_seq WHERE r.{those} ORDER BY j.run,j.seq_from"
            )
            with self.transaction("BEGIN"):  # rows and tail as of one moment, while another process commits
                for row in self.c.execute(f"SELECT {RUN} FROM run WHERE {those}", part):
                    by_number[row[0]] = (RunRow(*row), [])
                for row in self.c.execute(tail, part):
                    by_number[row[0]][1].append(JournalRow(*row[1:]))
        return list(by_number.values())


def raise_for(error: sqlite3.Error, path: Path) -> NoReturn:
    """SQLite's many words, in ours."""
    code = getattr(error, "sqlite_errorname", "")
    if code.startswith("SQLITE_FULL"):
        raise StoreFull from error
    if code in ("SQLITE_NOTADB", "SQLITE_FORMAT"):
        raise StoreNotOurs(path=path) from error
    if code.startswith("SQLITE_CORRUPT"):
        raise StoreDamaged(why=f"{path}: {error}") from error
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        raise StoreBusy from error
    if code.startswith(("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PROTOCOL")):
        raise StoreAway(why=f"{path}: {error} ({code})") from error
    if code in ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_ROWID"):
        raise Fenced from error  # somebody else has written this turn, or this run
    raise StoreError(why=f"{path}: {error} ({code or 'sqlite'})") from error
