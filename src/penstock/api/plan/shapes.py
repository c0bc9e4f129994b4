"""Projects, tasks, agents and executions at the edge (T-X.39): times are ISO 8601, names are camelCase."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import ResponseBody
from penstock.app.plan import health, reports, views
from penstock.app.plan.reporting import alerts


class ProjectOut(ResponseBody, of=views.Project):
    """`run` is the run of its plan; `missing`: the folder is not there now."""


class ProjectList(ResponseBody):
    items: list[ProjectOut]


class HealthOut(ResponseBody, of=health.Health, parts={health.HealthIssue: "HealthIssueOut"}):
    """T-4.2, T-X.33. `unknown` and without a score before the first check."""


class TaskOut(ResponseBody, of=views.Task, parts={views.Dependency: "TaskDependencyOut"}):
    """`moves` are the verbs that its status allows now; `reason` says what it waits for."""


class TaskList(ResponseBody):
    items: list[TaskOut]


class NextTask(ResponseBody):
    """T-5.2.2: nothing where no task can be executed now."""

    task: TaskOut | None


class CanExecuteOut(ResponseBody, of=views.CanExecute):
    """T-5.2.3."""


class TaskExecutionOut(
    ResponseBody, of=views.Execution, parts={views.Criterion: "CriterionOut", views.DiffStat: "DiffStatOut"}
):
    """One attempt of a task. `pidStartedAt` tells its process from a later one of the same number (T-X.22)."""

    pid_started_at: int | None = Field(alias="pidStartedAt")


class TaskExecutionList(ResponseBody):
    items: list[TaskExecutionOut]


class TaskDetailOut(ResponseBody, of=views.TaskDetail):
    """`executions` are its attempts, the newest first."""


class TaskAgentOut(ResponseBody, of=views.Agent):
    """`silentS`: how long its process has said nothing."""


class TaskAgentList(ResponseBody):
    items: list[TaskAgentOut]


class StateTaskOut(ResponseBody, of=views.StateTask, defaults=True):
    """T-9.1.9."""


class StateAgentOut(ResponseBody, of=views.StateAgent, defaults=True):
    """T-9.1.10."""


class StateExecutionOut(ResponseBody, of=views.StateExecution, defaults=True):
    """T-9.1.11, T-X.22."""

    pid_started_at: int | None = Field(None, alias="pidStartedAt")


class WorkflowStateOut(ResponseBody, of=views.WorkflowState):
    """T-9.1.6 to T-9.1.11. `why` says why it is paused; `prompt`: it waits to be resumed or reset (T-9.2.5)."""


class DeadlockOut(ResponseBody, of=views.Deadlock, parts={views.CycleEdge: "CycleEdgeOut"}):
    """T-8.3: tasks that wait for each other, and what a person can do about it."""


class DeadlockList(ResponseBody):
    items: list[DeadlockOut]


class SyncOut(ResponseBody, of=views.Sync, parts={views.StatusEdit: "StatusEditOut"}):
    """What the files say and the run does not; `migrated`: it was applied."""


class SessionLogOut(ResponseBody, of=views.SessionLog, parts={views.LogLine: "SessionLineOut"}):
    """`next` is what to ask after; `ended`: nothing more comes."""


class SessionDiff(ResponseBody):
    """What the execution has changed, as git writes it; empty where it has changed nothing."""

    session: str
    diff: str


class ReportOut(ResponseBody, of=reports.Report):
    """T-R.1 to T-R.8. The body of a periodic report has the fields of T-X.33."""

    body: dict[str, Any]


class ReportList(ResponseBody):
    items: list[ReportOut]


class CollectedOut(
    ResponseBody, of=reports.Collected, parts={reports.Skipped: "SkippedProjectOut", alerts.Alert: "ProjectAlertOut"}
):
    """T-6.1: a project without a report is in `skipped`, with the reason."""
