"""Learned autonomy in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from penstock.store.autonomy import AutonomyCaseRow, AutonomyProposalRow
from penstock.store.run_store import RunRow

if TYPE_CHECKING:
    from tests.sim.store import Disk


class SimAutonomy:
    disk: Disk
    _runs: Callable[[], list[RunRow]]
    append_audit: Callable[[Iterable[Any]], list[Any]]

    def touched_runs(
        self, tenant: str, nets: Sequence[int], since: int, after: tuple[int, int], limit: int
    ) -> list[RunRow]:
        rows = sorted(self._runs(), key=lambda row: (row.updated_at, row.no))
        wanted = [row for row in rows if row.tenant == tenant and row.net in nets and row.updated_at >= since]
        return [row for row in wanted if (row.updated_at, row.no) > after][:limit]

    def put_autonomy_cases(self, tenant: str, run: int, rows: Sequence[AutonomyCaseRow]) -> None:
        table = self.disk.tables["autonomy_case"]
        for key in [key for key in table if key[:2] == (tenant, run)]:
            del table[key]
        table.update({(row.tenant, row.run, row.firing): astuple(row) for row in rows})

    def autonomy_cases(self, tenant: str, process: str, activity: str, agent: str) -> list[AutonomyCaseRow]:
        rows = [AutonomyCaseRow(*row) for row in self.disk.tables["autonomy_case"].values()]
        wanted = (tenant, process, activity, agent)
        return sorted(
            (row for row in rows if (row.tenant, row.process, row.activity, row.agent) == wanted),
            key=lambda row: (row.at, row.run, row.firing),
        )

    def autonomy_mark(self, tenant: str) -> int:
        return int(self.disk.tables["autonomy_mark"].get((tenant,), (tenant, 0))[1])

    def put_autonomy_mark(self, tenant: str, at: int) -> None:
        self.disk.tables["autonomy_mark"][(tenant,)] = (tenant, max(at, self.autonomy_mark(tenant)))

    def put_autonomy_proposal(self, row: AutonomyProposalRow, was: int | None, audit: Iterable[Any] = ()) -> bool:
        there = self.autonomy_proposal(row.tenant, row.id)
        open_ones = self.autonomy_proposals(row.tenant, process=row.process, status="open")
        taken = row.status == "open" and any(o.activity == row.activity and o.id != row.id for o in open_ones)
        if taken or (None if there is None else there.number) != was:
            return False
        self.disk.tables["autonomy_proposal"][row.tenant, row.id] = astuple(row)
        self.append_audit(audit)
        return True

    def autonomy_proposal(self, tenant: str, id: str) -> AutonomyProposalRow | None:
        row = self.disk.tables["autonomy_proposal"].get((tenant, id))
        return None if row is None else AutonomyProposalRow(*row)

    def autonomy_proposals(
        self, tenant: str, *, process: str | None = None, status: str | None = None
    ) -> list[AutonomyProposalRow]:  # fmt: skip
        rows = [AutonomyProposalRow(*row) for row in self.disk.tables["autonomy_proposal"].values()]
        wanted = [row for row in rows if row.tenant == tenant and process in (None, row.process)]
        found = [row for row in wanted if status in (None, row.status)]
        return sorted(found, key=lambda row: (-row.since, row.id))
