"""Projects, tasks, executions and reports in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple, replace

from penstock.store.projects import ProjectRow
from penstock.store.reports import ReportRow
from penstock.store.table_shape import Table
from penstock.store.task_tables import TASK, TASK_AGENT, TASK_EXECUTION
from penstock.store.tasks import SESSIONS_KEPT_MS, SessionRow, TaskAgentRow, TaskExecutionRow, TaskRow

if TYPE_CHECKING:
    from tests.sim.store import Disk

_LIVE = ("pid", "pid_started_at", "started_at", "progress", "tokens_in", "tokens_out", "cost_micros")


class SimTasks:
    disk: Disk

    # -- projects -----------------------------------------------------------------------------------------------------

    def put_project(self, row: ProjectRow) -> None:
        was = self.project(row.tenant, row.id)
        if was is not None:
            row = replace(was, name=row.name, path=row.path, title=row.title, enabled=row.enabled, trusted=row.trusted)
        self._keep_project(row)

    def _keep_project(self, row: ProjectRow) -> bool:
        self.disk.tables["project"][row.tenant, row.id] = astuple(row)
        return True

    def project(self, tenant: str, id: str) -> ProjectRow | None:
        row = self.disk.tables["project"].get((tenant, id))
        return None if row is None else ProjectRow(*row)

    def every_project(self) -> list[ProjectRow]:
        return [ProjectRow(*row) for _, row in sorted(self.disk.tables["project"].items())]

    def projects(self, tenant: str) -> list[ProjectRow]:
        return [row for row in self.every_project() if row.tenant == tenant]

    def project_by_path(self, tenant: str, path: str) -> ProjectRow | None:
        return next((row for row in self.projects(tenant) if row.path == path), None)

    def project_of_run(self, run: str) -> ProjectRow | None:
        return next((row for row in self.every_project() if row.run == run), None)

    def _change_project(self, tenant: str, id: str, **columns: Any) -> bool:
        row = self.project(tenant, id)
        return row is not None and self._keep_project(replace(row, **columns))

    def project_checked(self, tenant: str, id: str, health: str, score: int | None, detail: str, at: int) -> bool:
        return self._change_project(tenant, id, health=health, score=score, health_detail=detail, checked_at=at)

    def project_seen(self, tenant: str, id: str, at: int) -> bool:
        return self._change_project(tenant, id, last_seen=at)

    def move_project(self, tenant: str, id: str, run: str | None, status: str, why: str | None = None) -> bool:
        return self._change_project(tenant, id, run=run, status=status, why=why)

    # -- tasks and agents ---------------------------------------------------------------------------------------------

    def _there(self, table: Table) -> list[dict[str, Any]]:
        rows = (dict(zip(table.names, row, strict=True)) for row in self.disk.tables[table.name].values())
        return [row for row in rows if not row.pop("removed", 0)]

    def tasks(self, run: str, status: Sequence[str] = ()) -> list[TaskRow]:
        rows = [row for row in self._there(TASK) if row["run"] == run and (not status or row["status"] in status)]
        return sorted((self._shown(row) for row in rows), key=lambda row: row.id)

    def _shown(self, row: dict[str, Any]) -> TaskRow:
        session = self.session(row["session"] or "")
        under_way = row["status"] in ("pending", "in_progress") and not row["review_required"]
        if session is not None and session.progress is not None and under_way:
            row["progress"] = session.progress
        return TaskRow(**row)

    def task(self, run: str, id: str) -> TaskRow | None:
        return next((row for row in self.tasks(run) if row.id == id), None)

    def task_counts(self, run: str) -> dict[str, int]:
        return dict(Counter(row.status for row in self.tasks(run)))

    def review_count(self, run: str) -> int:
        return sum(row.review_required for row in self.tasks(run, ["in_progress"]))

    def recent_tasks(self, run: str, limit: int = 10) -> list[TaskRow]:
        return sorted(self.tasks(run), key=lambda row: (row.updated_at, row.id), reverse=True)[:limit]

    def task_agents(self, run: str) -> list[TaskAgentRow]:
        rows = [TaskAgentRow(**row) for row in self._there(TASK_AGENT) if row["run"] == run]
        return sorted(rows, key=lambda row: row.name)

    # -- executions ---------------------------------------------------------------------------------------------------

    def _executions(self, tenant: str) -> list[TaskExecutionRow]:
        rows = [self._running(row) for row in self._there(TASK_EXECUTION) if row["tenant"] == tenant]
        return sorted(rows, key=lambda row: (row.asked_at, row.attempt, row.session))

    def _running(self, row: dict[str, Any]) -> TaskExecutionRow:
        session = self.session(row["session"])
        if session is None:
            return TaskExecutionRow(**row)
        if row["completed_at"] is None and session.pid is not None:
            row["status"] = "running"
        told = {name: getattr(session, name) for name in _LIVE if row[name] is None}
        beat = {"last_heartbeat_at": session.last_heartbeat_at, "last_line": session.last_line}
        return TaskExecutionRow(**{**row, **told, **beat})

    def task_executions(
        self, tenant: str, project: str, *, task: str | None = None, limit: int = 50
    ) -> list[TaskExecutionRow]:
        rows = [row for row in self._executions(tenant) if row.project == project and task in (None, row.task)]
        return rows[::-1][:limit]

    def finished_executions(self, tenant: str, project: str, limit: int = 5) -> list[TaskExecutionRow]:
        ended = [
            ((row.completed_at, row.attempt, row.session), row)
            for row in self._executions(tenant)
            if row.project == project and row.completed_at is not None
        ]
        return [row for _, row in sorted(ended, key=lambda each: each[0], reverse=True)][:limit]

    def open_executions(self, tenant: str, project: str) -> list[TaskExecutionRow]:
        return [row for row in self._executions(tenant) if row.project == project and row.completed_at is None]

    def task_execution(self, tenant: str, session: str) -> TaskExecutionRow | None:
        return next((row for row in self._executions(tenant) if row.session == session), None)

    def put_sessions(self, rows: Sequence[SessionRow]) -> None:
        for row in rows:
            self.disk.tables["task_session"][row.session] = astuple(row)

    def session(self, session: str) -> SessionRow | None:
        row = self.disk.tables["task_session"].get(session)
        return None if row is None else SessionRow(**dict(zip(SessionRow.__struct_fields__, row, strict=True)))

    def tidy_sessions(self, now: int) -> None:
        table = self.disk.tables["task_session"]
        for key in [k for k, row in table.items() if row[6] is not None and row[6] <= now - SESSIONS_KEPT_MS]:
            del table[key]

    # -- reports ------------------------------------------------------------------------------------------------------

    def add_report(self, row: ReportRow) -> bool:
        new = row.id not in self.disk.tables["report"]
        if new:
            self.disk.tables["report"][row.id] = astuple(row)
        return new

    def add_reports(self, rows: Sequence[ReportRow]) -> None:
        for row in rows:
            self.add_report(row)

    def report(self, tenant: str, id: str) -> ReportRow | None:
        kept = [self.disk.tables[table].get(id) for table in ("report", "reports_archive")]
        return next((ReportRow(*row) for row in kept if row is not None and row[1] == tenant), None)

    def reports(
        self, tenant: str, *, type: str | None = None, project: str | None = None, limit: int = 100,
        before: int | None = None, archived: bool = False,
    ) -> list[ReportRow]:  # fmt: skip
        table = self.disk.tables["reports_archive" if archived else "report"]
        rows = [
            row
            for row in (ReportRow(*each) for each in table.values())
            if row.tenant == tenant and type in (None, row.type) and project in (None, row.project)
            if before is None or row.generated_at < before
        ]
        return sorted(rows, key=lambda row: (row.generated_at, row.id), reverse=True)[:limit]

    def archive_reports(self, before: int) -> int:
        old = [row for row in self.disk.tables["report"].values() if row[4] < before]
        for row in old:
            self.disk.tables["reports_archive"][row[0]] = self.disk.tables["report"].pop(row[0])
        return len(old)
