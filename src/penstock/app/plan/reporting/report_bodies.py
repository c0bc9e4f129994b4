"""What each kind of report says (T-R.1 to T-R.8): made of the rows of a task and of its execution."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.store.tasks import TaskExecutionRow, TaskRow

#: bytes of a log that a report carries with it; the whole log stays with the session
LOG_BYTES = 4096


def completion(task: TaskRow, execution: TaskExecutionRow | None = None) -> dict[str, Any]:
    """T-R.1, T-5.2.10."""
    return {
        **_of_task(task, execution),
        "success": True,
        "matchedCriteria": json.loads(task.matched or "[]"),
        "confidence": task.confidence,
        "reviewNotes": task.review_notes or "",
        "completedByRecovery": bool(task.completed_by_recovery),
    }


def progress(task: TaskRow, before: str, after: str) -> dict[str, Any]:
    """T-R.2, T-10.1.5: every change of a status that is not a completion."""
    return {
        **_of_task(task, None),
        "from": before,
        "to": after,
        "title": task.title,
        "progress": task.progress,
        "retryCount": task.retry_count,
        "reviewRequired": bool(task.review_required),
    }


def failure(task: TaskRow, execution: TaskExecutionRow | None = None) -> dict[str, Any]:
    """T-R.3: its retries are used up, or there was no sense in another one."""
    return {
        **_of_task(task, execution),
        "success": False,
        "error": task.last_error or "",
        "retryCount": task.retry_count,
        "exitCode": None if execution is None else execution.exit_code,
        "log": _log(execution),
    }


def incident(
    kind: str, message: str, task: TaskRow | None = None, execution: TaskExecutionRow | None = None, **more: Any
) -> dict[str, Any]:
    """T-R.5: `kind` is crash, timeout, dependency_removed, deadlock, fatal …"""
    about = _of_task(task, execution) if task is not None else {}
    reached = {"progress": execution.progress, "log": _log(execution)} if execution is not None else {}
    return {"kind": kind, "message": message, **about, **reached, **more}


def zombie(
    task: TaskRow, execution: TaskExecutionRow, diagnostics: Mapping[str, Any] | Sequence[Any] | None = None
) -> dict[str, Any]:
    """T-R.6, T-X.22: `killFailed`: it was there even after SIGKILL."""
    return {
        **_of_task(task, execution),
        "pid": execution.pid,
        "lastHeartbeatAt": execution.last_heartbeat_at,
        "killFailed": bool(execution.kill_failed),
        "diagnostics": diagnostics,
        "log": _log(execution),
    }


def error(task: TaskRow, execution: TaskExecutionRow | None, message: str) -> dict[str, Any]:
    """T-R.7: an `error` in the stream of an execution."""
    return {**_of_task(task, execution), "message": message}


def summary(tasks: Sequence[TaskRow], executions: Sequence[TaskExecutionRow], **more: Any) -> dict[str, Any]:
    """T-R.8, T-7.1.9: the figures of a workflow that has ended."""
    counts: dict[str, int] = {}
    for task in tasks:
        counts[task.status] = counts.get(task.status, 0) + 1
    begun = [each.started_at for each in executions if each.started_at is not None]
    ended = [each.completed_at for each in executions if each.completed_at is not None]
    return {
        "tasks": len(tasks),
        "counts": counts,
        "success": counts.get("completed", 0) == len(tasks),
        "executions": len(executions),
        "failedExecutions": sum(each.status == "failed" for each in executions),
        "retries": sum(task.retry_count for task in tasks),
        "completedByRecovery": [task.id for task in tasks if task.completed_by_recovery],
        "startedAt": min(begun, default=None),
        "completedAt": max(ended, default=None),
        "durationMs": max(ended) - min(begun) if begun and ended else None,
        "tokensIn": sum(each.tokens_in or 0 for each in executions),
        "tokensOut": sum(each.tokens_out or 0 for each in executions),
        "costUsd": round(sum(each.cost_usd or 0 for each in executions), 6),
        **more,
    }


def _of_task(task: TaskRow, execution: TaskExecutionRow | None) -> dict[str, Any]:
    session = task.session if execution is None else execution.session
    agent = task.agent or task.assigned_agent if execution is None else execution.agent
    return {"taskId": task.id, "agentName": agent or "", "session": session}


def _log(execution: TaskExecutionRow | None) -> str:
    """Its end: that is where a process says why it died."""
    tail = "" if execution is None else execution.log_tail or ""
    return tail.encode()[-LOG_BYTES:].decode(errors="ignore")
