"""Pages of executions, from their rows alone (F-6.1, F-X.22)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from penstock.store.sql import Sql, is_in


class ExecutionWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Times are ISO 8601 in UTC, as the rows have them. `text` is a part of the file's key or of the code it failed
    with, the beginning of its id, or its trace id. `queue`: in the order in which they are picked up, else the newest
    first."""

    tenant: str
    status: tuple[str, ...] = ()
    pipeline: int | None = None
    organization: int | None = None
    file: int | None = None
    since: str | None = None
    until: str | None = None
    text: str = ""
    queue: bool = False


class ExecutionListStore(Protocol):
    def count_executions(self, wanted: ExecutionWanted) -> int: ...

    def find_executions(self, wanted: ExecutionWanted, skip: int, limit: int) -> list[str]:
        """Their ids."""
        ...


class SqlExecutionLists(Sql):
    def count_executions(self, wanted: ExecutionWanted) -> int:
        where, values = _where(wanted)
        return int(self._one(f"SELECT count(*) FROM execution e WHERE {where}", values))

    def find_executions(self, wanted: ExecutionWanted, skip: int, limit: int) -> list[str]:
        where, values = _where(wanted)
        order = "e.priority,e.created_at,e.run" if wanted.queue else "e.run DESC"
        sql = f"SELECT e.execution_id FROM execution e WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"
        return [str(row[0]) for row in self._read(sql, (*values, limit, skip))]


def _where(wanted: ExecutionWanted) -> tuple[str, Sequence[Any]]:
    where, values = ["e.tenant_id=?"], list[Any]([wanted.tenant])
    if wanted.status:
        where.append(is_in("e.status", wanted.status))
        values += wanted.status
    for condition, value in (
        ("e.pipeline_id=?", wanted.pipeline), ("e.organization_id=?", wanted.organization),
        ("e.file_id=?", wanted.file), ("e.created_at>=?", wanted.since), ("e.created_at<?", wanted.until),
    ):  # fmt: skip
        if value is not None:
            where.append(condition)
            values.append(value)
    if wanted.text:
        plain = wanted.text.lower().replace("~", "~~").replace("%", "~%").replace("_", "~_")
        like = "LIKE ? ESCAPE '~'"
        where.append(
            f"(e.execution_id {like} OR e.trace_id=? OR lower(e.error_code) {like} OR EXISTS(SELECT 1 FROM file_asset f"
            f" WHERE f.id=e.file_id AND f.tenant=e.tenant_id AND lower(f.object_key) {like}))"
        )
        values += [f"{plain}%", wanted.text, f"%{plain}%", f"%{plain}%"]
    return " AND ".join(where), values
