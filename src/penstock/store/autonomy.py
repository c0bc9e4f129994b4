"""Learned autonomy: cases read out of journals, and proposals that change together with the audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.errors import Fenced
from penstock.store.access import SqlAccess
from penstock.store.audit_chain import AuditRow
from penstock.store.run_store import RUN, RunRow
from penstock.store.sql import insert_new, is_in, marks


class AutonomyCaseRow(msgspec.Struct, frozen=True):
    """What became of the first draft of an agent for a work item."""

    tenant: str
    run: int
    firing: int
    item: str
    process: str
    version: int
    activity: str
    agent: str
    mode: str
    outcome: str
    at: int
    rework_ms: int | None
    compensated: int


class AutonomyProposalRow(msgspec.Struct, frozen=True):
    tenant: str
    id: str
    process: str
    version: int
    activity: str
    name: str
    agent: str
    mode: str
    proposed: str
    status: str
    number: int
    body: bytes
    since: int
    ended_at: int | None = None
    ended_by: str | None = None
    reason: str | None = None
    made_version: int | None = None


class AutonomyStore(Protocol):
    def touched_runs(
        self, tenant: str, nets: Sequence[int], since: int, after: tuple[int, int], limit: int
    ) -> list[RunRow]:
        """Runs of some nets that have changed at `since` or later, in the order in which they have: those after a time
        and a number. Costs what has changed since, of all tenants."""
        ...

    def put_autonomy_cases(self, tenant: str, run: int, rows: Sequence[AutonomyCaseRow]) -> None:
        """In the place of those that the run had."""
        ...

    def autonomy_cases(self, tenant: str, process: str, activity: str, agent: str) -> list[AutonomyCaseRow]:
        """In the order in which their outcomes were clear."""
        ...

    def autonomy_mark(self, tenant: str) -> int: ...

    def put_autonomy_mark(self, tenant: str, at: int) -> None:
        """It never goes back."""
        ...

    def put_autonomy_proposal(
        self, row: AutonomyProposalRow, was: int | None, audit: Iterable[AuditRow] = ()
    ) -> bool:  # fmt: skip
        """In the place of the one with number `was`, None for one that is new; with what the audit says of it, in one
        commit. False, and nothing changes, when it is another by now, or another one of the activity is open."""
        ...

    def autonomy_proposal(self, tenant: str, id: str) -> AutonomyProposalRow | None: ...

    def autonomy_proposals(
        self, tenant: str, *, process: str | None = None, status: str | None = None
    ) -> list[AutonomyProposalRow]:  # fmt: skip
        """Newest first."""
        ...


_CASE = ",".join(AutonomyCaseRow.__struct_fields__)
_PROPOSAL = ",".join(AutonomyProposalRow.__struct_fields__)
_CHANGED = AutonomyProposalRow.__struct_fields__[2:]
_SET = ",".join(f"{name}=?" for name in _CHANGED)
_CHANGE = f"UPDATE autonomy_proposal SET {_SET} WHERE tenant=? AND id=? AND number=?"
_MARK = (
    "INSERT INTO autonomy_mark(tenant,at) VALUES(?,?) ON CONFLICT (tenant) DO UPDATE SET at=excluded.at"
    " WHERE excluded.at>autonomy_mark.at"
)


class _AnotherNumber(Exception):
    """Nothing of the transaction may stay."""


class SqlAutonomy(SqlAccess):
    def touched_runs(
        self, tenant: str, nets: Sequence[int], since: int, after: tuple[int, int], limit: int
    ) -> list[RunRow]:
        sql = (
            f"SELECT {RUN} FROM run WHERE updated_at>=? AND (updated_at,no)>(?,?) AND {self.PLAIN}tenant=?"
            f" AND {is_in(f'{self.PLAIN}net', nets)} ORDER BY updated_at,no LIMIT ?"
        )
        return [RunRow(*row) for row in self._rows(sql, (since, *after, tenant, *nets, limit))]

    def put_autonomy_cases(self, tenant: str, run: int, rows: Sequence[AutonomyCaseRow]) -> None:
        with self.transaction():
            self._execute("DELETE FROM autonomy_case WHERE tenant=? AND run=?", (tenant, run))
            if rows:
                into = f"INSERT INTO autonomy_case({_CASE}) VALUES({marks(AutonomyCaseRow.__struct_fields__)})"
                self._many(into, [astuple(row) for row in rows])

    def autonomy_cases(self, tenant: str, process: str, activity: str, agent: str) -> list[AutonomyCaseRow]:
        sql = (
            f"SELECT {_CASE} FROM autonomy_case WHERE tenant=? AND process=? AND activity=? AND agent=?"
            " ORDER BY at,run,firing"
        )
        return [AutonomyCaseRow(*row) for row in self._rows(sql, (tenant, process, activity, agent))]

    def autonomy_mark(self, tenant: str) -> int:
        return int(self._one("SELECT at FROM autonomy_mark WHERE tenant=?", (tenant,)) or 0)

    def put_autonomy_mark(self, tenant: str, at: int) -> None:
        self._put(_MARK, (tenant, at))

    def put_autonomy_proposal(
        self, row: AutonomyProposalRow, was: int | None, audit: Iterable[AuditRow] = ()
    ) -> bool:  # fmt: skip
        try:
            with self.transaction():
                if was is None:
                    done = self._execute(insert_new("autonomy_proposal", _PROPOSAL), astuple(row)).rowcount
                else:
                    values = tuple(getattr(row, name) for name in _CHANGED)
                    done = self._execute(_CHANGE, (*values, row.tenant, row.id, was)).rowcount
                if not done:
                    raise _AnotherNumber
                self._append(audit)
        except (_AnotherNumber, Fenced):
            return False
        return True

    def autonomy_proposal(self, tenant: str, id: str) -> AutonomyProposalRow | None:
        sql = f"SELECT {_PROPOSAL} FROM autonomy_proposal WHERE tenant=? AND id=?"
        return self._row(AutonomyProposalRow, sql, (tenant, id))

    def autonomy_proposals(
        self, tenant: str, *, process: str | None = None, status: str | None = None
    ) -> list[AutonomyProposalRow]:  # fmt: skip
        asked = {"process=?": process, "status=?": status}
        some = {text: value for text, value in asked.items() if value is not None}
        where = " AND ".join(["tenant=?", *some])
        sql = f"SELECT {_PROPOSAL} FROM autonomy_proposal WHERE {where} ORDER BY since DESC,id"
        return [AutonomyProposalRow(*row) for row in self._rows(sql, (tenant, *some.values()))]
