"""What happens in plans, in its order: task files, events under the seed's names, reports, people who are told.

Everything goes through one queue: what a session says, changes of tasks, turns of runs. A change is told when its task
file is written (T-10.1). Work per event does not grow with the plan: rows are read by their keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

from penstock.app.penstock import Penstock
from penstock.app.plan.background.change_reports import ChangeReports
from penstock.app.plan.background.session_feed import SessionFeed
from penstock.app.plan.background.state_saver import StateSaver
from penstock.app.plan.background.workflow_changes import WorkflowChanges
from penstock.app.plan.events import STATUS_CHANGED, plan_events
from penstock.app.plan.files.task_files import change_task_file
from penstock.app.plan.projects import LANGUAGE
from penstock.app.timestamps import iso
from penstock.errors import PenstockError
from penstock.executors.cli_agent import SessionEvent
from penstock.host.loaded_run import LoadedRun
from penstock.kernel import fact as F
from penstock.store.projects import ProjectRow
from penstock.store.tasks import TaskRow

#: changes whose files are written in one go
_AT_ONCE = 64
#: how long a turn waits for the changes that it has made to be told: rounds, and seconds each
_ROUNDS, _ROUND_S = 200, 0.005
#: of review notes, what stands in a task file
_NOTES = 2000
log = logging.getLogger("penstock")


class Turn(NamedTuple):
    """A turn of a plan's run: tasks that wait for a review since, what went wrong, and whether the plan is another."""

    tenant: str
    run: str
    reviews: list[str]
    incidents: list[tuple[str, str, Any]]
    migrated: bool
    late: bool = False  # the changes of its tasks come first


class PlanNews:
    def __init__(self, door: Penstock, saver: StateSaver) -> None:
        self.door, self.saver, self.hub = door, saver, plan_events(door)
        self.items: deque[Any] = deque()
        self.feed = SessionFeed(door, self.hub)
        self.reports = ChangeReports(door)
        self.workflows = WorkflowChanges(door, saver, self.hub)
        self.working = False
        self._wake = asyncio.Event()

    @property
    def idle(self) -> bool:
        return not self.items and not self.working

    # -- told inside the engine's loop ---------------------------------------------------------------------------------

    def changed(self, change: Any) -> None:
        self._put(change)

    def heard(self, news: SessionEvent) -> None:
        self._put(news)

    def turned(self, loaded: LoadedRun, facts: list[F.Fact], _n: int, now: int) -> None:
        run = loaded.run
        if run is None or run.net.net.language != LANGUAGE:
            return
        reviews, incidents, migrated = list[str](), list[tuple[str, str, Any]](), False
        for fact in facts:
            tag = fact[0]
            if tag == F.WORK_MOVED and fact[2] == "SUBMITTED":
                firing = run.st.firings.get(fact[1])
                reviews += [run.net.nodes[firing.node].id] if firing is not None else []
            elif tag == F.INCIDENT:
                incidents.append((str(fact[1]), str(fact[2]), fact[3]))
            elif tag == F.MIGRATED or tag == F.STARTED:
                migrated = True
        self._put(Turn(loaded.tenant, loaded.id, reviews, incidents, migrated))

    def _put(self, item: Any) -> None:
        self.items.append(item)
        self._wake.set()

    # -- done in their order -------------------------------------------------------------------------------------------

    async def run(self) -> None:
        while True:
            self._wake.clear()
            await self.work_off()
            await self._wake.wait()

    async def work_off(self) -> None:
        """What is in the queue. Who is cancelled leaves what was not told: it is told when this is asked for again."""
        self.working = True
        try:
            while self.items:
                changes = self._changes()
                try:
                    await (self._tell_changes(changes) if changes else self._one(self.items[0]))
                except asyncio.CancelledError:
                    raise
                except Exception as error:
                    self._drop(len(changes) or 1)
                    if not isinstance(error, PenstockError):
                        raise
                    log.warning("news of a plan were not told: %s %s", error.code, error)
                else:
                    self._drop(len(changes) or 1)
        finally:
            self.working = False

    def _drop(self, count: int) -> None:
        for _ in range(count):
            self.items.popleft()

    async def _one(self, item: SessionEvent | Turn) -> None:
        if isinstance(item, SessionEvent):
            self.feed.heard(item)
            if item.kind in ("started", "ended"):  # T-9.1.3
                self.saver.mark((item.tenant, item.project))
        elif not item.late:
            await self._after_its_changes(item)
        else:
            await self._turn(item)

    async def _after_its_changes(self, turn: Turn) -> None:
        """Who listens to tasks is told by the engine's next iteration."""
        runtime = self.door.host.turns.rows.runtimes[LANGUAGE]
        for number in range(_ROUNDS):  # an engine that has stopped tells nobody
            if runtime is None or not runtime.wrote:
                break
            await asyncio.sleep(0 if number < _ROUNDS // 2 else _ROUND_S)
        self._put(turn._replace(late=True))

    def _changes(self) -> list[Any]:
        """The changes at the head of the queue."""
        found: list[Any] = []
        for item in self.items:
            if isinstance(item, SessionEvent | Turn) or len(found) >= _AT_ONCE:
                break
            found.append(item)
        return found

    async def _tell_changes(self, changes: list[Any]) -> None:
        rows: dict[tuple[str, str], TaskRow | None] = {}
        projects: dict[tuple[str, str], ProjectRow | None] = {}
        for change in changes:
            rows[change.run, change.task] = self.door.store.task(change.run, change.task)
            key = (change.tenant, change.project)
            projects.setdefault(key, self.door.store.project(*key))
        writes = [
            (Path(project.path), task.file, written_fields(task))
            for task in rows.values()
            if task is not None and task.file and (project := projects.get((task.tenant, task.project))) is not None
        ]
        await asyncio.to_thread(_write_files, writes)
        for change in changes:
            task = rows[change.run, change.task]
            data = {
                "taskId": change.task, "from": change.from_, "to": change.to, "agentName": change.agent,
                "title": task.title if task is not None else "", "progress": task.progress if task is not None else 0,
            }  # fmt: skip
            self.hub.publish(change.tenant, change.project, STATUS_CHANGED, data, change.at)
            self.saver.mark((change.tenant, change.project), task)
            row = projects[change.tenant, change.project]
            if task is not None and row is not None:
                await self.reports.changed(row, task, change)
        self.reports.flush()

    async def _turn(self, turn: Turn) -> None:
        row = self.door.store.project_of_run(turn.run)
        if row is None:
            return
        key = (turn.tenant, row.id)
        for id in turn.reviews:
            task = self.door.store.task(turn.run, id)
            if task is not None and task.review_required:
                if task.file:
                    change = (Path(row.path), task.file, written_fields(task))
                    await asyncio.to_thread(_write_files, [change])
                self.saver.mark(key, task)
                self.reports.review(row, task)
        if turn.migrated:
            self.saver.forget(key)
        else:
            self.saver.mark(key)
        await self.workflows.turned(row, turn.incidents)


def written_fields(task: TaskRow) -> dict[str, Any]:
    """What a transition writes into a task file; the rest of the file is the person's (T-X.8)."""
    return {
        "status": task.status, "updated": iso(task.updated_at), "agent": task.agent,
        "retry_count": task.retry_count or None, "last_error": task.last_error,
        "review_required": True if task.review_required else None,
        "completed_by_recovery": True if task.completed_by_recovery else None,
        "review_notes": (task.review_notes or "")[:_NOTES] or None,
    }  # fmt: skip


def _write_files(writes: list[tuple[Path, str, dict[str, Any]]]) -> None:
    for root, path, fields in writes:
        with contextlib.suppress(OSError):
            change_task_file(root, path, fields)
