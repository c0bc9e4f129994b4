"""Reports that follow from changes of tasks (T-R.1 to T-R.7), and the rule of three failures alike (T-X.18)."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.plan import reports
from penstock.app.plan.files import sessions
from penstock.app.plan.projects import POOL, project_settings, run_of
from penstock.app.plan.reporting import report_bodies
from penstock.app.plan.reporting.alerts import Alert, tell
from penstock.app.plan.workflow import FATAL
from penstock.errors import Refused
from penstock.executors.parts.tasks.worktrees import MergeEnd
from penstock.kernel import command as C
from penstock.kernel.state import COMPLETED
from penstock.store.projects import ProjectRow
from penstock.store.reports import ReportRow
from penstock.store.tasks import TaskExecutionRow, TaskRow

#: T-X.18: so many different tasks that fail in a row with the same error
IN_A_ROW = 3
#: how an attempt ended → the kind of incident
_INCIDENTS = {"AGENT_CRASHED": "crash", "TIMEOUT": "timeout"}
ZOMBIE, STREAM_ERROR = "AGENT_ZOMBIE", "STREAM_ERROR"


class ChangeReports:
    def __init__(self, door: Penstock) -> None:
        self.door = door
        self._rows: list[ReportRow] = []  # made, and not kept yet
        self._failed: dict[tuple[str, str], deque[tuple[str, str]]] = {}
        self._told: deque[str] = deque(maxlen=1000)  # sessions whose end was reported

    def flush(self) -> None:
        """Keeps what was reported, in one commit."""
        rows, self._rows = self._rows, []
        self.door.store.add_reports(rows)

    def _submit(self, row: ProjectRow, type: str, body: dict[str, Any], id: str) -> None:
        """The id makes it the same report when it is told again after a crash."""
        text = msgspec.json.encode(body).decode()
        self._rows.append(ReportRow(id, row.tenant, row.id, type, self.door.now(), text))

    async def changed(self, row: ProjectRow, task: TaskRow, change: Any) -> None:
        door = self.door.of(row.tenant)
        over = change.to in ("completed", "failed")
        newest = self._newest(door, row, task) if change.from_ == "in_progress" or over else []
        if change.from_ == "in_progress":
            self._ended(door, row, task, newest)
        execution = next((each for each in newest if each.completed_at is not None), newest[0] if newest else None)
        about = f"{change.run}/{task.id}/{change.at}/{change.to}"
        if change.to == "completed":
            self._submit(row, "completion", report_bodies.completion(task, execution), f"{about}/completion")
            await self._merge(door, row, task, execution)
            self._failed.pop((row.tenant, row.id), None)
        elif change.to == "failed":
            self._submit(row, "failure", report_bodies.failure(task, execution), f"{about}/failure")
            await self._three_alike(door, row, task)
        else:
            self._submit(row, "progress", report_bodies.progress(task, change.from_, change.to), f"{about}/progress")

    async def _merge(self, door: Penstock, row: ProjectRow, task: TaskRow, execution: TaskExecutionRow | None) -> None:
        """Doubtful work that somebody has approved in whichever way, of a plan that merges by itself."""
        if execution is None or not execution.worktree or execution.merge != "kept":
            return
        rule = project_settings(door, row).get("merge", "auto")
        if rule != "auto" or sessions.worktree_end(door, execution):
            return
        try:
            end = await sessions.end_worktree(door, execution, "merge", task.title)
        except Refused as refused:
            end = MergeEnd("conflict", str(refused))
        if end.merge == "conflict":
            message = f"{task.id} was completed, and its work could not be merged: {end.note}"
            body = report_bodies.incident("merge_conflict", message, task, execution, branch=execution.branch)
            self._submit(row, "incident", body, f"{execution.session}/merge")
            tell(door, row, [Alert(row.id, "merge", message)])

    def review(self, row: ProjectRow, task: TaskRow) -> None:
        """T-X.14: the reviewer is told."""
        door = self.door.of(row.tenant)
        self._ended(door, row, task, self._newest(door, row, task))
        body = report_bodies.progress(task, "in_progress", "in_progress")
        self._submit(row, "progress", body, f"{task.run}/{task.id}/{task.session}/review")
        self.flush()
        text = f"{task.id} waits for a review: its confidence is {task.confidence}"
        tell(door, row, [Alert(row.id, "review", text)])

    def _newest(self, door: Penstock, row: ProjectRow, task: TaskRow) -> list[TaskExecutionRow]:
        return door.store.task_executions(row.tenant, row.id, task=task.id, limit=2)

    def _ended(self, door: Penstock, row: ProjectRow, task: TaskRow, newest: list[TaskExecutionRow]) -> None:
        """Each attempt that ended badly has its own report, whatever becomes of the task."""
        for each in newest:
            if each.completed_at is None or not each.code and not task.completed_by_recovery:
                continue
            if each.session not in self._told:
                self._told.append(each.session)
                self._report_end(door, row, task, each)

    def _report_end(self, door: Penstock, row: ProjectRow, task: TaskRow, each: TaskExecutionRow) -> None:
        text = each.error or each.code or ""
        recovered = bool(task.completed_by_recovery) and task.session == each.session
        kind = "crash" if recovered else _INCIDENTS.get(each.code or "")
        if each.code == ZOMBIE:
            diagnostics = json.loads(each.diagnostics) if each.diagnostics else None
            body = report_bodies.zombie(task, each, diagnostics)
            self._submit(row, "zombie", body, f"{each.session}/zombie")
            tell(door, row, [Alert(row.id, "zombie", f"{each.agent} was silent while it worked on {task.id}: {text}")])
        elif kind is not None:
            message = f"completed after crash at {each.progress}%" if recovered else text
            body = report_bodies.incident(kind, message, task, each, recovered=recovered)
            self._submit(row, "incident", body, f"{each.session}/incident")
            tell(door, row, [Alert(row.id, kind, f"{task.id}: {message}")])
        elif each.code == STREAM_ERROR:
            body = report_bodies.error(task, each, text)
            self._submit(row, "error", body, f"{each.session}/error")

    async def _three_alike(self, door: Penstock, row: ProjectRow, task: TaskRow) -> None:
        key = (row.tenant, row.id)
        failed = self._failed.setdefault(key, deque(maxlen=IN_A_ROW))
        failed.append((task.id, task.last_error or ""))
        alike = len({error for _, error in failed}) == 1 and len({id for id, _ in failed}) == IN_A_ROW
        if not alike:
            return
        self._failed.pop(key)
        run = run_of(door, row)
        if run is None or run.status >= COMPLETED:
            return
        message = f"{IN_A_ROW} tasks have failed in a row with the same error: {task.last_error}"
        body = report_bodies.incident("fatal", message, task, None, tasks=[id for id, _ in failed])
        reports.submit(door, row.id, "incident", body)
        tell(door, row, [Alert(row.id, "fatal", message)])
        try:
            await door.command(run, C.limit(POOL, 0, FATAL))
        except Refused:  # the run has ended meanwhile
            return
