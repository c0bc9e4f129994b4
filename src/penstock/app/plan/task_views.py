"""Tasks, agents and executions of a project as people see them: from rows, and from what the plan says of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.plan.files.sessions import worktree_end
from penstock.app.plan.projects import plan_of, project_settings
from penstock.app.plan.views import Agent, CanExecute, Criterion, Dependency, DiffStat, Execution, Task, TaskDetail
from penstock.app.runs.queries import Queries
from penstock.app.timestamps import moment
from penstock.errors import BadInput
from penstock.errors.plan import SessionNotFound, TaskNotFound
from penstock.lang.plan.dependencies import OVER, blocked
from penstock.lang.plan.dependencies import Dependency as Link
from penstock.store.projects import ProjectRow
from penstock.store.tasks import TaskAgentRow, TaskExecutionRow, TaskRow

STATUSES = ("pending", "in_progress", *OVER)
log = logging.getLogger("penstock")
#: executions that a task shows at most
_MOST = 50


def task_row(door: Queries, row: ProjectRow, id: str) -> TaskRow:
    """Raises TaskNotFound."""
    found = door.store.task(row.run, id) if row.run is not None else None
    if found is None:
        raise TaskNotFound(task=id, project=row.id)
    return found


def order_key(task: TaskRow) -> tuple[int, int, str, str]:
    """T-X.28: the smaller priority first, those without one after those with one, then by creation, then by id."""
    return (task.priority is None, task.priority or 0, task.created or "", task.id)


class TaskList:
    """The tasks of a project; the statuses of what one waits for are read when they are needed."""

    def __init__(self, door: Queries, row: ProjectRow, rows: Iterable[TaskRow] = ()) -> None:
        self.door, self.row = door, row
        self.plan = plan_of(door, row)
        self.settings = project_settings(door, row)
        self._known = {task.id: task for task in rows}
        self._removed = {(str(each.get("task")), str(each.get("on"))) for each in self.plan.get("removed", ())}

    def _task(self, id: str) -> TaskRow | None:
        if id not in self._known and self.row.run is not None:
            found = self.door.store.task(self.row.run, id)
            if found is not None:
                self._known[id] = found
        return self._known.get(id)

    def dependencies(self, task: TaskRow) -> list[Dependency]:
        """As the plan says, with how each stands now."""
        found = []
        for given in json.loads(task.depends_on or "[]"):
            about: Mapping[str, Any] = given if isinstance(given, Mapping) else {"id": given}
            other = self._task(str(about["id"]))
            status, optional = other.status if other is not None else "pending", bool(about.get("optional"))
            resolved = status == "completed" or optional and status in OVER
            removed = (task.id, str(about["id"])) in self._removed
            found.append(
                Dependency(
                    id=str(about["id"]), optional=optional, weight=int(about.get("weight", 1)), status=status,
                    resolved=resolved or removed, removed=removed,
                )
            )  # fmt: skip
        return found

    def can_execute(self, task: TaskRow) -> CanExecute:
        """T-5.2.3, T-X.29: what a pending task waits for; of one that is not pending, how it stands."""
        if task.status != "pending":
            return CanExecute(can_execute=False, reason=f"task_{task.status}")
        others = [each for each in self.dependencies(task) if not each.removed]
        statuses = {task.id: task.status, **{each.id: each.status for each in others}}
        found = blocked(task.id, statuses, {task.id: [Link(each.id, each.optional) for each in others]})
        return CanExecute(can_execute=found.can_execute, reason=found.reason, blocking_tasks=found.blocking_tasks)

    def view(self, task: TaskRow, running: TaskExecutionRow | None = None) -> Task:
        about = self.plan.get("tasks", {}).get(task.id, {})
        can = self.can_execute(task)
        pending = task.status == "pending"
        return Task(
            id=task.id, title=task.title, status=task.status, priority=task.priority,
            assigned_agent=task.assigned_agent, agent=task.agent, file=task.file or "",
            depends_on=self.dependencies(task), ready=can.can_execute,
            queued=pending and task.attempt > 0, reason=can.reason if pending else task.reason or "",
            blocking_tasks=can.blocking_tasks, retry_count=task.retry_count,
            max_retries=int(self.settings.get("max_retries", 3)), next_attempt_at=task.next_attempt_at,
            review_required=bool(task.review_required), completed_by_recovery=bool(task.completed_by_recovery),
            progress=task.progress, confidence=task.confidence, matched=json.loads(task.matched or "[]"),
            criteria_total=task.criteria, attempt=task.attempt, last_error=task.last_error,
            last_line=(running.last_line or "") if running is not None else "", review_notes=task.review_notes or "",
            session=task.session, trigger=task.trigger, schedule=about.get("schedule"),
            last_heartbeat_at=running.last_heartbeat_at if running is not None else None, started_at=task.started_at,
            created_at=_moment(task.created), updated_at=task.updated_at or None, completed_at=task.completed_at,
            moves=moves_of(task, can.can_execute),
        )  # fmt: skip


def moves_of(task: TaskRow, ready: bool) -> list[str]:
    """What may be asked of a task as it stands."""
    if task.status == "pending":
        return [*(["execute"] if ready else []), "cancel", "force-complete"]
    if task.status == "in_progress":
        return ["review-approve", "review-reject", "cancel"] if task.review_required else ["complete", "cancel"]
    return ["retry"] if task.status == "failed" else []


def tasks_of(door: Queries, row: ProjectRow, status: str | None = None) -> list[Task]:
    """In the order in which they would begin."""
    if status is not None and status not in STATUSES:
        hint = f"They are {', '.join(STATUSES)}."
        raise BadInput(what="the status", why=f"«{status}» is none of a task", hint=hint)
    if row.run is None:
        return []
    rows = door.store.tasks(row.run)
    known = TaskList(door, row, rows)
    running = {each.session: each for each in door.store.open_executions(door.tenant, row.id)}
    wanted = [task for task in rows if status in (None, task.status)]
    return [known.view(task, running.get(task.session or "")) for task in sorted(wanted, key=order_key)]


def one_task(door: Queries, row: ProjectRow, id: str) -> Task:
    task = task_row(door, row, id)
    running = door.store.task_execution(door.tenant, task.session) if task.session else None
    return TaskList(door, row, [task]).view(task, running)


def next_task(door: Queries, row: ProjectRow) -> Task | None:
    """T-5.2.2, T-X.28: the one that would begin next; None: no task can."""
    if row.run is None:
        return None
    rows = door.store.tasks(row.run)
    known = TaskList(door, row, rows)
    for task in sorted((task for task in rows if task.status == "pending"), key=order_key):
        if known.can_execute(task).can_execute:
            return known.view(task)
    log.info("No executable tasks in %s", row.id)
    return None


def detail(door: Queries, row: ProjectRow, id: str) -> TaskDetail:
    task = one_task(door, row, id)
    written = _written(door, row, id)
    executions = [
        execution_view(door, each) for each in door.store.task_executions(door.tenant, row.id, task=id, limit=_MOST)
    ]
    judged = next((each.criteria for each in executions if each.criteria), [])
    known = plan_of(door, row).get("tasks", {})
    return TaskDetail(
        task=task, description=str(written.get("description") or ""), references=list(written.get("references") or ()),
        skill=written.get("skill"),
        timeout_s=int(written.get("timeout_s") or project_settings(door, row).get("timeout_s", 3600)),
        criteria=judged or [criterion_of(each) for each in written.get("success_criteria") or ()],
        dependents=[other for other, about in known.items() if id in _names(about.get("depends_on") or ())],
        executions=executions,
    )  # fmt: skip


def _written(door: Queries, row: ProjectRow, id: str) -> Mapping[str, Any]:
    """A task as the document of the run has it."""
    assert row.run is not None
    source = door.store.net(door.row(row.run).net).source
    document = json.loads(source) if source is not None else {}
    return next((task for task in document.get("tasks", ()) if task.get("id") == id), {})


def _names(depends_on: Iterable[Any]) -> list[str]:
    return [str(each["id"]) if isinstance(each, Mapping) else str(each) for each in depends_on]


def criterion_of(given: Any) -> Criterion:
    """T-X.13: text, or an object with one of these names."""
    if not isinstance(given, Mapping):
        return Criterion(text=str(given))
    how = next((name for name in ("file_exists", "output_matches", "command") if name in given), "text")
    value = given.get(how, given.get("text", ""))
    return Criterion(text=" ".join(map(str, value)) if isinstance(value, list) else str(value), how=how)


# -- agents and executions ---------------------------------------------------------------------------------------------


def agents_of(door: Queries, row: ProjectRow) -> list[Agent]:
    if row.run is None:
        return []
    about = plan_of(door, row).get("agents", {})
    running = {each.agent: each for each in door.store.open_executions(door.tenant, row.id)}
    now = door.now()
    return [
        _agent(agent, _about_agent(about, agent.name), running.get(agent.name) if agent.status == "busy" else None, now)
        for agent in door.store.task_agents(row.run)
    ]


def _about_agent(agents: Any, name: str) -> Mapping[str, Any]:
    """Agents by name, or as a list."""
    if isinstance(agents, Mapping):
        found = agents.get(name, {})
        return found if isinstance(found, Mapping) else {}
    return next((each for each in agents or () if each.get("name") == name), {})


def _agent(row: TaskAgentRow, about: Mapping[str, Any], running: TaskExecutionRow | None, now: int) -> Agent:
    command = about.get("command") or ""
    heard = None if running is None else running.last_heartbeat_at or running.started_at
    return Agent(
        name=row.name, status=row.status, current_task=row.current_task, preset=str(about.get("preset") or ""),
        command=" ".join(map(str, command)) if isinstance(command, list) else str(command),
        skills=list(about.get("skills") or ()), last_used_at=row.last_used, done=row.done, failed=row.failed,
        last_error=row.last_error, progress=running.progress if running is not None else None,
        pid=running.pid if running is not None else None, session=running.session if running is not None else None,
        silent_s=None if heard is None else max(0, (now - heard) // 1000),
    )  # fmt: skip


def executions_of(door: Queries, row: ProjectRow, task: str | None, limit: int) -> list[Execution]:
    """The newest first."""
    if task is not None:
        task_row(door, row, task)
    return [
        execution_view(door, each) for each in door.store.task_executions(door.tenant, row.id, task=task, limit=limit)
    ]


def execution_row(door: Queries, row: ProjectRow, session: str) -> TaskExecutionRow:
    """Raises SessionNotFound."""
    found = door.store.task_execution(door.tenant, session)
    if found is None or found.project != row.id:
        raise SessionNotFound(session=session, project=row.id)
    return found


def execution_view(door: Queries, row: TaskExecutionRow) -> Execution:
    ended = worktree_end(door, row)
    stat = json.loads(row.diff_stat) if row.diff_stat else None
    return Execution(
        session=row.session, task=row.task, agent=row.agent, attempt=row.attempt, status=row.status,
        trigger=row.trigger, pid=row.pid, pid_started_at=row.pid_started_at, started_at=row.started_at,
        completed_at=row.completed_at, duration_ms=row.duration_ms, exit_code=row.exit_code, error=row.error,
        code=row.code, progress=row.progress or 0, confidence=row.confidence, matched=json.loads(row.matched or "[]"),
        tokens_in=row.tokens_in or 0, tokens_out=row.tokens_out or 0, cost_usd=row.cost_usd or 0.0,
        last_heartbeat_at=row.last_heartbeat_at, last_line=row.last_line or "",
        worktree=None if ended in ("merged", "discarded") else row.worktree,
        branch=row.branch, merge=ended or row.merge or "none", has_diff=bool(row.diff_ref), has_log=True,
        resume=bool(row.resume), kill_failed=bool(row.kill_failed),
        landlock=None if row.landlock is None else bool(row.landlock), criteria=_criteria(row.criteria),
        diff_stat=msgspec.convert(stat, DiffStat) if stat else None,
        log_tail=row.log_tail or "", diagnostics=json.loads(row.diagnostics) if row.diagnostics else None,
    )  # fmt: skip


def _criteria(text: str | None) -> list[Criterion]:
    return [
        Criterion(text=str(each.get("text", "")), matched=bool(each.get("matched")), how=str(each.get("how", "text")))
        for each in (json.loads(text) if text else ())
    ]


def _moment(written: str | None) -> int | None:
    """What a person wrote as the time of creation."""
    try:
        return moment(written, "created") if written else None
    except BadInput:
        return None


def under(root: Path, ref: str | None) -> Path | None:
    """A file of a session by its reference, where it lies below the root."""
    path = root / ref if ref else None
    return path if path is not None and path.resolve().is_relative_to(root.resolve()) else None
