"""Brings the events of each case together, in whatever order they come: in memory while they are few, else on disk.

The disk is a temporary database of the standard library's SQLite that no path leads to and that is gone when it is
closed. It sorts several million rows in the memory that it is given; another engine would be a second behaviour.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from penstock.mining.lifecycle import RawEvent
from penstock.mining.log_options import check_case_length

IN_MEMORY = 100_000  # events
_AT_ONCE = 10_000
_CACHE_KIB = 32_768


class CaseGroups:
    """`add` all, then `cases` once."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._numbers: dict[str, int] = {}
        self._rows: list[tuple[int, int, *RawEvent]] = []
        self._disk: sqlite3.Connection | None = None

    def add(self, case: str, line: int, event: RawEvent) -> None:
        number = self._numbers.setdefault(case, len(self._numbers))
        self._rows.append((number, line, *event))
        if len(self._rows) >= (self._in_memory if self._disk is None else _AT_ONCE):
            self._spill()

    def cases(self) -> Iterator[tuple[str, int, list[RawEvent]]]:
        """Each case with the line of its first event, in the order in which they came first."""
        if self._disk is None:
            self._rows.sort(key=lambda row: row[:2])
            yield from self._grouped(iter(self._rows))
            return
        self._spill()
        with closing(self._disk) as disk:
            yield from self._grouped(disk.execute("SELECT * FROM event ORDER BY number, line"))

    def close(self) -> None:
        if self._disk is not None:
            self._disk.close()

    def _spill(self) -> None:
        if self._disk is None:
            self._disk = _database()
        self._disk.executemany("INSERT INTO event VALUES (?,?,?,?,?,?,?,?,?,?)", self._rows)
        self._rows.clear()

    def _grouped(self, rows: Iterator[tuple[int, int, *RawEvent]]) -> Iterator[tuple[str, int, list[RawEvent]]]:
        ids, current, first = list(self._numbers), -1, 0
        events: list[RawEvent] = []
        for row in rows:
            number, line = row[:2]
            if number != current:
                if events:
                    yield ids[current], first, events
                current, first, events = number, line, []
            events.append(RawEvent(*row[2:]))
            check_case_length(len(events), f"case «{ids[number]}» (line {line})")
        if events:
            yield ids[current], first, events


def _database() -> sqlite3.Connection:
    disk = sqlite3.connect("", isolation_level=None)
    for setting in ("journal_mode = OFF", "synchronous = OFF", "temp_store = FILE", f"cache_size = -{_CACHE_KIB}"):
        disk.execute(f"PRAGMA {setting}")
    disk.execute(
        "CREATE TABLE event (number INTEGER, line INTEGER, activity TEXT, at INTEGER, transition TEXT, resource TEXT,"
        " mode TEXT, started INTEGER, instance TEXT, paused INTEGER)"
    )
    disk.execute("BEGIN")
    return disk
