"""What SQLite itself says of a file: its pages, its indexes, its rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from penstock.store.sqlite_sql import SqliteSql
from penstock.store.tables import TABLES

#: a file up to this size is looked through at every start of a server; of a larger one its small tables
QUICK_BYTES = 256 * 1024 * 1024
_SMALL = ("mark", "net", "gate", "schedule", "api_key", "release", "intent", "ended_session")
_MOST = 100
#: the schema's own table, with which SQLite looks at the list of free pages; it leaves that out of the whole where the
#: first of the tables happens to be a view
_FREE_LIST = "sqlite_master"


class SqliteChecks(SqliteSql):
    def damage(self, *, quick: bool = False) -> Iterator[str]:
        """All that is wrong; `quick` is bounded, whatever the size: it compares no indexes with their tables."""
        how = "quick_check" if quick else "integrity_check"
        whole = not quick or self._bytes() <= QUICK_BYTES
        try:
            for what in (str(_MOST), _FREE_LIST) if whole else (_FREE_LIST, *_SMALL):
                yield from self._said(how, what)
            if not quick:
                yield from self._unreadable()
                yield from self._unusable()
        except sqlite3.Error as error:
            yield str(error)

    def _said(self, pragma: str, of: str) -> list[str]:
        answers = [str(row[0]) for row in self.c.execute(f"PRAGMA {pragma}({of})")]
        lines = [line for answer in answers for line in answer.splitlines() if not line.startswith("***")]
        return [] if lines == ["ok"] else lines

    def _unreadable(self) -> Iterator[str]:
        """Rows that cannot be read as what they are, such as texts that are none."""
        for table in TABLES:
            try:
                for _ in self.c.execute(f'SELECT * FROM "{table.name}" NOT INDEXED'):
                    pass
            except sqlite3.Error as error:
                yield f"table {table.name}: {error}"

    def _unusable(self) -> Iterator[str]:
        """Indexes that are not what they were declared as: their pages may be whole, while no query can use them."""
        for table in TABLES:
            for index in table.indexes:
                try:
                    where = index.where or "1"
                    self.c.execute(f'SELECT 1 FROM "{table.name}" INDEXED BY "{index.name}" WHERE {where} LIMIT 1')
                except sqlite3.Error as error:
                    yield f"index {index.name}: {error}"

    def _bytes(self) -> int:
        ((pages,), (size,)) = (self.c.execute(f"PRAGMA {asked}").fetchone() for asked in ("page_count", "page_size"))
        return int(pages) * int(size)
