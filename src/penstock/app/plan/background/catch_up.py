"""What a process that takes over a store does first for every project (T-9.2).

Saved states are looked at, and task files get what the process before could not write any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.plan.background.state_saver import StateSaver
from penstock.app.plan.files.state_file import load_state
from penstock.app.plan.files.task_files import change_task_file, fields_of
from penstock.app.plan.projects import plan_of
from penstock.app.timestamps import iso
from penstock.errors import PenstockError
from penstock.store.projects import ProjectRow
from penstock.store.tasks import TaskRow

log = logging.getLogger("penstock")


async def catch_up(door: Penstock, saver: StateSaver) -> None:
    for row in door.store.every_project():
        try:
            if Path(row.path).is_dir():
                await asyncio.to_thread(load_state, Path(row.path), door.now())
                tasks = door.store.tasks(row.run) if row.run is not None else []
                known = plan_of(door.of(row.tenant), row).get("tasks", {})
                moved = [task for task in tasks if has_moved(task, known.get(task.id, {}))]
                await asyncio.to_thread(write_late, row, moved)
                saver.mark((row.tenant, row.id))
        except (PenstockError, OSError) as error:
            log.warning("project %s was not looked at: %s", row.id, error)


def has_moved(task: TaskRow, written: Mapping[str, Any]) -> bool:
    """It stands otherwise than when its run began."""
    return task.attempt > 0 or task.status != written.get("status", "pending")


def write_late(row: ProjectRow, tasks: list[TaskRow]) -> None:
    """Files whose last transition is older than the row's."""
    from penstock.app.plan.background.news import written_fields

    root = Path(row.path)
    for task in tasks:
        if task.file and _is_older(str(fields_of(root, task.file).get("updated") or ""), iso(task.updated_at)):
            change_task_file(root, task.file, written_fields(task))


def _is_older(written: str, updated: str) -> bool:
    """ISO 8601 in UTC: the order of the texts is that of the moments."""
    return written < updated
