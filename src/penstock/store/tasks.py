"""Tasks, agents and executions of projects as their readers ask for them, and what running sessions say of themselves.

The rows of a run are from its facts. What a process says while it runs is beside them (`task_session`), and is shown in
their place as long as the attempt has not ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.sql import Sql, is_in, marks
from penstock.store.table_shape import Table
from penstock.store.task_tables import TASK, TASK_AGENT, TASK_EXECUTION, TASK_SESSION


class TaskRow(msgspec.Struct, frozen=True):
    """`depends_on` and `matched` are JSON. `progress` is that of the session that runs, else of the last that ended."""

    run: str
    id: str
    tenant: str
    project: str
    title: str
    file: str | None
    status: str
    priority: int | None
    assigned_agent: str | None
    agent: str | None
    depends_on: str
    criteria: int
    retry_count: int
    attempt: int
    review_required: int
    last_error: str | None
    progress: int
    confidence: int | None
    matched: str
    completed_by_recovery: int
    session: str | None
    trigger: str
    created: str | None
    started_at: int | None
    updated_at: int
    completed_at: int | None
    next_attempt_at: int | None
    review_notes: str | None
    reason: str | None


class TaskAgentRow(msgspec.Struct, frozen=True):
    run: str
    name: str
    tenant: str
    project: str
    status: str
    current_task: str | None
    last_used: int | None
    done: int
    failed: int
    last_error: str | None


class TaskExecutionRow(msgspec.Struct, frozen=True):
    """`matched`, `criteria`, `diff_stat` and `diagnostics` are JSON."""

    run: str
    session: str
    tenant: str
    project: str
    task: str
    agent: str
    attempt: int
    status: str
    asked_at: int
    started_at: int | None
    completed_at: int | None
    duration_ms: int | None
    pid: int | None
    pid_started_at: int | None
    error: str | None
    code: str | None
    exit_code: int | None
    progress: int | None
    confidence: int | None
    matched: str
    criteria: str | None
    tokens_in: int | None
    tokens_out: int | None
    cost_micros: int | None
    worktree: str | None
    branch: str | None
    merge: str | None
    diff_ref: str | None
    diff_stat: str | None
    log_ref: str | None
    log_tail: str | None
    diagnostics: str | None
    trigger: str
    resume: int
    kill_failed: int
    landlock: int | None
    last_heartbeat_at: int | None = None
    last_line: str | None = None

    @property
    def cost_usd(self) -> float | None:
        return None if self.cost_micros is None else self.cost_micros / 1_000_000


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the process of an attempt has said of itself so far."""

    session: str
    tenant: str
    project: str
    pid: int | None = None
    pid_started_at: int | None = None
    started_at: int | None = None
    last_heartbeat_at: int | None = None
    progress: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_micros: int | None = None
    last_line: str | None = None


class TaskStore(Protocol):
    def tasks(self, run: str, status: Sequence[str] = ()) -> list[TaskRow]:
        """Of a run, by id; of some statuses only."""
        ...

    def task(self, run: str, id: str) -> TaskRow | None: ...

    def task_counts(self, run: str) -> dict[str, int]:
        """By status, where there are any."""
        ...

    def review_count(self, run: str) -> int:
        """How many wait for a person's review."""
        ...

    def recent_tasks(self, run: str, limit: int = 10) -> list[TaskRow]:
        """Those whose status moved last, the newest first."""
        ...

    def task_agents(self, run: str) -> list[TaskAgentRow]:
        """By name."""
        ...

    def task_executions(
        self, tenant: str, project: str, *, task: str | None = None, limit: int = 50
    ) -> list[TaskExecutionRow]:
        """Of all runs of a project, the newest first."""
        ...

    def finished_executions(self, tenant: str, project: str, limit: int = 5) -> list[TaskExecutionRow]:
        """Those that ended last, the newest first."""
        ...

    def open_executions(self, tenant: str, project: str) -> list[TaskExecutionRow]:
        """Those that have not ended, the oldest first."""
        ...

    def task_execution(self, tenant: str, session: str) -> TaskExecutionRow | None: ...

    def put_sessions(self, rows: Sequence[SessionRow]) -> None:
        """What sessions say now, in one commit; each row replaces the one before."""
        ...

    def session(self, session: str) -> SessionRow | None: ...


def _upsert(table: Table, *keys: str) -> str:
    names = ",".join(f'"{name}"' for name in table.names)
    new = ",".join(f'"{name}"=excluded."{name}"' for name in table.names if name not in keys)
    into = f'INSERT INTO "{table.name}"({names}) VALUES({marks(table.names)})'
    return f"{into} ON CONFLICT ({','.join(keys)}) DO UPDATE SET {new}"


#: rows of a batch, in the order of their tables
PUT_TASK = _upsert(TASK, "run", "id")
PUT_AGENT = _upsert(TASK_AGENT, "run", "name")
PUT_EXECUTION = _upsert(TASK_EXECUTION, "run", "session")
_PUT_SESSION = _upsert(TASK_SESSION, "session")

#: how long what a session has said is of use to anybody
SESSIONS_KEPT_MS = 7 * 24 * 3_600_000
FORGET_TASK_SESSIONS = f"DELETE FROM task_session WHERE last_heartbeat_at<=?-{SESSIONS_KEPT_MS}"

_ENDED = "e.completed_at IS NOT NULL"
#: while an attempt has not ended, its session knows these
_LIVE = ("pid", "pid_started_at", "started_at", "progress", "tokens_in", "tokens_out", "cost_micros")
#: attempts of one moment are in their order
_LATER = "e.attempt DESC,e.session DESC"
_NEWEST = f"e.asked_at DESC,{_LATER}"
_BY_SESSION = " LEFT JOIN task_session s ON s.session="


def _task_columns() -> str:
    """The progress of what is under way is its session's."""
    open_ = "t.status IN ('pending','in_progress') AND t.review_required=0"
    live = f"CASE WHEN {open_} THEN coalesce(s.progress,t.progress) ELSE t.progress END"
    return ",".join(live if name == "progress" else f't."{name}"' for name in TaskRow.__struct_fields__)


def _execution_columns() -> str:
    """T-3.2.1: it runs as soon as its process is known."""
    told = {name: f"coalesce(e.{name},s.{name})" for name in _LIVE}
    told["status"] = f"CASE WHEN {_ENDED} OR s.pid IS NULL THEN e.status ELSE 'running' END"
    told["last_heartbeat_at"], told["last_line"] = "s.last_heartbeat_at", "s.last_line"
    return ",".join(told.get(name, f'e."{name}"') for name in TaskExecutionRow.__struct_fields__)


_TASK_COLUMNS, _EXECUTION_COLUMNS = _task_columns(), _execution_columns()
_AGENTS = ",".join(TaskAgentRow.__struct_fields__)
_SESSION = ",".join(TASK_SESSION.names)


def _tasks(by: str = "") -> str:
    """`by`: the way to the rows, where the database would choose a worse one."""
    return f"SELECT {_TASK_COLUMNS} FROM task t{by}{_BY_SESSION}t.session WHERE t.run=? AND t.removed=0"


def _executions(by: str = "") -> str:
    return f"SELECT {_EXECUTION_COLUMNS} FROM task_execution e{by}{_BY_SESSION}e.session WHERE "


class SqlTasks(Sql):
    def tasks(self, run: str, status: Sequence[str] = ()) -> list[TaskRow]:
        by, some = (self._by("task_status"), f" AND {is_in('t.status', status)}") if status else ("", "")
        return [TaskRow(*row) for row in self._read(f"{_tasks(by)}{some} ORDER BY t.id", (run, *status))]

    def task(self, run: str, id: str) -> TaskRow | None:
        return self._row(TaskRow, f"{_tasks()} AND t.id=?", (run, id))

    def task_counts(self, run: str) -> dict[str, int]:
        sql = "SELECT status,count(*) FROM task WHERE run=? AND removed=0 GROUP BY status"
        return dict(self._read(sql, (run,)).fetchall())

    def review_count(self, run: str) -> int:
        where = "run=? AND status='in_progress' AND review_required=1 AND removed=0"
        return int(self._one(f"SELECT count(*) FROM task{self._by('task_status')} WHERE {where}", (run,)))

    def recent_tasks(self, run: str, limit: int = 10) -> list[TaskRow]:
        sql = f"{_tasks()} ORDER BY t.updated_at DESC,t.id DESC LIMIT ?"
        return [TaskRow(*row) for row in self._read(sql, (run, limit))]

    def task_agents(self, run: str) -> list[TaskAgentRow]:
        sql = f"SELECT {_AGENTS} FROM task_agent WHERE run=? AND removed=0 ORDER BY name"
        return [TaskAgentRow(*row) for row in self._read(sql, (run,))]

    def task_executions(
        self, tenant: str, project: str, *, task: str | None = None, limit: int = 50
    ) -> list[TaskExecutionRow]:
        some, values = ("", ()) if task is None else (" AND e.task=?", (task,))
        sql = f"{_executions()}e.tenant=? AND e.project=?{some} ORDER BY {_NEWEST} LIMIT ?"
        return [TaskExecutionRow(*row) for row in self._read(sql, (tenant, project, *values, limit))]

    def finished_executions(self, tenant: str, project: str, limit: int = 5) -> list[TaskExecutionRow]:
        where = f"e.tenant=? AND e.project=? AND {_ENDED}"
        sql = f"{_executions()}{where} ORDER BY e.completed_at DESC,{_LATER} LIMIT ?"
        return [TaskExecutionRow(*row) for row in self._read(sql, (tenant, project, limit))]

    def open_executions(self, tenant: str, project: str) -> list[TaskExecutionRow]:
        where = "e.tenant=? AND e.project=? AND e.completed_at IS NULL"
        sql = f"{_executions(self._by('task_execution_open'))}{where} ORDER BY e.asked_at,e.attempt,e.session"
        return [TaskExecutionRow(*row) for row in self._read(sql, (tenant, project))]

    def task_execution(self, tenant: str, session: str) -> TaskExecutionRow | None:
        return self._row(TaskExecutionRow, f"{_executions()}e.session=? AND e.tenant=?", (session, tenant))

    def put_sessions(self, rows: Sequence[SessionRow]) -> None:
        if rows:
            with self.transaction():
                self._many(_PUT_SESSION, [astuple(row) for row in rows])

    def session(self, session: str) -> SessionRow | None:
        row = self._read(f"SELECT {_SESSION} FROM task_session WHERE session=?", (session,)).fetchone()
        return None if row is None else SessionRow(**dict(zip(TASK_SESSION.names, row, strict=True)))
