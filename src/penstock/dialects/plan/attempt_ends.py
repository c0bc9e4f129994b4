"""How an attempt at a task ended: its status, what people read of it, and what a person has said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.dialects.plan.task_states import Execution, Task, long_text, text
from penstock.kernel.failure import Failure
from penstock.lifecycle import MACHINES

#: T-X.30: who has done what a person says is done
ADMIN = "admin"


def ended_status(execution: Execution) -> str:
    """T-3.2: through running, where there was a process."""
    machine, error = MACHINES["task_execution"], execution.error
    if error is not None and execution.pid is None:
        return machine.next(execution.status, "not_started")
    running = machine.next(execution.status, "process_start")
    ended = "process_exit_0" if error is None else "timeout" if error == "timeout" else "process_exit_error"
    return machine.next(running, ended)


def error_of(failure: Failure | None) -> tuple[str, str]:
    """What people read, and the code. T-X.19: of one whose time was over it is one word."""
    if failure is None:
        return "failed", "UNKNOWN"
    if failure.category == "timeout":
        return "timeout", failure.code
    return text(failure.message) or failure.code, failure.code


def note_decision(task: Task, body: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
    """T-1.2.2, T-X.14: a person has said that it is done; why is part of the notes."""
    if meta.get("by"):
        mine = f"approved by {meta['by']}: {meta.get('comment') or ''}"
    else:
        said = body.get("review_notes") or body.get("notes") or body.get("reason") or ""
        mine = f"completed by {body.get('by') or ADMIN}: {said}"
    before = task.review_notes if task.review_required else None
    task.review_notes = long_text("\n".join(part for part in (before, mine.rstrip(": ")) if part))
    task.reason = text(body.get("reason")) or task.reason
