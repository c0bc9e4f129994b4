"""What a database can do with a statement: the SQL of every repository is written once, upon this, «?» for values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

R = TypeVar("R")
HOUR_MS = 3_600_000  # lists count by hours


class Rows(Protocol):
    """What a statement has found, or how many rows it has changed."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Sql:
    """Where the two databases say the same thing in different words, the word is here, SQLite's first."""

    #: equal, or both null
    SAME = "IS"
    #: the larger of two values
    LARGER = "max"
    #: keeps others from a row until the commit: SQLite has one writer at a time
    FOR_UPDATE = ""
    #: rows that somebody else is about to take are passed over
    SKIP_LOCKED = ""
    #: goes before a column that is no way to its rows
    PLAIN = "+"
    #: from an item to its run, and never the other way
    ITS_RUN = "CROSS JOIN run r ON r.no=i.run"
    #: candidates, which are packed, hold a name
    HOLDS = "instr(i.candidates,?)>0"
    #: a remark's item is RUN/NODE
    RUN_OF_ITEM = "substr(item,1,instr(item,'/')-1)"

    def _read(self, sql: str, values: Iterable[Any] = ()) -> Rows:
        """By itself: it sees whole commits, and its errors are the house's."""
        raise NotImplementedError

    def _execute(self, sql: str, values: tuple[Any, ...] = ()) -> Rows:
        """Within a transaction."""
        raise NotImplementedError

    def _many(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        raise NotImplementedError

    def transaction(self) -> AbstractContextManager[None]:
        raise NotImplementedError

    def _by(self, index: str) -> str:
        """The way to the rows, for a database that would choose a worse one."""
        return f" INDEXED BY {index}"

    def _ms_between(self, earlier: str, later: str) -> str:
        """Of two columns with times (ISO 8601)."""
        return f"(julianday({later})-julianday({earlier}))*86400000"

    def _one(self, sql: str, values: Iterable[Any] = ()) -> Any:
        """The only column of the first row; None when there is no row."""
        row = self._read(sql, values).fetchone()
        return None if row is None else row[0]

    def _row(self, kind: Callable[..., R], sql: str, values: Iterable[Any] = ()) -> R | None:
        """The first row as what it is; None when there is no row."""
        row = self._read(sql, values).fetchone()
        return None if row is None else kind(*row)

    def _rows(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        return self._read(sql, values).fetchall()

    def _put(self, sql: str, values: tuple[Any, ...]) -> bool:
        """One statement is one commit: has it changed anything?"""
        return self._change(sql, values) > 0

    def _change(self, sql: str, values: tuple[Any, ...]) -> int:
        """One statement is one commit: how many rows it has changed."""
        with self.transaction():
            return self._execute(sql, values).rowcount


def marks(values: Sized) -> str:
    return ",".join("?" * len(values))


def is_in(column: str, values: Sized) -> str:
    return f"{column} IN ({marks(values)})" if values else "1=0"


def insert_new(table: str, columns: str) -> str:
    """Nothing changes where there is such a row already."""
    return f"INSERT INTO {table}({columns}) VALUES({marks(columns.split(','))}) ON CONFLICT DO NOTHING"
