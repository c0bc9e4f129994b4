"""Plans of one tenant: projects, tasks, agents, executions, the workflow, and what people do with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.access.candidates import Who
from penstock.app.plan import projects, task_commands, task_views, workflow
from penstock.app.plan import sync as syncing
from penstock.app.plan.files import sessions
from penstock.app.plan.projects import project_row, project_view
from penstock.app.plan.views import (
    Agent,
    CanExecute,
    Deadlock,
    Execution,
    Project,
    SessionLog,
    Sync,
    Task,
    TaskDetail,
    TaskFields,
    WorkflowState,
)
from penstock.errors import Refused
from penstock.errors.plan import TaskSchema

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock
    from penstock.app.plan.events import PlanEvents
    from penstock.app.plan.health import Health
    from penstock.app.plan.reports import Collected, Report


class Plans:
    """`project` is a project's id or its name everywhere. What changes something returns when it is committed, also
    from a process that does not drive the store; `by` is who asks."""

    def __init__(self, door: Penstock) -> None:
        self.door = door

    # -- projects ------------------------------------------------------------------------------------------------------

    def projects(self) -> list[Project]:
        return [project_view(self.door, row) for row in self.door.store.projects(self.door.tenant)]

    def project(self, project: str) -> Project:
        return project_view(self.door, project_row(self.door, project))

    async def register(
        self, path: str | Path, *, name: str | None = None, trusted: bool | None = None, enabled: bool | None = None,
        by: str = "",
    ) -> Project:  # fmt: skip
        """Keep a folder as a project, and begin its run, idle. Of one that there is, what nothing is said of stays.
        Raises BadInput, DocumentInvalid."""
        row = await projects.register(self.door, path, name=name, trusted=trusted, enabled=enabled)
        syncing.record_removed(self.door, row)
        return project_view(self.door, row)

    async def change(self, project: str, *, enabled: bool | None = None, trusted: bool | None = None) -> Project:
        row = project_row(self.door, project)
        return project_view(self.door, await projects.change(self.door, row, enabled=enabled, trusted=trusted))

    # -- tasks ---------------------------------------------------------------------------------------------------------

    def tasks(self, project: str, status: str | None = None) -> list[Task]:
        """In the order in which they would begin."""
        return task_views.tasks_of(self.door, project_row(self.door, project), status)

    def task(self, project: str, task: str) -> TaskDetail:
        return task_views.detail(self.door, project_row(self.door, project), task)

    def can_execute(self, project: str, task: str) -> CanExecute:
        """T-5.2.3"""
        row = project_row(self.door, project)
        found = task_views.task_row(self.door, row, task)
        return task_views.TaskList(self.door, row, [found]).can_execute(found)

    def next_task(self, project: str) -> Task | None:
        """T-5.2.2; None: «No executable tasks»."""
        return task_views.next_task(self.door, project_row(self.door, project))

    async def add_task(self, project: str, fields: TaskFields | Mapping[str, Any], *, by: str = "") -> Task:
        """Raises TaskSchema."""
        if not isinstance(fields, TaskFields):
            try:
                fields = msgspec.convert(fields, TaskFields)
            except msgspec.ValidationError as error:
                named = fields.get("id") if isinstance(fields, Mapping) else ""
                raise TaskSchema(task=str(named or ""), why=str(error)) from error
        return await task_commands.add_task(self.door, project, fields)

    async def change_task(self, project: str, task: str, *, depends_on: list[Any], by: str = "") -> Task:
        """T-8.3.5: other dependencies, in the task's file and in the run. Raises TaskSchema."""
        return await task_commands.change_task(self.door, project, task, {"depends_on": depends_on})

    async def execute(
        self, project: str, task: str, *, queue: bool = False, skill: str | None = None, by: str = ""
    ) -> Task:
        """Raises TaskTransition, TaskBlocked, AgentBusy."""
        return await task_commands.execute(self.door, project, task, queue=queue, skill=skill)

    async def complete(self, project: str, task: str, *, notes: str = "", by: Who = "") -> Task:
        return await task_commands.complete(self.door, project, task, notes=notes, by=by)

    async def cancel(self, project: str, task: str, *, by: str = "") -> Task:
        return await task_commands.cancel(self.door, project, task)

    async def retry(self, project: str, task: str, *, by: str = "") -> Task:
        return await task_commands.retry(self.door, project, task)

    async def review_approve(self, project: str, task: str, *, comment: str = "", by: Who = "") -> Task:
        """Completed, and what its worktree has is merged where the plan does not say that it is kept."""
        return await task_commands.approve(self.door, project, task, comment=comment, by=by)

    async def review_reject(self, project: str, task: str, *, comment: str, by: Who = "") -> Task:
        return await task_commands.reject(self.door, project, task, comment=comment, by=by)

    async def force_complete(self, project: str, task: str, *, reason: str, by: str = "") -> Task:
        return await task_commands.force_complete(self.door, project, task, reason=reason, by=by)

    # -- the workflow --------------------------------------------------------------------------------------------------

    async def start(
        self, project: str, *, force: bool = False, max_concurrent: int | None = None, by: str = ""
    ) -> WorkflowState:
        """Raises ProjectHealth."""
        return await workflow.start(self.door, project, force=force, max_concurrent=max_concurrent)

    async def stop(self, project: str, *, now: bool = False, by: str = "") -> WorkflowState:
        return await workflow.stop(self.door, project, now=now)

    async def resume(self, project: str, *, by: str = "") -> WorkflowState:
        return await workflow.resume(self.door, project)

    async def reset(self, project: str, *, by: str = "") -> WorkflowState:
        return await workflow.reset(self.door, project)

    def state(self, project: str) -> WorkflowState:
        return workflow.state_of(self.door, project_row(self.door, project))

    def deadlocks(self, project: str) -> list[Deadlock]:
        return workflow.deadlocks(self.door, project_row(self.door, project))

    async def plan_sync(self, project: str) -> Sync:
        """What a sync would do; nothing is changed. Raises DocumentInvalid where the files are wrong."""
        return await syncing.plan_sync(self.door, project_row(self.door, project))

    async def sync(self, project: str, *, by: str = "") -> Sync:
        return await syncing.sync(self.door, project_row(self.door, project))

    # -- agents and executions -----------------------------------------------------------------------------------------

    def agents(self, project: str) -> list[Agent]:
        return task_views.agents_of(self.door, project_row(self.door, project))

    def executions(self, project: str, *, task: str | None = None, limit: int = 50) -> list[Execution]:
        return task_views.executions_of(self.door, project_row(self.door, project), task, limit)

    def execution(self, project: str, session: str) -> Execution:
        row = project_row(self.door, project)
        return task_views.execution_view(self.door, task_views.execution_row(self.door, row, session))

    def log(self, project: str, session: str, *, after: int = 0, limit: int = 2000) -> SessionLog:
        row = task_views.execution_row(self.door, project_row(self.door, project), session)
        return sessions.read_log(self.door, row, after, limit)

    def diff(self, project: str, session: str) -> str:
        row = task_views.execution_row(self.door, project_row(self.door, project), session)
        return sessions.read_diff(self.door, row)

    async def worktree(self, project: str, task: str, action: str, *, by: Who = "") -> Execution:
        """Merge, keep or discard what the last attempt of a task has left. Raises Refused."""
        row = project_row(self.door, project)
        execution = await task_commands.end_task_worktree(self.door, row, task, action, by)
        return task_views.execution_view(self.door, execution)

    async def heartbeat(self, project: str, session: str, *, by: str = "") -> Execution:
        """T-X.7: an explicit sign of life of an execution that runs."""
        row = project_row(self.door, project)
        execution = task_views.execution_row(self.door, row, session)
        if execution.completed_at is not None or not sessions.tell_alive(self.door, execution):
            raise Refused(why=f"the session «{session}» does not run")
        return task_views.execution_view(self.door, execution)

    # -- health and reports --------------------------------------------------------------------------------------------

    def health(self, project: str) -> Health:
        """As the last check has left it."""
        from penstock.app.plan.health import health_of

        return health_of(self.door, project)

    async def check(self, project: str) -> Health:
        from penstock.app.plan.reports import check

        return check(self.door, project)

    def reports(self, type: str | None = None, project: str | None = None, limit: int = 100) -> list[Report]:
        from penstock.app.plan.reports import reports

        return reports(self.door, type, project, limit)

    async def collect(self) -> Collected:
        from penstock.app.plan.reports import collect

        return await collect(self.door)

    @property
    def events(self) -> PlanEvents:
        """The hub of this process: `plans.events.subscribe(tenant, project)`."""
        from penstock.app.plan.events import plan_events

        return plan_events(self.door)
