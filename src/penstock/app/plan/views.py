"""What people see of plans: projects, tasks, agents, executions, the workflow. Times are in milliseconds."""

from __future__ import annotations

from typing import Any

import msgspec


class Project(msgspec.Struct, rename="camel", kw_only=True):
    """A registered folder. `run` is the run of its plan; `missing`: the folder is not there now."""

    id: str
    name: str
    title: str = ""
    path: str
    enabled: bool = True
    trusted: bool = False
    run: str | None = None
    status: str = "idle"
    health: str = "unknown"
    score: int | None = None
    max_concurrent: int = 3
    counts: dict[str, int] = {}
    review: int = 0
    missing: bool = False
    git: bool = False
    why: str = ""
    checked_at: int | None = None
    last_seen_at: int | None = None
    created_at: int = 0


class Dependency(msgspec.Struct, rename="camel", kw_only=True):
    """`resolved`: it lets the task run; `removed`: it was taken out to break a cycle."""

    id: str
    optional: bool = False
    weight: int = 1
    status: str = "pending"
    resolved: bool = False
    removed: bool = False


class Task(msgspec.Struct, rename="camel", kw_only=True):
    """`ready`: every dependency is resolved and it waits for an agent; `reason` says what it waits for otherwise."""

    id: str
    title: str
    status: str = "pending"
    priority: int | None = None
    assigned_agent: str | None = None
    agent: str | None = None
    file: str = ""
    depends_on: list[Dependency] = []
    ready: bool = False
    queued: bool = False
    reason: str = ""
    blocking_tasks: list[str] = []
    retry_count: int = 0
    max_retries: int = 3
    next_attempt_at: int | None = None
    review_required: bool = False
    completed_by_recovery: bool = False
    progress: int = 0
    confidence: int | None = None
    matched: list[str] = []
    criteria_total: int = 0
    attempt: int = 0
    last_error: str | None = None
    last_line: str = ""
    review_notes: str = ""
    session: str | None = None
    trigger: str = ""
    schedule: str | None = None
    last_heartbeat_at: int | None = None
    started_at: int | None = None
    created_at: int | None = None
    updated_at: int | None = None
    completed_at: int | None = None
    moves: list[str] = []


class Criterion(msgspec.Struct, rename="camel", kw_only=True):
    """One success criterion and its verdict; `matched` is None before the analysis. `how`: text, file_exists …"""

    text: str
    matched: bool | None = None
    how: str = "text"


class DiffStat(msgspec.Struct, rename="camel", kw_only=True):
    files: int = 0
    added: int = 0
    removed: int = 0


class Execution(msgspec.Struct, rename="camel", kw_only=True):
    """One attempt of a task: one session of one agent process. `merge`: merged, kept, conflict, discarded, none."""

    session: str
    task: str
    agent: str
    attempt: int = 1
    status: str = "pending"
    trigger: str = ""
    pid: int | None = None
    pid_started_at: int | None = None
    started_at: int | None = None
    completed_at: int | None = None
    duration_ms: int | None = None
    exit_code: int | None = None
    error: str | None = None
    code: str | None = None
    progress: int = 0
    confidence: int | None = None
    matched: list[str] = []
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    last_heartbeat_at: int | None = None
    last_line: str = ""
    worktree: str | None = None
    branch: str | None = None
    merge: str = "none"
    has_diff: bool = False
    has_log: bool = False
    resume: bool = False
    kill_failed: bool = False
    landlock: bool | None = None
    criteria: list[Criterion] = []
    diff_stat: DiffStat | None = None
    log_tail: str = ""
    diagnostics: Any = None


class TaskDetail(msgspec.Struct, rename="camel", kw_only=True):
    """A task with its description, its criteria beside the verdict, and its attempts, the newest first."""

    task: Task
    description: str = ""
    references: list[str] = []
    skill: str | None = None
    timeout_s: int = 3600
    criteria: list[Criterion] = []
    dependents: list[str] = []
    executions: list[Execution] = []


class CanExecute(msgspec.Struct, rename="camel", kw_only=True):
    """T-5.2.3; `reason` is empty where it can."""

    can_execute: bool
    reason: str = ""
    blocking_tasks: list[str] = []


class Agent(msgspec.Struct, rename="camel", kw_only=True):
    """`silent_s`: how long its process has said nothing; None where it works on nothing."""

    name: str
    status: str = "idle"
    current_task: str | None = None
    preset: str = ""
    command: str = ""
    skills: list[str] = []
    last_used_at: int | None = None
    done: int = 0
    failed: int = 0
    last_error: str | None = None
    progress: int | None = None
    pid: int | None = None
    session: str | None = None
    silent_s: int | None = None


class StateTask(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """T-9.1.9"""

    status: str
    assigned_agent: str | None = None
    started_at: int | None = None
    progress: int | None = None


class StateAgent(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """T-9.1.10"""

    status: str
    current_task: str | None = None
    last_used_at: int | None = None


class StateExecution(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """T-9.1.11, with what tells a process from another one of the same number (T-X.22)."""

    task_id: str
    status: str
    started_at: int | None = None
    pid: int | None = None
    pid_started_at: int | None = None


class WorkflowState(msgspec.Struct, rename="camel", kw_only=True):
    """T-9.1.6 to T-9.1.11. `why` says why it is paused: operator, restarted, fatal, deadlock …; `warning` what the
    health check had to say when it was started; `prompt`: it waits for an answer to «resume?»."""

    project: str
    project_path: str
    status: str
    started_at: int | None = None
    last_saved_at: int | None = None
    tasks: dict[str, StateTask] = {}
    agents: dict[str, StateAgent] = {}
    executions: dict[str, StateExecution] = {}
    schema_version: int = 1
    run: str | None = None
    why: str = ""
    warning: str = ""
    prompt: bool = False
    stopping: bool = False
    max_concurrent: int = 3
    running: list[str] = []
    counts: dict[str, int] = {}
    moves: list[str] = []


class CycleEdge(msgspec.Struct, rename={"task": "from", "dependency": "to"}, kw_only=True):
    task: str
    dependency: str
    optional: bool = False


class Deadlock(msgspec.Struct, rename="camel", kw_only=True):
    """Tasks that wait for each other. `optional`: an edge in it can be removed; `removed` is the one that was, as
    [task, dependency]; suggestions say what a person can do (T-8.3.5)."""

    cycle: list[str]
    edges: list[CycleEdge] = []
    optional: bool = False
    removed: list[str] = []
    suggestions: list[str] = []


class StatusEdit(msgspec.Struct, rename="camel", kw_only=True):
    """A status that a person has written into a task file; `refused` says why it is not taken."""

    task: str
    before: str
    after: str
    refused: str = ""


class Sync(msgspec.Struct, rename="camel", kw_only=True):
    """What the files say and the run does not yet. `obstacles` are told and left out; `migrated`: it was applied."""

    added: list[str] = []
    changed: list[str] = []
    removed: list[str] = []
    statuses: list[StatusEdit] = []
    obstacles: list[str] = []
    findings: list[dict[str, Any]] = []
    migrated: bool = False
    release: str = ""


class LogLine(msgspec.Struct, rename="camel", kw_only=True):
    """`kind`: message, tool, result, error, raw, system, progress."""

    at: int | None = None
    kind: str
    text: str = ""
    data: Any = None


class SessionLog(msgspec.Struct, rename="camel", kw_only=True):
    """`next` is what to ask after; `ended`: nothing more comes; `stderr` is the end of the error output."""

    lines: list[LogLine] = []
    next: int = 0
    ended: bool = False
    stderr: str = ""


class PlanEvent(msgspec.Struct, rename="camel", kw_only=True):
    """`number` grows by one per event of this process; `event` is one of the seed's names."""

    number: int
    event: str
    project: str
    data: dict[str, Any] = {}
    at: int = 0


class TaskFields(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """What a new task is made of; the file `tasks/<id>.md` is written from it."""

    id: str
    title: str
    description: str = ""
    priority: int | None = None
    assigned_agent: str | None = None
    depends_on: list[Any] = []
    references: list[str] = []
    success_criteria: list[Any] = []
    skill: str | None = None
    timeout_s: int | None = None
    schedule: str | None = None
