"""Live conformance: how completed runs fit their own versions, one row each, and the counts of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.sql import Sql, marks


class RunFitRow(msgspec.Struct, frozen=True):
    """`kind`: of its first deviation, "" of a run that fits."""

    tenant: str
    run: int
    run_id: str
    process: str
    version: int
    at: int
    kind: str = ""
    activity: str = ""
    before: str = ""
    after: str = ""
    bounded: int = 0


class RunFitCount(msgspec.Struct, frozen=True):
    """So many runs of a version have this first deviation; "" everywhere: they fit."""

    process: str
    version: int
    kind: str
    activity: str
    before: str
    after: str
    runs: int


class RunFitStore(Protocol):
    def put_run_fits(self, tenant: str, rows: Sequence[RunFitRow], at: int) -> None:
        """Each in the place of the one that its run had; and the mark, which never goes back, in one commit."""
        ...

    def run_fit_mark(self, tenant: str) -> int: ...

    def run_fit_counts(self, tenant: str, process: str | None = None) -> list[RunFitCount]:
        """By process and version, the most frequent first. Costs the runs of the process."""
        ...

    def run_fits(
        self, tenant: str, process: str, version: int, deviation: tuple[str, str, str, str], after: int, limit: int
    ) -> list[RunFitRow]:
        """The runs with this first deviation (kind, activity, before, after), by number, those behind `after`."""
        ...


_ROW = ",".join(f'"{name}"' for name in RunFitRow.__struct_fields__)
_SET = ",".join(f'"{name}"=excluded."{name}"' for name in RunFitRow.__struct_fields__[2:])
_INTO = f"INSERT INTO run_fit({_ROW}) VALUES({marks(RunFitRow.__struct_fields__)})"
_PUT = f"{_INTO} ON CONFLICT (tenant,run) DO UPDATE SET {_SET}"
_MARK = (
    "INSERT INTO run_fit_mark(tenant,at) VALUES(?,?) ON CONFLICT (tenant) DO UPDATE SET at=excluded.at"
    " WHERE excluded.at>run_fit_mark.at"
)
_GROUP = 'process,version,kind,activity,"before","after"'


class SqlRunFits(Sql):
    def put_run_fits(self, tenant: str, rows: Sequence[RunFitRow], at: int) -> None:
        with self.transaction():
            if rows:
                self._many(_PUT, [astuple(row) for row in rows])
            self._execute(_MARK, (tenant, at))

    def run_fit_mark(self, tenant: str) -> int:
        return int(self._one("SELECT at FROM run_fit_mark WHERE tenant=?", (tenant,)) or 0)

    def run_fit_counts(self, tenant: str, process: str | None = None) -> list[RunFitCount]:
        of, values = ("", (tenant,)) if process is None else (" AND process=?", (tenant, process))
        sql = f"SELECT {_GROUP},COUNT(*) FROM run_fit WHERE tenant=?{of} GROUP BY {_GROUP}"
        counts = [RunFitCount(*row) for row in self._rows(sql, values)]
        return sorted(counts, key=lambda one: (one.process, one.version, -one.runs, one.kind, one.activity))

    def run_fits(
        self, tenant: str, process: str, version: int, deviation: tuple[str, str, str, str], after: int, limit: int
    ) -> list[RunFitRow]:
        sql = (
            f"SELECT {_ROW} FROM run_fit WHERE tenant=? AND process=? AND version=? AND kind=? AND activity=?"
            ' AND "before"=? AND "after"=? AND run>? ORDER BY run LIMIT ?'
        )
        return [RunFitRow(*row) for row in self._rows(sql, (tenant, process, version, *deviation, after, limit))]
