"""Judgments: what rules and models have decided, for reviews and as examples."""

from __future__ import annotations

from typing import Protocol

import msgspec

from penstock.store.sql import Sql


class JudgmentRow(msgspec.Struct, frozen=True):
    run: str
    firing: int
    tenant: str
    name: str
    node: str
    decision: str
    needs_review: int
    body: bytes
    at: int


class JudgmentStore(Protocol):
    def judgments(self, tenant: str, *, since: int = 0, reviews: bool = False, limit: int = 100) -> list[JudgmentRow]:
        """Newest first."""
        ...

    def judgment(self, run: str, firing: int) -> JudgmentRow | None: ...


_JUDGMENT = "run,firing,tenant,name,node,decision,needs_review,body,at"


class SqlJudgments(Sql):
    def judgments(self, tenant: str, *, since: int = 0, reviews: bool = False, limit: int = 100) -> list[JudgmentRow]:
        """Newest first."""
        sql = f"SELECT {_JUDGMENT} FROM judgment WHERE tenant=? AND at>=?"
        sql += " AND needs_review=1" if reviews else ""
        return [JudgmentRow(*row) for row in self._read(sql + " ORDER BY at DESC LIMIT ?", (tenant, since, limit))]

    def judgment(self, run: str, firing: int) -> JudgmentRow | None:
        sql = f"SELECT {_JUDGMENT} FROM judgment WHERE run=? AND firing=?"
        return self._row(JudgmentRow, sql, (run, firing))
