"""Live conformance in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from penstock.store.run_fits import RunFitCount, RunFitRow

if TYPE_CHECKING:
    from tests.sim.store import Disk


class SimRunFits:
    disk: Disk

    def put_run_fits(self, tenant: str, rows: Sequence[RunFitRow], at: int) -> None:
        self.disk.tables["run_fit"].update({(row.tenant, row.run): astuple(row) for row in rows})
        self.disk.tables["run_fit_mark"][(tenant,)] = (tenant, max(at, self.run_fit_mark(tenant)))

    def run_fit_mark(self, tenant: str) -> int:
        return int(self.disk.tables["run_fit_mark"].get((tenant,), (tenant, 0))[1])

    def _run_fits(self, tenant: str) -> list[RunFitRow]:
        rows = (RunFitRow(*row) for row in self.disk.tables["run_fit"].values())
        return [row for row in rows if row.tenant == tenant]

    def run_fit_counts(self, tenant: str, process: str | None = None) -> list[RunFitCount]:
        counted = Counter(
            (row.process, row.version, row.kind, row.activity, row.before, row.after)
            for row in self._run_fits(tenant)
            if process in (None, row.process)
        )
        counts = [RunFitCount(*key, runs) for key, runs in counted.items()]
        return sorted(counts, key=lambda one: (one.process, one.version, -one.runs, one.kind, one.activity))

    def run_fits(
        self, tenant: str, process: str, version: int, deviation: tuple[str, str, str, str], after: int, limit: int
    ) -> list[RunFitRow]:
        wanted = (process, version, *deviation)
        rows = [
            row
            for row in self._run_fits(tenant)
            if (row.process, row.version, row.kind, row.activity, row.before, row.after) == wanted and row.run > after
        ]
        return sorted(rows, key=lambda row: row.run)[:limit]
