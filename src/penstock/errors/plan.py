"""What cannot be done with a project, its tasks and its agents, under the codes of the seed (T-X.39)."""

from __future__ import annotations

from typing import Any

from penstock.errors.base import PenstockError
from penstock.errors.runs import StatusConflict


class TaskSchema(PenstockError, code="TASK-400-SCHEMA"):
    """The task «{task}» cannot be used: {why}."""

    hint = "Nothing was written. `penstock plan check DIR` says what a task file may have."


class TaskNotFound(PenstockError, code="TASK-404"):
    """There is no task «{task}» in the project «{project}»."""

    hint = "What there is: `penstock plan status`, GET /projects/{id}/tasks."


class TaskTransition(StatusConflict, code="TASK-409-TRANSITION"):
    """{what} is {from}; {to} is not possible from there."""

    hint = "Look at how the task stands now; nothing was changed."
    told = ("from", "to")

    def __init__(self, **facts: Any) -> None:
        """T-X.2: a program reads both statuses. A refusal of the engine names them `status` and `verb`."""
        both = {"from": facts.get("status"), "to": facts.get("verb"), **facts}
        super().__init__(**{"what": "the task", **both})


class TaskBlocked(PenstockError, code="TASK-409-BLOCKED"):
    """The task «{task}» cannot be executed now: {reason}."""

    hint = "Finish what it waits for first, or make that dependency optional."
    told = ("blockingTasks",)

    def __init__(self, **facts: Any) -> None:
        """T-5.2.3: `blockingTasks` are the ids of what it waits for."""
        super().__init__(**{"blockingTasks": [], **facts})


class AgentBusy(PenstockError, code="AGENT-409-BUSY"):
    """The agent «{agent}» is busy with «{task}»."""

    hint = "Wait until it is idle, or ask with queue=true: then the task begins as soon as it is."


class ProjectHealth(PenstockError, code="PROJECT-409-HEALTH"):
    """The project «{project}» is in health «{health}»: {why}."""

    hint = "Mend what is named, or start with force=true (--force)."


class ProjectNotFound(PenstockError, code="PROJECT-404"):
    """There is no project «{project}»."""

    hint = "What there is: `penstock plan projects`, GET /projects."


class SessionNotFound(PenstockError, code="EXECUTION-404"):
    """There is no execution «{session}» in the project «{project}»."""

    hint = "What there is: GET /projects/{id}/executions."
