"""Simulations, past judgments and labels in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import astuple, replace

from penstock.store.judgments import JudgmentRow
from penstock.store.simulations import LabelRow, PastJudgmentRow, SimulationRow

if TYPE_CHECKING:
    from tests.sim.store import Disk


class SimSimulations:
    disk: Disk

    def put_simulation(self, row: SimulationRow) -> None:
        self.disk.tables["simulation"][row.tenant, row.id] = astuple(row)

    def _simulations(self) -> list[SimulationRow]:
        names = SimulationRow.__struct_fields__
        rows = self.disk.tables["simulation"].values()
        return [SimulationRow(**dict(zip(names, row, strict=True))) for row in rows]

    def simulation(self, tenant: str, id: str) -> SimulationRow | None:
        return next((row for row in self._simulations() if (row.tenant, row.id) == (tenant, id)), None)

    def forget_simulations(self, before: int) -> int:
        running = {row[1] for row in self.disk.tables["run"].values() if row[5] < 5}
        old = [row for row in self._simulations() if row.created_at < before and row.run not in running]
        for row in old:
            del self.disk.tables["simulation"][row.tenant, row.id]
        return len(old)

    def simulations(
        self, tenant: str, *, artifact_type: str | None = None, artifact_id: str | None = None,
        run: str | None = None, limit: int = 100,
    ) -> list[SimulationRow]:  # fmt: skip
        kept = [
            replace(row, report=None)
            for row in self._simulations()
            if row.tenant == tenant
            and artifact_type in (None, row.artifact_type)
            and artifact_id in (None, row.artifact_id)
            and run in (None, row.run)
        ]
        return sorted(kept, key=lambda row: (row.created_at, row.id), reverse=True)[:limit]

    def put_past_judgments(self, rows: Sequence[PastJudgmentRow]) -> None:
        for row in rows:
            self.disk.tables["past_judgment"][row.tenant, row.id] = astuple(row)

    def past_judgments(self, tenant: str, since: int, until: int, limit: int) -> list[PastJudgmentRow]:
        rows = [PastJudgmentRow(*row) for row in self.disk.tables["past_judgment"].values()]
        kept = [row for row in rows if row.tenant == tenant and since <= row.at <= until]
        return sorted(kept, key=lambda row: -row.at)[:limit]

    def past_judgment(self, tenant: str, id: str) -> PastJudgmentRow | None:
        row = self.disk.tables["past_judgment"].get((tenant, id))
        return None if row is None else PastJudgmentRow(*row)

    def judgments_between(self, tenant: str, since: int, until: int, limit: int) -> list[JudgmentRow]:
        rows = [JudgmentRow(*row) for row in self.disk.tables["judgment"].values()]
        kept = [row for row in rows if row.tenant == tenant and since <= row.at <= until]
        return sorted(kept, key=lambda row: -row.at)[:limit]

    def put_labels(self, rows: Sequence[LabelRow]) -> None:
        for row in rows:
            self.disk.tables["judgment_label"][row.tenant, row.judgment] = astuple(row)

    def labels(self, tenant: str, judgments: Sequence[str]) -> dict[str, LabelRow]:
        rows = self.disk.tables["judgment_label"]
        return {id: LabelRow(*rows[tenant, id]) for id in judgments if (tenant, id) in rows}
