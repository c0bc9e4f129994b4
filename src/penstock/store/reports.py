"""Reports about projects and their tasks: kept by id, listed by type, project and time, and archived when old."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.sql import Sql, insert_new


class ReportRow(msgspec.Struct, frozen=True):
    """`body` is JSON; `project` is none where it is about all of them."""

    id: str
    tenant: str
    project: str | None
    type: str
    generated_at: int
    body: str


class ReportStore(Protocol):
    def add_report(self, row: ReportRow) -> bool:
        """False, and nothing changes, when there is one with its id: whoever says it twice says it once."""
        ...

    def add_reports(self, rows: Sequence[ReportRow]) -> None:
        """Many in one commit; those whose ids are there already change nothing."""
        ...

    def report(self, tenant: str, id: str) -> ReportRow | None:
        """Also one that was archived."""
        ...

    def reports(
        self, tenant: str, *, type: str | None = None, project: str | None = None, limit: int = 100,
        before: int | None = None, archived: bool = False,
    ) -> list[ReportRow]:  # fmt: skip
        """The newest first, of before a time; `archived`: those that were put away."""
        ...

    def archive_reports(self, before: int) -> int:
        """Put those away that are older, of all tenants; how many."""
        ...


_COLUMNS = ",".join(ReportRow.__struct_fields__)


class SqlReports(Sql):
    def add_report(self, row: ReportRow) -> bool:
        return self._put(insert_new("report", _COLUMNS), astuple(row))

    def add_reports(self, rows: Sequence[ReportRow]) -> None:
        if rows:
            with self.transaction():
                self._many(insert_new("report", _COLUMNS), [astuple(row) for row in rows])

    def report(self, tenant: str, id: str) -> ReportRow | None:
        for table in ("report", "reports_archive"):
            row = self._row(ReportRow, f"SELECT {_COLUMNS} FROM {table} WHERE id=? AND tenant=?", (id, tenant))
            if row is not None:
                return row
        return None

    def reports(
        self, tenant: str, *, type: str | None = None, project: str | None = None, limit: int = 100,
        before: int | None = None, archived: bool = False,
    ) -> list[ReportRow]:  # fmt: skip
        asked: dict[str, Any] = {"project=?": project, "type=?": type, "generated_at<?": before}
        some = {text: value for text, value in asked.items() if value is not None}
        where = " AND ".join(["tenant=?", *some])
        table = "reports_archive" if archived else "report"
        sql = f"SELECT {_COLUMNS} FROM {table} WHERE {where} ORDER BY generated_at DESC,id DESC LIMIT ?"
        return [ReportRow(*row) for row in self._read(sql, (tenant, *some.values(), limit))]

    def archive_reports(self, before: int) -> int:
        with self.transaction():
            into = f"INSERT INTO reports_archive({_COLUMNS}) SELECT {_COLUMNS} FROM report WHERE generated_at<?"
            self._execute(f"{into} ON CONFLICT DO NOTHING", (before,))
            return self._execute("DELETE FROM report WHERE generated_at<?", (before,)).rowcount
