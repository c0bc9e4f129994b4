"""What people query, compared with the journal: each projected row of a run is what its facts lead to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.dialects.projection import rows_of
from penstock.host.blobs import Blobs
from penstock.host.nets import Nets
from penstock.store.contract import Store
from penstock.store.projected_rows import ProjectedRows
from penstock.store.run_store import Batch, JournalRow, RunRow
from penstock.store.run_tables import WAITING
from penstock.store.table_shape import Table

Row = tuple[Any, ...]


class Projections:
    def __init__(self, store: Store, nets: Nets) -> None:
        self.store, self.nets = store, nets
        self._expected = ProjectedRows()
        self._waiting: dict[int, list[Row]] | None = None

    def close(self) -> None:
        self._expected.close()

    def look_again(self) -> None:
        """Somebody may have written meanwhile."""
        self._waiting = None

    def check(self, say: Callable[[str, str], None], row: RunRow, journal: list[JournalRow]) -> None:
        """H9: the row that is missing, of no fact, or different is named by its table and its key."""
        batch = Batch()
        rows_of(row, iter(journal), batch, self.nets.of, Blobs(self.store).of(row.tenant))
        for table, rows in self._expected.of(batch):
            if "run" not in table.names:  # sums of many runs
                continue
            keys = [number for number, column in enumerate(table.columns) if column.key]
            expected = {_key(keys, each): each for each in rows}
            there = {_key(keys, each): each for each in self._in_store(table, row)}
            for key in sorted(expected.keys() | there.keys(), key=repr):
                if key not in there:
                    say("H9", f"row {key} of {table.name} is missing")
                elif key not in expected:
                    say("H9", f"row {key} of {table.name} is of no fact")
                elif expected[key] != there[key]:
                    say("H9", f"row {key} of {table.name} is not what the journal says")

    def _in_store(self, table: Table, row: RunRow) -> list[Row]:
        if any(column.name == "run" and column.type == "text" for column in table.columns):
            return self.store.projected(table, row.id)
        if table is not WAITING:
            return self.store.projected(table, row.no)
        if self._waiting is None:  # it lies by tenant and name: by run it would be looked through for each
            self._waiting = {}
            for waiting in self.store.projected(table):
                self._waiting.setdefault(waiting[2], []).append(waiting)
        return self._waiting.get(row.no, [])


def _key(columns: list[int], row: Row) -> Row:
    return tuple(row[column] for column in columns)
