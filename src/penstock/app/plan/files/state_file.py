"""The saved state of a workflow, `.workflow-state.json` (T-9.1, T-9.2, T-X.26, T-X.38).

It is a view that can be loaded again when the database is gone. What cannot be trusted is renamed, never deleted.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.plan.files.project_folder import read_file, rename_file, replace_file
from penstock.app.plan.views import WorkflowState
from penstock.app.timestamps import iso, moment
from penstock.errors import PenstockError
from penstock.executors.parts.sessions.session import standing_of
from penstock.executors.parts.sessions.sessions import Sessions

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock
    from penstock.store.projects import ProjectRow

NAME = ".workflow-state.json"
SCHEMA = 1
#: how far a clock may be ahead of ours
_AHEAD_MS = 300_000
#: task statuses that are over: they hold when the database is gone
_OVER = ("completed", "cancelled", "failed")
log = logging.getLogger("penstock")


class SavedTask(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    status: str
    assigned_agent: str | None = None
    started_at: str | None = None
    progress: int | None = None


class SavedAgent(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    status: str
    current_task: str | None = None
    last_used: str | None = None


class SavedExecution(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    task_id: str
    status: str
    started_at: str
    pid: int | None = None
    pid_started_at: int | None = None


class SavedState(msgspec.Struct, rename="camel", kw_only=True):
    """Timestamps are ISO 8601 in UTC."""

    schema_version: int
    project_path: str
    status: str
    started_at: str
    last_saved_at: str
    tasks: dict[str, SavedTask] = {}
    agents: dict[str, SavedAgent] = {}
    executions: dict[str, SavedExecution] = {}


def saved(state: WorkflowState, now: int) -> SavedState:
    """What is written of a state."""
    began = state.started_at if state.started_at is not None else now
    return SavedState(
        schema_version=SCHEMA, project_path=state.project_path, status=state.status, started_at=iso(began),
        last_saved_at=iso(max(now, began)),
        tasks={
            id: SavedTask(
                status=task.status, assigned_agent=task.assigned_agent, started_at=_iso(task.started_at),
                progress=task.progress,
            )
            for id, task in state.tasks.items()
        },
        agents={
            name: SavedAgent(status=agent.status, current_task=agent.current_task, last_used=_iso(agent.last_used_at))
            for name, agent in state.agents.items()
        },
        executions={
            session: SavedExecution(
                task_id=each.task_id, status=each.status, started_at=iso(each.started_at or began), pid=each.pid,
                pid_started_at=each.pid_started_at,
            )
            for session, each in state.executions.items()
        },
    )  # fmt: skip


def write_state(root: Path, state: SavedState) -> bool:
    """False when it could not be written: the rows of the database are the state, and it is written with the next."""
    data = msgspec.json.format(msgspec.json.encode(state), indent=1) + b"\n"
    try:
        found = _mark(root)
        return replace_file(root, NAME, data, found, sync=True)
    except (PenstockError, OSError) as error:
        log.warning("the state of %s was not written: %s", root.name, error)
        return False


def load_state(root: Path, now: int) -> SavedState | None:
    """The saved state of a project; None where there is none. One that is invalid is renamed (T-X.26)."""
    try:
        found = read_file(root, NAME)
    except PenstockError:
        return None
    if found is None:
        return None
    state, why = _checked(found[0], now)
    if state is None:
        stamp = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%S")
        log.warning("the saved state of %s is not used: %s", root.name, why)
        rename_file(root, NAME, f"{NAME}.invalid-{stamp}")
    return state


def _checked(data: bytes, now: int) -> tuple[SavedState | None, str]:
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        return None, f"it is no JSON ({error})"
    if not isinstance(raw, Mapping) or raw.get("schemaVersion") != SCHEMA:
        return None, f"its schema version is not {SCHEMA}"
    try:
        state = msgspec.convert(raw, SavedState)
        began, ended = moment(state.started_at, "startedAt"), moment(state.last_saved_at, "lastSavedAt")
    except (msgspec.ValidationError, PenstockError) as error:
        return None, str(error)
    if ended > now + _AHEAD_MS:
        return None, "it was saved in the future"
    if ended < began:
        return None, "it was saved before it was started"
    if not Path(state.project_path).is_dir():
        return None, "its project path is missing"
    return state, ""


def statuses_of_saved(door: Penstock, row: ProjectRow) -> dict[str, str]:
    """What a saved state says of tasks that are over, for a database that does not know them (T-X.38). Agents that
    live on are ended: their tasks are pending, and nothing runs twice."""
    state = load_state(Path(row.path), door.now())
    if state is None or os.path.realpath(state.project_path) != os.path.realpath(row.path):
        return {}
    left = [session for session, each in state.executions.items() if each.status in ("pending", "running")]
    for folder in (found for session in left for found in (door.output_dir / "sessions").glob(f"*/{session}")):
        if standing_of(folder) == "running":
            Sessions().stop(folder, "dropped")
    return {id: task.status for id, task in state.tasks.items() if task.status in _OVER}


def _iso(at: int | None) -> str | None:
    return None if at is None else iso(at)


def _mark(root: Path) -> Any:
    from penstock.app.plan.files.project_folder import FileMark

    try:
        about = (root / NAME).lstat()
    except FileNotFoundError:
        return None
    return FileMark(about.st_ino, about.st_size, about.st_mtime_ns)
