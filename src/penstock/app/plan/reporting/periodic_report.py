"""The periodic report of one project (T-6.1.3 to T-6.1.7, T-X.33): made of its rows, looked at, and then kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.plan.health import RECENT, Health
from penstock.app.plan.task_views import STATUSES, TaskList
from penstock.app.timestamps import iso
from penstock.store.projects import ProjectRow
from penstock.store.tasks import TaskAgentRow, TaskExecutionRow, TaskRow

AGENT_STATUSES = ("idle", "busy")
#: T-6.1.5
RECENT_TASKS = 10
#: T-X.33: the fields that have to be there, and what they are
REQUIRED: dict[str, type] = {
    "project_id": str, "generated_at": str, "task_counts": dict, "executable": list, "blocked": list,
    "agent_counts": dict, "zombies": list, "recent_tasks": list, "recent_executions": list, "health": dict,
    "issues": list,
}  # fmt: skip


def periodic_body(door: Penstock, row: ProjectRow, health: Health) -> dict[str, Any]:
    store, tenant, run = door.store, door.tenant, row.run
    tasks = store.tasks(run) if run is not None else []
    agents = store.task_agents(run) if run is not None else []
    newest = store.recent_tasks(run, RECENT_TASKS) if run is not None else []
    executable, blocked = _pending(TaskList(door, row, tasks), tasks)
    return {
        "project_id": row.id,
        "generated_at": iso(door.now()),
        "task_counts": _counts(STATUSES, [task.status for task in tasks]),
        "executable": executable,
        "blocked": blocked,
        "agent_counts": _counts(AGENT_STATUSES, [agent.status for agent in agents]),
        "agent_usage": {agent.name: _usage(agent) for agent in agents},
        "zombies": health.zombies,
        "recent_tasks": [_task(task) for task in newest],
        "recent_executions": [_execution(each) for each in store.finished_executions(tenant, row.id, RECENT)],
        "completed_by_recovery": [task.id for task in tasks if task.completed_by_recovery],
        "review_required": [task.id for task in tasks if task.review_required],
        "health": {"status": health.status, "score": health.score},
        "issues": [issue.text for issue in health.issues],
    }


def _pending(known: TaskList, tasks: Sequence[TaskRow]) -> tuple[list[str], list[dict[str, Any]]]:
    """T-6.1.3, T-X.29: the tasks that could begin now, and those that wait, with what they wait for."""
    executable, blocked = list[str](), list[dict[str, Any]]()
    for task in tasks:
        can = known.can_execute(task)
        if task.status == "pending" and can.can_execute:
            executable.append(task.id)
        elif task.status == "pending":
            blocked.append({"task": task.id, "blocking_tasks": can.blocking_tasks, "reason": can.reason})
    return executable, blocked


def periodic_faults(door: Penstock, row: ProjectRow, body: dict[str, Any]) -> list[str]:
    """T-6.1.7: fields that are missing or of another type, and references to what there is not."""
    faults = [f"«{name}» is missing" for name in REQUIRED if name not in body]
    faults += [
        f"«{name}» is not a {kind.__name__}"
        for name, kind in REQUIRED.items()
        if name in body and not isinstance(body[name], kind)
    ]
    if faults:
        return faults
    return [*_figure_faults(body), *_reference_faults(door, row, body)]


def _figure_faults(body: dict[str, Any]) -> list[str]:
    faults = []
    for name, known in (("task_counts", STATUSES), ("agent_counts", AGENT_STATUSES)):
        counts = body[name]
        if any(key not in known or type(value) is not int or value < 0 for key, value in counts.items()):
            faults.append(f"«{name}» counts something else than {', '.join(known)}")
    health = body["health"]
    if not isinstance(health.get("status"), str) or type(health.get("score")) is not int:
        faults.append("«health» has no status and score")
    for name, most in (("recent_tasks", RECENT_TASKS), ("recent_executions", RECENT)):
        if len(body[name]) > most:
            faults.append(f"«{name}» has more than {most}")
    return faults


def _reference_faults(door: Penstock, row: ProjectRow, body: dict[str, Any]) -> list[str]:
    """What an execution worked on may be gone since; what is said to wait, to be ready or to be silent may not."""
    run = row.run
    tasks = {task.id for task in door.store.tasks(run)} if run is not None else set[str]()
    agents = {agent.name for agent in door.store.task_agents(run)} if run is not None else set[str]()
    named = [*body["executable"], *(each["task"] for each in body["blocked"])]
    named += [each["id"] for each in body["recent_tasks"]]
    faults = [f"there is no task «{id}»" for id in dict.fromkeys(named) if id not in tasks]
    faults += [f"there is no agent «{name}»" for name in body["zombies"] if name not in agents]
    if body["project_id"] != row.id:
        faults.append(f"it is about «{body['project_id']}»")
    return faults


def _counts(known: Sequence[str], found: Sequence[str]) -> dict[str, int]:
    return {**dict.fromkeys(known, 0), **Counter(found)}


def _usage(agent: TaskAgentRow) -> dict[str, Any]:
    return {"done": agent.done, "failed": agent.failed, "last_used": _moment(agent.last_used)}


def _task(task: TaskRow) -> dict[str, Any]:
    return {
        "id": task.id, "title": task.title, "status": task.status, "agent": task.agent, "progress": task.progress,
        "retry_count": task.retry_count, "updated": _moment(task.updated_at),
    }  # fmt: skip


def _execution(row: TaskExecutionRow) -> dict[str, Any]:
    return {
        "session": row.session, "task": row.task, "agent": row.agent, "status": row.status, "attempt": row.attempt,
        "started_at": _moment(row.started_at), "completed_at": _moment(row.completed_at),
        "duration_ms": row.duration_ms, "error": row.error,
    }  # fmt: skip


def _moment(at: int | None) -> str | None:
    return None if at is None else iso(at)
