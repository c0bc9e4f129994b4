"""Projects whose rows a test writes itself: tasks, agents and executions as they stand at some moment."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock
from penstock.host.clock import ManualClock
from penstock.store.projects import ProjectRow
from penstock.store.run_store import Batch
from penstock.store.task_tables import TASK, TASK_AGENT, TASK_EXECUTION
from penstock.store.tasks import SessionRow

NOON = 1_800_000_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


class Rows:
    """Of one project, in a folder of its own that has every critical file."""

    def __init__(self, door: Penstock, folder: Path, id: str = "site", **more: Any) -> None:
        self.door, self.folder, self.id, self.run = door, folder / id, id, f"run-of-{id}"
        (self.folder / ".claude").mkdir(parents=True, exist_ok=True)
        (self.folder / "CLAUDE.md").write_text("Be careful.\n")
        (self.folder / ".claude" / "settings.json").write_text("{}\n")
        door.store.put_project(
            ProjectRow(door.tenant, id, id, str(self.folder), id.title(), run=self.run, created_at=NOON, **more)
        )

    def task(self, id: str, status: str = "pending", **more: Any) -> None:
        row = {
            "title": id.title(), "status": status, "depends_on": "[]", "criteria": 0, "retry_count": 0, "attempt": 0,
            "review_required": 0, "progress": 0, "matched": "[]", "completed_by_recovery": 0, "trigger": "manual",
            "updated_at": NOON, "removed": 0, "id": id, **more,
        }  # fmt: skip
        self._keep(Batch(task=[self._tuple(TASK, row)]))

    def agent(self, name: str, status: str = "idle", **more: Any) -> None:
        row = {"name": name, "status": status, "done": 0, "failed": 0, "removed": 0, **more}
        self._keep(Batch(task_agent=[self._tuple(TASK_AGENT, row)]))

    def execution(self, session: str, status: str = "completed", *, ended: int | None = NOON, **more: Any) -> None:
        row = {
            "session": session, "task": "a", "agent": "default", "attempt": 1, "status": status, "asked_at": NOON,
            "started_at": NOON - MINUTE, "completed_at": ended, "matched": "[]", "trigger": "manual", "resume": 0,
            "kill_failed": 0, **more,
        }  # fmt: skip
        self._keep(Batch(task_execution=[self._tuple(TASK_EXECUTION, row)]))

    def heard(self, session: str, at: int) -> None:
        told = SessionRow(session=session, tenant=self.door.tenant, project=self.id, pid=1, last_heartbeat_at=at)
        self.door.store.put_sessions([told])

    def _tuple(self, table: Any, row: dict[str, Any]) -> tuple[Any, ...]:
        known = {"run": self.run, "tenant": self.door.tenant, "project": self.id, **row}
        assert known.keys() <= set(table.names), known.keys() - set(table.names)
        return tuple(known.get(name) for name in table.names)

    def _keep(self, batch: Batch) -> None:
        self.door.store.commit(batch)


@contextlib.asynccontextmanager
async def a_door(folder: Path, **more: Any) -> AsyncIterator[tuple[Penstock, ManualClock]]:
    """One that drives, with a clock that a test sets."""
    async with Penstock(folder / "s.db", **more) as door:
        clock = ManualClock(NOON)
        door.host.clock = clock
        yield door, clock
