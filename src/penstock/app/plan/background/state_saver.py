"""Writes the state file of workflows (T-9.1): after every change, every few minutes, on pause and stop.

Changes that come faster than the file can be written share one write: a large plan is not written anew for each. What
changes is kept in memory, so that a write asks the store for the few things that move and not for every task.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from penstock.app.penstock import Penstock
from penstock.app.plan.files.state_file import SavedAgent, SavedExecution, SavedState, SavedTask, saved, write_state
from penstock.app.plan.projects import interval, project_settings
from penstock.app.plan.workflow import state_of
from penstock.app.timestamps import iso
from penstock.store.projects import ProjectRow
from penstock.store.tasks import TaskRow

#: seconds between two writes of one project, at least; and how many times as long as the last write took
_LEAST_S, _SHARE = 0.05, 10.0

Key = tuple[str, str]


class _Saved:
    """The state of a project as it was written last, the run that it tells of, and when it may be written again."""

    def __init__(self, state: SavedState, run: str | None) -> None:
        self.state, self.run = state, run
        self.not_before = 0.0


class StateSaver:
    def __init__(self, door: Penstock) -> None:
        self.door = door
        self.dirty: dict[Key, None] = {}
        self.known: dict[Key, _Saved] = {}
        self.wake = asyncio.Event()
        self._auto_at: dict[Key, float] = {}

    def mark(self, key: Key, task: TaskRow | None = None) -> None:
        """Something has changed: this task, or what is read when it is written."""
        held = self.known.get(key)
        if task is not None and held is not None and held.run == task.run:
            held.state.tasks[task.id] = _task(task)
        self.dirty[key] = None
        self.wake.set()

    def forget(self, key: Key) -> None:
        """Its tasks are not those that it had: all of them are read again."""
        self.known.pop(key, None)
        self.mark(key)

    async def run(self) -> None:
        while True:
            await self._wait()
            for key in list(self.dirty):
                held = self.known.get(key)
                if held is None or held.not_before <= time.monotonic():
                    await self._save(key)
            self._autosave()

    async def _wait(self) -> None:
        self.wake.clear()
        seconds = _LEAST_S if self.dirty else 1.0
        try:
            async with asyncio.timeout(seconds):
                await (asyncio.Event().wait() if self.dirty else self.wake.wait())
        except TimeoutError:
            return

    async def _save(self, key: Key) -> None:
        self.dirty.pop(key, None)
        state = self._state(key)
        if state is None:
            return
        began = time.monotonic()
        try:
            await asyncio.to_thread(write_state, Path(state.project_path), state)
        except asyncio.CancelledError:
            self.dirty[key] = None
            raise
        took = time.monotonic() - began
        held = self.known.get(key)
        if held is not None:
            held.not_before = time.monotonic() + max(_LEAST_S, took * _SHARE)

    def save_now(self) -> None:
        """What has not been written yet; for whoever closes."""
        for key in list(self.dirty):
            self.dirty.pop(key, None)
            state = self._state(key)
            if state is not None:
                write_state(Path(state.project_path), state)

    def _state(self, key: Key) -> SavedState | None:
        """As it is now. None where the project, or its folder, is gone."""
        tenant, project = key
        door = self.door.of(tenant)
        row = door.store.project(tenant, project)
        if row is None or not Path(row.path).is_dir():
            return None
        held, now = self.known.get(key), door.now()
        if held is None or held.run != row.run:
            held = self.known[key] = _Saved(saved(state_of(door, row), now), row.run)
        else:
            self._refresh(door, row, held.state, now)
        return held.state

    @staticmethod
    def _refresh(door: Penstock, row: ProjectRow, state: SavedState, now: int) -> None:
        state.status, state.last_saved_at = row.status, iso(now)
        if row.run is not None:
            state.agents = {
                agent.name: SavedAgent(
                    status=agent.status, current_task=agent.current_task,
                    last_used=iso(agent.last_used) if agent.last_used is not None else None,
                )
                for agent in door.store.task_agents(row.run)
            }  # fmt: skip
        recent = door.store.task_executions(door.tenant, row.id, limit=20)
        open_now = door.store.open_executions(door.tenant, row.id)
        state.executions = {
            each.session: SavedExecution(
                task_id=each.task, status=each.status, started_at=iso(each.started_at or each.asked_at), pid=each.pid,
                pid_started_at=each.pid_started_at,
            )
            for each in (*open_now, *recent)
        }  # fmt: skip

    def _autosave(self) -> None:
        """T-9.1.4: those whose workflow goes on, once in a while."""
        now = time.monotonic()
        for key in self.known:
            due = self._auto_at.get(key)
            if due is None or now >= due:
                self._auto_at[key] = now + self._every(key)
                if due is not None:
                    self.mark(key)

    def _every(self, key: Key) -> float:
        door = self.door.of(key[0])
        row = door.store.project(*key)
        own = project_settings(door, row).get("autosave_s") if row is not None else None
        return float(own) if own else interval(door.settings, "plans.autosave_s")


def _task(task: TaskRow) -> SavedTask:
    return SavedTask(
        status=task.status, assigned_agent=task.agent or task.assigned_agent,
        started_at=iso(task.started_at) if task.started_at is not None else None, progress=task.progress,
    )  # fmt: skip
