"""What follows when a workflow stands otherwise than before: the state is saved, people are told, reports are made."""

from __future__ import annotations

from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.plan import reports
from penstock.app.plan.background.state_saver import StateSaver
from penstock.app.plan.events import DASHBOARD, PlanEvents
from penstock.app.plan.reporting import report_bodies
from penstock.app.plan.reporting.alerts import Alert, tell
from penstock.app.plan.workflow import FATAL, deadlocks
from penstock.store.projects import ProjectRow

#: executions that a summary counts at most
_MOST = 100_000


class WorkflowChanges:
    """The statuses of the projects as they were told last."""

    def __init__(self, door: Penstock, saver: StateSaver, hub: PlanEvents) -> None:
        self.door, self.saver, self.hub = door, saver, hub
        self.known: dict[tuple[str, str], tuple[str, str]] = {}

    def open(self) -> None:
        for row in self.door.store.every_project():
            self.known[row.tenant, row.id] = (row.status, row.why or "")

    async def turned(self, row: ProjectRow, incidents: list[tuple[str, str, Any]]) -> None:
        key, now = (row.tenant, row.id), (row.status, row.why or "")
        before = self.known.get(key, ("idle", ""))
        door = self.door.of(row.tenant)
        if now == before:
            return
        self.known[key] = now
        self.hub.publish(
            row.tenant, row.id, DASHBOARD, {"status": row.status, "why": row.why or "", "before": before[0]}
        )
        if row.status == "completed":
            self._summarise(door, row)
        elif row.status == "paused" and row.why == "deadlock":
            self._deadlocked(door, row)
        elif row.status == "paused" and row.why == FATAL:
            self._fatal(door, row, incidents)

    def _summarise(self, door: Penstock, row: ProjectRow) -> None:
        """T-7.1.9"""
        tasks = door.store.tasks(row.run) if row.run is not None else []
        executions = door.store.task_executions(row.tenant, row.id, limit=_MOST)
        mine = [each for each in executions if each.run == row.run]
        body = report_bodies.summary(tasks, mine, run=row.run)
        reports.submit(door, row.id, "summary", body)
        if tasks:
            about = {"workflow": True, "success": body["success"], "counts": body["counts"], "run": row.run}
            reports.submit(
                door, row.id, "completion", {"taskId": None, "agentName": "", "matchedCriteria": [], **about}
            )

    def _deadlocked(self, door: Penstock, row: ProjectRow) -> None:
        """T-8.3.4, T-X.27: cycles, or tasks whose dependencies will never be met."""
        cycles = [each for each in deadlocks(door, row) if not each.removed]
        if cycles:
            shown = "; ".join(" → ".join([*each.cycle, each.cycle[0]]) for each in cycles)
            message = f"tasks wait for each other: {shown}"
        else:
            left = [task.id for task in door.store.tasks(row.run or "", ("pending",))]
            message = f"nothing can go on: {', '.join(left[:20])} wait for tasks that were not completed"
        suggestions = [text for each in cycles for text in each.suggestions]
        more = {"cycles": [each.cycle for each in cycles], "suggestions": suggestions}
        reports.submit(door, row.id, "incident", report_bodies.incident("deadlock", message, None, None, **more))
        tell(door, row, [Alert(row.id, "deadlock", message)])

    def _fatal(self, door: Penstock, row: ProjectRow, incidents: list[tuple[str, str, Any]]) -> None:
        """T-7.1.8: what the kernel has stopped for; three failures alike are reported where they are counted."""
        if incidents:
            code, node, detail = incidents[0]
            message = f"{node}: {code}" if node else code
            body = report_bodies.incident("fatal", message, None, None, code=code, taskId=node, detail=_text(detail))
            reports.submit(door, row.id, "incident", body)
            tell(door, row, [Alert(row.id, "fatal", message)])


def _text(detail: Any) -> str:
    return str(detail)[:1000] if detail is not None else ""
