"""What a database can do with a statement. Rooms of the store are written once, upon this; a value's place is «?»."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import AbstractContextManager
from typing import Any, Protocol


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
    #: goes before a column that is no way to its rows
    PLAIN = "+"
    #: from an item to its run, and never the other way
    ITS_RUN = "CROSS JOIN run r ON r.no=i.run"
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

    def _one(self, sql: str, values: Iterable[Any] = ()) -> Any:
        """The only column of the first row; None when there is no row."""
        row = self._read(sql, values).fetchone()
        return None if row is None else row[0]

    def _change(self, sql: str, values: tuple[Any, ...]) -> int:
        """One statement is one commit: how many rows it has changed."""
        with self.transaction():
            return self._execute(sql, values).rowcount


def marks(values: Sized) -> str:
    return ",".join("?" * len(values))
