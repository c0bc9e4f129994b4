"""Projects: where each lies, its newest run, and its health at the last check."""

from __future__ import annotations

from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.sql import Sql, marks
from penstock.store.task_tables import PROJECT


class ProjectRow(msgspec.Struct, frozen=True):
    """`health_detail` is JSON. `run` is the id of its newest run, `why` says why that is paused."""

    tenant: str
    id: str
    name: str
    path: str
    title: str
    enabled: int = 1
    trusted: int = 0
    run: str | None = None
    status: str = "idle"
    why: str | None = None
    health: str = "unknown"
    score: int | None = None
    health_detail: str | None = None
    checked_at: int | None = None
    last_seen: int | None = None
    created_at: int = 0


class ProjectStore(Protocol):
    def put_project(self, row: ProjectRow) -> None:
        """A new one; of one that is there its name, path and title change, and whether it is enabled and trusted."""
        ...

    def project(self, tenant: str, id: str) -> ProjectRow | None: ...

    def project_by_path(self, tenant: str, path: str) -> ProjectRow | None: ...

    def project_of_run(self, run: str) -> ProjectRow | None:
        """None of a run that is not the newest of a project."""
        ...

    def projects(self, tenant: str) -> list[ProjectRow]:
        """By id."""
        ...

    def every_project(self) -> list[ProjectRow]:
        """Of all tenants, by tenant and id."""
        ...

    def project_checked(self, tenant: str, id: str, health: str, score: int | None, detail: str, at: int) -> bool:
        """What a check has found. False when there is no such project."""
        ...

    def project_seen(self, tenant: str, id: str, at: int) -> bool:
        """A report was made of it. False when there is no such project."""
        ...

    def move_project(self, tenant: str, id: str, run: str | None, status: str, why: str | None = None) -> bool:
        """By hand; the turns of its run move it by themselves. False when there is no such project."""
        ...


_COLUMNS = ",".join(f'"{name}"' for name in PROJECT.names)
#: what a registration says; the rest belongs to runs and checks
_GIVEN = ("name", "path", "title", "enabled", "trusted")
PUT_PROJECT = (
    f"INSERT INTO project({_COLUMNS}) VALUES({marks(PROJECT.names)}) ON CONFLICT (tenant,id) DO UPDATE SET "
    + ",".join(f"{name}=excluded.{name}" for name in _GIVEN)
)
#: in the order of `Batch.project_began` and `Batch.project_moved`: an older run does not move the project of a newer
PROJECT_BEGAN, PROJECT_MOVED = ("run", "status", "why", "tenant", "id"), ("status", "why", "tenant", "id", "run")
BEGIN_PROJECT = "UPDATE project SET run=?,status=?,why=? WHERE tenant=? AND id=?"
MOVE_PROJECT = "UPDATE project SET status=?,why=? WHERE tenant=? AND id=? AND run=?"


class SqlProjects(Sql):
    def put_project(self, row: ProjectRow) -> None:
        self._put(PUT_PROJECT, astuple(row))

    def project(self, tenant: str, id: str) -> ProjectRow | None:
        return self._row(ProjectRow, f"SELECT {_COLUMNS} FROM project WHERE tenant=? AND id=?", (tenant, id))

    def project_by_path(self, tenant: str, path: str) -> ProjectRow | None:
        by = self._by("project_path")
        sql = f"SELECT {_COLUMNS} FROM project{by} WHERE tenant=? AND path=? ORDER BY id LIMIT 1"
        return self._row(ProjectRow, sql, (tenant, path))

    def project_of_run(self, run: str) -> ProjectRow | None:
        return self._row(ProjectRow, f"SELECT {_COLUMNS} FROM project WHERE run=?", (run,))

    def projects(self, tenant: str) -> list[ProjectRow]:
        sql = f"SELECT {_COLUMNS} FROM project WHERE tenant=? ORDER BY id"
        return [ProjectRow(*row) for row in self._read(sql, (tenant,))]

    def every_project(self) -> list[ProjectRow]:
        return [ProjectRow(*row) for row in self._read(f"SELECT {_COLUMNS} FROM project ORDER BY tenant,id")]

    def project_checked(self, tenant: str, id: str, health: str, score: int | None, detail: str, at: int) -> bool:
        sql = "UPDATE project SET health=?,score=?,health_detail=?,checked_at=? WHERE tenant=? AND id=?"
        return self._put(sql, (health, score, detail, at, tenant, id))

    def project_seen(self, tenant: str, id: str, at: int) -> bool:
        return self._put("UPDATE project SET last_seen=? WHERE tenant=? AND id=?", (at, tenant, id))

    def move_project(self, tenant: str, id: str, run: str | None, status: str, why: str | None = None) -> bool:
        return self._put(BEGIN_PROJECT, (run, status, why, tenant, id))
