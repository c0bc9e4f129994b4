"""Tasks, agents and executions while they are folded: the columns of their rows, in the order of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.kernel.failure import Failure

#: of a row; the rest of a log is in its session's folder
TEXT_BYTES = 4 * 1024
_LONG_TEXT_BYTES = 16 * 1024
_encode = msgspec.json.Encoder().encode


class Task(msgspec.Struct):
    run: str
    id: str
    tenant: str
    project: str
    title: str = ""
    file: str | None = None
    status: str = "pending"
    priority: int | None = None
    assigned_agent: str | None = None
    agent: str | None = None
    depends_on: str = "[]"
    criteria: int = 0
    retry_count: int = 0
    attempt: int = 0
    review_required: int = 0
    last_error: str | None = None
    progress: int = 0
    confidence: int | None = None
    matched: str = "[]"
    completed_by_recovery: int = 0
    session: str | None = None
    trigger: str = "auto"
    created: str | None = None
    started_at: int | None = None
    updated_at: int = 0
    completed_at: int | None = None
    next_attempt_at: int | None = None
    review_notes: str | None = None
    reason: str | None = None
    removed: int = 0

    def written(self, known: Mapping[str, Any]) -> None:
        """What the document says of it."""
        self.title, self.file = text(known.get("title")) or self.id, text(known.get("file"))
        self.priority, self.assigned_agent = number(known.get("priority")), text(known.get("assigned_agent"))
        self.depends_on = json_text([_dependency(entry) for entry in known.get("depends_on") or ()])
        self.criteria, self.created = number(known.get("criteria")) or 0, text(known.get("created"))
        self.removed = 0

    def found(self, told: Mapping[str, Any]) -> None:
        """What an attempt has come to, as far as its executor says."""
        self.progress = _percent(told.get("progress")) or 0
        self.confidence = _percent(told.get("confidence"))
        self.matched = json_text(told.get("matched") or [])


class Agent(msgspec.Struct):
    run: str
    name: str
    tenant: str
    project: str
    status: str = "idle"
    current_task: str | None = None
    last_used: int | None = None
    done: int = 0
    failed: int = 0
    last_error: str | None = None
    removed: int = 0


class Execution(msgspec.Struct):
    run: str
    session: str
    tenant: str
    project: str
    task: str
    agent: str
    attempt: int
    status: str
    asked_at: int
    started_at: int | None = None
    completed_at: int | None = None
    duration_ms: int | None = None
    pid: int | None = None
    pid_started_at: int | None = None
    error: str | None = None
    code: str | None = None
    exit_code: int | None = None
    progress: int | None = None
    confidence: int | None = None
    matched: str = "[]"
    criteria: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_micros: int | None = None
    worktree: str | None = None
    branch: str | None = None
    merge: str | None = None
    diff_ref: str | None = None
    diff_stat: str | None = None
    log_ref: str | None = None
    log_tail: str | None = None
    diagnostics: str | None = None
    trigger: str = "auto"
    resume: int = 0
    kill_failed: int = 0
    landlock: int | None = None

    def found(self, told: Mapping[str, Any], at: int) -> None:
        """What its executor has told of it, whether it went well or not. `at` is when the engine heard of it."""
        self.started_at = number(told.get("started_at")) or self.asked_at
        self.completed_at = max(number(told.get("completed_at")) or at, self.started_at)
        self.duration_ms = self.completed_at - self.started_at
        for name in ("pid", "pid_started_at", "exit_code", "tokens_in", "tokens_out"):
            setattr(self, name, number(told.get(name)))
        for name in ("worktree", "branch", "merge", "diff_ref", "log_ref", "log_tail"):
            setattr(self, name, text(told.get(name)))
        self.progress, self.confidence = _percent(told.get("progress")), _percent(told.get("confidence"))
        self.matched = json_text(told.get("matched") or [])
        for name in ("criteria", "diff_stat", "diagnostics"):
            setattr(self, name, json_text(told[name]) if told.get(name) else None)
        cost = told.get("cost_usd")
        self.cost_micros = round(cost * 1_000_000) if isinstance(cost, int | float) else None
        self.kill_failed = int(bool(told.get("kill_failed")))
        self.landlock = int(told["landlock"]) if isinstance(told.get("landlock"), bool) else None


def told_by(failure: Failure | None) -> Mapping[str, Any]:
    """What an executor tells of an attempt that failed."""
    detail = failure.detail if failure is not None else None
    return detail if isinstance(detail, Mapping) else {}


def failure_of(value: Any) -> Failure | None:
    """Of a fact: a value while the run lives, a list in the journal."""
    if value is None or isinstance(value, Failure):
        return value
    return msgspec.convert(value, Failure)


def text(value: Any, most: int = TEXT_BYTES) -> str | None:
    """As a column takes it: no database keeps a character 0, and whatever a process has said may have one."""
    if not isinstance(value, str) or not value:
        return None
    return value.replace("\0", "\u2400").encode(errors="replace")[:most].decode(errors="ignore")


def long_text(value: Any) -> str | None:
    return text(value, _LONG_TEXT_BYTES)


def number(value: Any) -> int | None:
    return value if type(value) is int else None


def _percent(value: Any) -> int | None:
    """Never rounded up: what is shown as 80 is 80 (T-X.14)."""
    return min(max(int(value), 0), 100) if isinstance(value, int | float) and value == value else None


def json_text(value: Any) -> str:
    return _encode(value).decode()


def _dependency(entry: Any) -> dict[str, Any]:
    """T-X.29: an id, or more about it."""
    more = entry if isinstance(entry, Mapping) else {"id": entry}
    return {"id": more.get("id"), "optional": bool(more.get("optional")), "weight": more.get("weight", 1)}
