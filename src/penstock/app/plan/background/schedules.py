"""Scheduled tasks (T-X.40): at each of its times a template makes the task `<id>-<yyyymmddThhmm>`, once."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.plan.files.project_folder import read_file
from penstock.app.plan.files.task_files import add_task_file
from penstock.app.plan.projects import POOL, plan_of_net, project_row, project_settings, run_of
from penstock.app.plan.sync import add_to_run
from penstock.app.timestamps import iso
from penstock.errors import PenstockError, StoreError
from penstock.expr.cron import fire_times, zone_of
from penstock.host.schedules import last_time_of
from penstock.kernel import command as C
from penstock.lang.plan.front_matter import read_front_matter
from penstock.store.projects import ProjectRow

#: a time that was missed is made up for when it is younger than this
MISSED_MS = 3_600_000
#: of a template's fields, those that a task of it does not have
_NOT_COPIED = ("schedule", "status", "updated", "retry_count", "last_error", "review_required", "agent", "trigger",
               "review_notes", "completed_by_recovery", "removed_dependencies", "progress", "confidence")  # fmt: skip
SCHEDULED = "scheduled"
log = logging.getLogger("penstock")


class ScheduledTasks:
    """For all tenants. The times of a template are worked out anew when it says something else."""

    def __init__(self, door: Penstock) -> None:
        self.door = door
        self._next: dict[tuple[str, str, str, str], int | None] = {}
        self._templates: dict[tuple[str, str], tuple[int, list[tuple[str, Mapping[str, Any]]]]] = {}

    async def step(self) -> int:
        """One look at the clock; how many tasks were made."""
        made = 0
        for row in self.door.store.every_project():
            if not row.enabled or row.run is None:
                continue
            door = self.door.of(row.tenant)
            for id, about in self._templates_of(door, row):
                made += await self._look(door, row, id, about)
        return made

    def _templates_of(self, door: Penstock, row: ProjectRow) -> list[tuple[str, Mapping[str, Any]]]:
        """Read once per release: a plan has many tasks, and few of them are templates."""
        run = run_of(door, row)
        if run is None:
            return []
        known = self._templates.get((row.tenant, row.id))
        if known is None or known[0] != run.net:
            tasks = plan_of_net(door, run.net).get("tasks", {})
            known = (run.net, [(id, about) for id, about in tasks.items() if about.get("schedule")])
            self._templates[row.tenant, row.id] = known
        return known[1]

    async def _look(self, door: Penstock, row: ProjectRow, id: str, about: Mapping[str, Any]) -> int:
        text, now = str(about["schedule"]), door.now()
        key = (row.tenant, row.id, id, text)
        cron, zone = split_schedule(text)
        if key not in self._next:
            since = max(now - MISSED_MS, row.created_at)
            missed = last_time_of(cron, zone, since, now)
            self._next[key] = missed if missed is not None else next(fire_times(cron, zone, now), None)
        due = self._next[key]
        if due is None or due > now:
            return 0
        at = last_time_of(cron, zone, due, now) or due
        self._next[key] = next(fire_times(cron, zone, now), None)
        try:
            return await fire(door, project_row(door, row.id), id, str(about["file"]), at, zone)
        except StoreError:
            self._next[key] = due
            raise
        except PenstockError as error:
            log.warning("the scheduled task %s of %s was not made: %s %s", id, row.id, error.code, error)
            return 0


async def fire(door: Penstock, row: ProjectRow, id: str, file: str, at: int, zone: str = "UTC") -> int:
    """Make the task of one time; 0 when there is one already."""
    stamp = datetime.fromtimestamp(at / 1000, zone_of(zone)).strftime("%Y%m%dT%H%M")
    name = f"{id}-{stamp}"
    root, path = Path(row.path), f"{file.rpartition('/')[0]}/{name}.md"
    template = read_file(root, file)
    if template is None or row.run is not None and door.store.task(row.run, name) is not None:
        return 0
    read = read_front_matter(template[0])
    fields = {field: value for field, value in read.fields.items() if field not in _NOT_COPIED}
    fields |= {"id": name, "title": f"{fields.get('title', id)} ({stamp})", "trigger": SCHEDULED, "created": iso(at)}
    add_task_file(root, path, fields, read.body)  # where it is there, an engine was killed before the run had it
    await add_to_run(door, row, path)
    if row.status in ("running", "completed"):
        now = project_row(door, row.id)
        run = run_of(door, now)
        if run is not None:
            await door.command(run, C.limit(POOL, int(project_settings(door, now).get("max_concurrent", 3))))
    return 1


def split_schedule(text: str) -> tuple[str, str]:
    """The cron expression, and the zone where it names one."""
    parts = text.split()
    named = len(parts) > 1 and zone_of(parts[-1]) is not None and not parts[-1][:1].isdigit() and parts[-1] != "*"
    return (" ".join(parts[:-1]), parts[-1]) if named else (text, "UTC")
