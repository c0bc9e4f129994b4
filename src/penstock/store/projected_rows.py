"""The projected rows that a batch leads to: its statements on tables in memory, by the same SQL as the store's own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from penstock.store import schema
from penstock.store.run_store import Batch
from penstock.store.sqlite import PROJECTED
from penstock.store.table_shape import Table
from penstock.store.tables import PROJECTIONS


class ProjectedRows:
    def __init__(self) -> None:
        self._c = sqlite3.connect(":memory:", isolation_level=None)
        for table in PROJECTIONS:
            for statement in schema.create(table):
                self._c.execute(statement)

    def close(self) -> None:
        self._c.close()

    def of(self, batch: Batch) -> Iterator[tuple[Table, list[tuple[Any, ...]]]]:
        """Every projection with its rows; nothing of it is left for the next batch."""
        self._c.execute("BEGIN")
        try:
            for statement, field in PROJECTED:
                if rows := getattr(batch, field):
                    self._c.executemany(statement, rows)
            made = [(table, self._c.execute(f'SELECT * FROM "{table.name}"').fetchall()) for table in PROJECTIONS]
        finally:
            self._c.execute("ROLLBACK")
        yield from made
