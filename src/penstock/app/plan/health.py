"""The health of a project (T-4.2, T-X.4 to T-X.7, T-X.33): read from its rows and its folder, computed, and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.plan.projects import project_row, project_settings
from penstock.lifecycle.project_health import PROJECT_HEALTH
from penstock.store.projects import ProjectRow
from penstock.store.tasks import TaskAgentRow, TaskExecutionRow, TaskRow

UNKNOWN, HEALTHY, WARNING, ERROR = LEVELS = ("unknown", "healthy", "warning", "error")
#: T-X.6: relative to the project's folder; `a|b`: either of them
CRITICAL_FILES = ("CLAUDE.md", ".claude/settings.json|settings.json")
#: T-X.5: how many of the executions that have finished count as recent, and how many in a row are an error
RECENT, IN_A_ROW = 5, 3
#: T-X.33: what one of each takes from a score of 100
COSTS = {"stuck": 10, "zombie": 15, "failure": 10, "missing": 30}
#: codes of executions that were ended, and did not fail
_ENDED_BY_US = ("STOPPED", "RETURNED")
_MS = 1000


class HealthLimits(msgspec.Struct, frozen=True):
    """T-X.34: a plan may set them all; no critical files switch that check off (T-X.6)."""

    stuck_s: float = 3600
    heartbeat_s: float = 300
    critical_files: tuple[str, ...] = CRITICAL_FILES


class HealthIssue(msgspec.Struct, rename="camel"):
    """`kind`: stuck, zombie, failure or missing; `subject` is the task, the agent, the session or the file."""

    kind: str
    level: str
    subject: str
    text: str


class Health(msgspec.Struct, rename="camel", kw_only=True):
    """Ids of tasks, names of agents, ids of sessions, and names of files. A project that was never checked is
    `unknown` and has no score."""

    project: str
    status: str = UNKNOWN
    score: int | None = None
    stuck: list[str] = []
    zombies: list[str] = []
    failures: list[str] = []
    missing: list[str] = []
    issues: list[HealthIssue] = []
    checked_at: int | None = None


class ProjectReading(NamedTuple):
    """What a check looks at: tasks in progress, and of the executions that ended the last ones, the newest first."""

    tasks: Sequence[TaskRow]
    agents: Sequence[TaskAgentRow]
    open: Sequence[TaskExecutionRow]
    finished: Sequence[TaskExecutionRow]
    missing: Sequence[str]


def health_of(door: Penstock, project: str) -> Health:
    """As the last check has left it."""
    row = project_row(door, project)
    if row.checked_at is None:
        return Health(project=row.id)
    return msgspec.json.decode(row.health_detail or "{}", type=Health)


def check(door: Penstock, project: str) -> Health:
    """Computes it now, and keeps it with the project. Whoever wants to tell of a change compares both."""
    row, now = project_row(door, project), door.now()
    limits = limits_of(project_settings(door, row))
    health = compute(row.id, read(door, row, limits), limits, now)
    health.status = PROJECT_HEALTH.next(row.health, f"checked_{health.status}")
    detail = msgspec.json.encode(health).decode()
    door.store.project_checked(door.tenant, row.id, health.status, health.score, detail, now)
    return health


def limits_of(settings: Mapping[str, Any]) -> HealthLimits:
    """Of a plan's settings; what is not said has its default."""
    files = settings.get("critical_files")
    return HealthLimits(
        stuck_s=float(settings.get("stuck_s", 3600)),
        heartbeat_s=float(settings.get("heartbeat_s", 300)),
        critical_files=CRITICAL_FILES if files is None else tuple(str(name) for name in files),
    )


def read(door: Penstock, row: ProjectRow, limits: HealthLimits) -> ProjectReading:
    """A project that was never started has a folder, and nothing else."""
    store, tenant, run = door.store, door.tenant, row.run
    return ProjectReading(
        store.tasks(run, ("in_progress",)) if run is not None else [],
        store.task_agents(run) if run is not None else [],
        store.open_executions(tenant, row.id),
        store.finished_executions(tenant, row.id, RECENT),
        missing_files(Path(row.path), limits.critical_files),
    )


def missing_files(folder: Path, wanted: Sequence[str]) -> list[str]:
    """Of the critical files. A folder that is not there is missing itself, whichever files are wanted."""
    if not folder.is_dir():
        return list(wanted) or ["."]
    return [name for name in wanted if not any(_is_there(folder, choice) for choice in name.split("|"))]


def _is_there(folder: Path, name: str) -> bool:
    """Only below the folder: a plan may not find out which other files the machine has."""
    path = PurePosixPath(name.strip())
    try:
        return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and (folder / path).is_file()
    except (OSError, ValueError):
        return False


# -- computed from what was read ---------------------------------------------------------------------------------------


def compute(project: str, reading: ProjectReading, limits: HealthLimits, now: int) -> Health:
    """T-X.4: the worst criterion decides, whatever the level was before."""
    stuck = [task for task in reading.tasks if is_stuck(task, limits, now)]
    zombies = zombies_of(reading, limits, now)
    recent = reading.finished[:RECENT]
    failed = [each for each in recent if _failed(each)]
    levels = {
        "stuck": _by_count(len(stuck), error=3),
        "zombie": _by_count(len(zombies), error=2),
        "failure": _of_executions(recent),
        "missing": ERROR if reading.missing else HEALTHY,
    }
    issues = [
        *(_issue(levels, "stuck", task.id, _stuck_text(task, now)) for task in stuck),
        *(_issue(levels, "zombie", agent.name, _zombie_text(agent, limits)) for agent in zombies),
        *(_issue(levels, "failure", each.session, f"{each.task}: {each.error or 'failed'}") for each in failed),
        *(_issue(levels, "missing", name, f"{name} is missing") for name in reading.missing),
    ]
    return Health(
        project=project, status=max(levels.values(), key=LEVELS.index), score=score_of(issues),
        stuck=[task.id for task in stuck], zombies=[agent.name for agent in zombies],
        failures=[each.session for each in failed], missing=list(reading.missing), issues=issues, checked_at=now,
    )  # fmt: skip


def is_stuck(task: TaskRow, limits: HealthLimits, now: int) -> bool:
    """T-X.5: what waits for a reviewer is not stuck."""
    if task.status != "in_progress" or task.review_required or task.started_at is None:
        return False
    return now - task.started_at > limits.stuck_s * _MS


def zombies_of(reading: ProjectReading, limits: HealthLimits, now: int) -> list[TaskAgentRow]:
    """T-X.7: busy, and no byte and no call of their execution for as long as a heartbeat may take."""
    newest = {each.agent: each for each in sorted(reading.open, key=lambda each: each.started_at or 0)}

    def silent(agent: TaskAgentRow) -> bool:
        execution = newest.get(agent.name)
        heard = None if execution is None else execution.last_heartbeat_at or execution.started_at
        return agent.status == "busy" and heard is not None and now - heard >= limits.heartbeat_s * _MS

    return [agent for agent in reading.agents if silent(agent)]


def score_of(issues: Sequence[HealthIssue]) -> int:
    return max(0, 100 - sum(COSTS[issue.kind] for issue in issues))


def _of_executions(recent: Sequence[TaskExecutionRow]) -> str:
    """T-X.5: those that failed in a row, or any; a project without executions is not blamed for it."""
    failed = [_failed(each) for each in recent]
    if len(failed) >= IN_A_ROW and all(failed[:IN_A_ROW]):
        return ERROR
    return WARNING if any(failed) else HEALTHY


def _failed(execution: TaskExecutionRow) -> bool:
    """What somebody has stopped, or the engine has put back, is no failure of the project."""
    return execution.status == "failed" and execution.code not in _ENDED_BY_US


def _by_count(count: int, *, error: int) -> str:
    return ERROR if count >= error else WARNING if count else HEALTHY


def _issue(levels: Mapping[str, str], kind: str, subject: str, text: str) -> HealthIssue:
    return HealthIssue(kind, levels[kind], subject, text)


def _stuck_text(task: TaskRow, now: int) -> str:
    return f"{task.id} has been in progress for {(now - (task.started_at or now)) // 60_000} minutes"


def _zombie_text(agent: TaskAgentRow, limits: HealthLimits) -> str:
    return f"{agent.name} has said nothing for {limits.heartbeat_s:g} s while it works on {agent.current_task}"


def degraded(before: str, after: str) -> bool:
    """T-6.1.10: a project that was never checked had nothing to lose."""
    return before != UNKNOWN and LEVELS.index(after) > LEVELS.index(before) or before == UNKNOWN and after == ERROR
