"""The words of people who let agents work: tasks, agents, executions and workflows (T-1.1 to T-3.1, T-9.1.7)."""

from __future__ import annotations

from penstock.dialects.contract import Words

#: T-1.1.1, T-X.1
TASK = ("pending", "in_progress", "completed", "cancelled", "failed")
#: T-2.1.1
AGENT = ("idle", "busy")
#: T-3.1.1
EXECUTION = ("pending", "running", "completed", "failed")
#: T-9.1.7
WORKFLOW = ("idle", "running", "paused", "completed")
#: T-5.2.1
TRIGGERS = ("auto", "manual", "scheduled")
#: T-R.9
STATUS_CHANGED = "task:statusChanged"

#: The house's run statuses → T-9.1.7. Whether it is paused is not the run's status but its pool's: `workflow_status`.
RUN = {
    "CREATED": "idle",
    "PENDING": "idle",
    "RUNNING": "running",
    "WAITING": "running",
    "COMPENSATING": "running",
    "COMPLETED": "completed",
    "FAILED": "paused",
    "CANCELLED": "idle",
    "COMPENSATED": "idle",
    "TIMEOUT": "paused",
}

#: The house's words for units of work → T-1.1.1. A task that waits for a review is still in progress (T-X.14).
UNIT = {
    "PENDING": "pending",
    "QUEUED": "pending",
    "RUNNING": "in_progress",
    "RETRYING": "pending",
    "WAITING": "in_progress",
    "SUCCEEDED": "completed",
    "FAILED": "failed",
    "SKIPPED": "cancelled",
    "CANCELLED": "cancelled",
}

WORDS = Words(run=RUN, unit=UNIT, events=(STATUS_CHANGED,))

#: why a pool gives no place away, of a workflow that nobody has started yet, or that was taken back to its beginning
_IDLE = ("", "idle", "reset")


def workflow_status(run: str, stopped: str | None) -> str:
    """`run` is the house's status; `stopped` is why its agents begin nothing, None where they do."""
    status = RUN.get(run, run)
    if status != "running" or stopped is None:
        return status
    return "idle" if stopped in _IDLE else "paused"
