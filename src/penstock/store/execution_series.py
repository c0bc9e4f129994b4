"""How many executions waited and worked lately, in pieces of ten minutes: grouped by the database (F-7.2, F-9.9)."""

from __future__ import annotations

from typing import Protocol

import msgspec

from penstock.store.sql import Sql

#: a time to this letter is its piece: 2026-11-16T14:2
_LETTERS = 15
PIECE_MS = 600_000


class ExecutionPiece(msgspec.Struct, frozen=True):
    """What happened to a pipeline's executions within one piece of time; `piece` is empty for all that was before.
    `what` is created, begun, or how they ended: done, failed, or dropped (never begun). `waited_ms`: of those that were
    begun, together."""

    pipeline: int
    what: str
    piece: str
    count: int
    waited_ms: float = 0


class ExecutionSeriesStore(Protocol):
    def execution_pieces(self, tenant: str, since: str) -> list[ExecutionPiece]:
        """Of executions that are open or ended since a time (ISO 8601). Costs these rows, found by indexes, and answers
        with at most five rows for each pipeline and piece."""
        ...


class SqlExecutionSeries(Sql):
    def execution_pieces(self, tenant: str, since: str) -> list[ExecutionPiece]:
        sql = f"{self._lately()} {_CREATED} UNION ALL {self._begun()} UNION ALL {_ENDED}"
        values = (tenant, since, tenant, since, since)
        rows = self._read(sql, values)
        return [ExecutionPiece(number, what, at, count, float(waited)) for number, what, at, count, waited in rows]

    def _lately(self) -> str:
        columns = "pipeline_id,status,created_at,started_at,completed_at"
        return (
            f"WITH lately AS (SELECT {columns} FROM execution WHERE tenant_id=? AND completed_at>=? UNION ALL"
            f" SELECT {columns} FROM execution WHERE status IN ('PENDING','RUNNING') AND {self.PLAIN}tenant_id=?)"
        )

    def _begun(self) -> str:
        waited = self._ms_between("created_at", "started_at")
        return (
            f"SELECT pipeline_id,'begun',{_piece('started_at')},count(*),sum({waited}) FROM lately"
            " WHERE started_at IS NOT NULL GROUP BY 1,2,3"
        )


def _piece(column: str) -> str:
    return f"CASE WHEN {column}<? THEN '' ELSE substr({column},1,{_LETTERS}) END"


_CREATED = f"SELECT pipeline_id,'created',{_piece('created_at')},count(*),0 FROM lately GROUP BY 1,2,3"
_ENDED = (
    "SELECT pipeline_id,CASE WHEN started_at IS NULL THEN 'dropped' WHEN status IN ('FAILED','TIMEOUT') THEN 'failed'"
    f" ELSE 'done' END,substr(completed_at,1,{_LETTERS}),count(*),0 FROM lately WHERE completed_at IS NOT NULL"
    " GROUP BY 1,2,3"
)
