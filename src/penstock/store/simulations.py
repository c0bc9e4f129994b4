"""Simulations with their results, and the history that they replay: judgments, imported ones, and people's labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.judgments import JudgmentRow
from penstock.store.sql import Sql, is_in, marks

_SLICE = 500  # values that one statement names


class SimulationRow(msgspec.Struct, frozen=True, kw_only=True):
    tenant: str
    id: str
    run: str
    node: str
    document: str
    artifact_type: str
    artifact_id: str
    candidate: str | None
    baseline: str | None
    mode: str
    created_at: int
    result: bytes
    format: str | None = None
    report: bytes | None = None


class PastJudgmentRow(msgspec.Struct, frozen=True):
    tenant: str
    id: str
    artifact: str
    decision: str
    body: bytes
    at: int


class LabelRow(msgspec.Struct, frozen=True):
    tenant: str
    judgment: str
    decision: str
    by: str
    note: str
    at: int


class SimulationStore(Protocol):
    def put_simulation(self, row: SimulationRow) -> None: ...

    def simulation(self, tenant: str, id: str) -> SimulationRow | None: ...

    def simulations(
        self, tenant: str, *, artifact_type: str | None = None, artifact_id: str | None = None,
        run: str | None = None, limit: int = 100,
    ) -> list[SimulationRow]:  # fmt: skip
        """Newest first, without their reports."""
        ...

    def forget_simulations(self, before: int) -> int:
        """Older ones, but those of runs that have not ended. How many."""
        ...

    def put_past_judgments(self, rows: Sequence[PastJudgmentRow]) -> None:
        """In one commit; those whose ids are there already are replaced."""
        ...

    def past_judgments(self, tenant: str, since: int, until: int, limit: int) -> list[PastJudgmentRow]:
        """Newest first."""
        ...

    def past_judgment(self, tenant: str, id: str) -> PastJudgmentRow | None: ...

    def judgments_between(self, tenant: str, since: int, until: int, limit: int) -> list[JudgmentRow]:
        """Newest first."""
        ...

    def put_labels(self, rows: Sequence[LabelRow]) -> None:
        """In one commit; a later label takes the place of the one before."""
        ...

    def labels(self, tenant: str, judgments: Sequence[str]) -> dict[str, LabelRow]: ...


_SIMULATION = ",".join(SimulationRow.__struct_fields__)
_LISTED = _SIMULATION.replace(",report", ",NULL")
_PAST = ",".join(PastJudgmentRow.__struct_fields__)
_LABEL = ",".join(f'"{name}"' for name in LabelRow.__struct_fields__)
_JUDGMENT = ",".join(JudgmentRow.__struct_fields__)


def _upsert(table: str, columns: str, keys: Sequence[str]) -> str:
    names = columns.split(",")
    changed = ",".join(f"{name}=excluded.{name}" for name in names if name.strip('"') not in keys)
    into = f"INSERT INTO {table}({columns}) VALUES({marks(names)})"
    return f"{into} ON CONFLICT ({','.join(keys)}) DO UPDATE SET {changed}"


class SqlSimulations(Sql):
    def put_simulation(self, row: SimulationRow) -> None:
        self._put(_upsert("simulation", _SIMULATION, ("tenant", "id")), astuple(row))

    def simulation(self, tenant: str, id: str) -> SimulationRow | None:
        sql = f"SELECT {_SIMULATION} FROM simulation WHERE tenant=? AND id=?"
        row = self._read(sql, (tenant, id)).fetchone()
        return None if row is None else _simulation(row)

    def simulations(
        self, tenant: str, *, artifact_type: str | None = None, artifact_id: str | None = None,
        run: str | None = None, limit: int = 100,
    ) -> list[SimulationRow]:  # fmt: skip
        asked = {"artifact_type=?": artifact_type, "artifact_id=?": artifact_id, "run=?": run}
        some = {text: value for text, value in asked.items() if value is not None}
        where = " AND ".join(["tenant=?", *some])
        sql = f"SELECT {_LISTED} FROM simulation WHERE {where} ORDER BY created_at DESC,id DESC LIMIT ?"
        return [_simulation(row) for row in self._read(sql, (tenant, *some.values(), limit))]

    def forget_simulations(self, before: int) -> int:
        run = "SELECT 1 FROM run WHERE id=simulation.run AND status<5"
        return self._change(f"DELETE FROM simulation WHERE created_at<? AND NOT EXISTS ({run})", (before,))

    def put_past_judgments(self, rows: Sequence[PastJudgmentRow]) -> None:
        if rows:
            with self.transaction():
                self._many(_upsert("past_judgment", _PAST, ("tenant", "id")), [astuple(row) for row in rows])

    def past_judgments(self, tenant: str, since: int, until: int, limit: int) -> list[PastJudgmentRow]:
        sql = f"SELECT {_PAST} FROM past_judgment WHERE tenant=? AND at>=? AND at<=? ORDER BY at DESC LIMIT ?"
        return [PastJudgmentRow(*row) for row in self._read(sql, (tenant, since, until, limit))]

    def past_judgment(self, tenant: str, id: str) -> PastJudgmentRow | None:
        sql = f"SELECT {_PAST} FROM past_judgment WHERE tenant=? AND id=?"
        return self._row(PastJudgmentRow, sql, (tenant, id))

    def judgments_between(self, tenant: str, since: int, until: int, limit: int) -> list[JudgmentRow]:
        sql = f"SELECT {_JUDGMENT} FROM judgment WHERE tenant=? AND at>=? AND at<=? ORDER BY at DESC LIMIT ?"
        return [JudgmentRow(*row) for row in self._read(sql, (tenant, since, until, limit))]

    def put_labels(self, rows: Sequence[LabelRow]) -> None:
        if rows:
            with self.transaction():
                self._many(_upsert("judgment_label", _LABEL, ("tenant", "judgment")), [astuple(row) for row in rows])

    def labels(self, tenant: str, judgments: Sequence[str]) -> dict[str, LabelRow]:
        rows: dict[str, LabelRow] = {}
        for start in range(0, len(judgments), _SLICE):
            part = judgments[start : start + _SLICE]
            sql = f"SELECT {_LABEL} FROM judgment_label WHERE tenant=? AND {is_in('judgment', part)}"
            rows |= {row[1]: LabelRow(*row) for row in self._read(sql, (tenant, *part))}
        return rows


def _simulation(row: Sequence[object]) -> SimulationRow:
    return SimulationRow(**dict(zip(SimulationRow.__struct_fields__, row, strict=True)))  # type: ignore[arg-type]
