"""The tables of projects: their tasks, agents and executions from facts, what a running session says, and reports."""

from __future__ import annotations

from penstock.store.table_shape import Index, Table
from penstock.store.table_shape import column as _c
from penstock.store.table_shape import word as _word

_TASK = ("pending", "in_progress", "completed", "cancelled", "failed")
_TRIGGER = ("auto", "manual", "scheduled")

PROJECT = Table(
    "project",
    "Registered projects: where each lies, its newest run, and its health at the last check.",
    (
        _c("tenant", "text", "whose it is", key=True),
        _c("id", "text", "its id", key=True),
        _c("name", "text", "the name of its document"),
        _c("path", "text", "its folder"),
        _c("title", "text", "what people call it"),
        _c("enabled", "int", "0: nothing of it is begun or reported"),
        _c("trusted", "int", "1: criteria that run commands are checked"),
        _c("run", "text", "run.id of its newest run", null=True),
        _word("status", "idle", "running", "paused", "completed"),
        _c("why", "text", "why it is paused", null=True),
        _word("health", "unknown", "healthy", "warning", "error"),
        _c("score", "int", "0 to 100; none before the first check", null=True),
        _c("health_detail", "text", "what the last check has found, JSON", null=True),
        _c("checked_at", "int", "of the last check, milliseconds since 1970", null=True),
        _c("last_seen", "int", "of the last report, milliseconds since 1970", null=True),
        _c("created_at", "int", "milliseconds since 1970"),
    ),
    (
        Index("project_path", ("tenant", "path")),
        Index("project_run", ("run",), where="run IS NOT NULL"),
    ),
    clustered=True,
)

TASK = Table(
    "task",
    "Tasks of a project's run, as its facts tell them.",
    (
        _c("run", "text", "run.id", key=True),
        _c("id", "text", "its id in the project", key=True),
        _c("tenant", "text", "whose it is"),
        _c("project", "text", "project.id"),
        _c("title", "text", "what is to be done"),
        _c("file", "text", "where it is written, relative to the project", null=True),
        _word("status", *_TASK),
        _c("priority", "int", "smaller first; none: after those that have one", null=True),
        _c("assigned_agent", "text", "who has to do it; none: whoever is idle", null=True),
        _c("agent", "text", "who does it, or did it last", null=True),
        _c("depends_on", "text", "JSON: id, optional, weight of each"),
        _c("criteria", "int", "how many success criteria it has"),
        _c("retry_count", "int", "attempts after the first, since somebody retried it by hand"),
        _c("attempt", "int", "number of its newest attempt; 0 before the first"),
        _c("review_required", "int", "1: it is done, and a person has to say whether it is good"),
        _c("last_error", "text", "of its newest attempt that failed", null=True),
        _c("progress", "int", "0 to 100, of its newest attempt that has ended"),
        _c("confidence", "int", "0 to 100; none before an attempt was looked at", null=True),
        _c("matched", "text", "JSON: criteria that were met"),
        _c("completed_by_recovery", "int", "1: it crashed when it was nearly done, and was taken as done"),
        _c("session", "text", "of its newest attempt", null=True),
        _word("trigger", *_TRIGGER),
        _c("created", "text", "as the document says it", null=True),
        _c("started_at", "int", "of its newest attempt, milliseconds since 1970", null=True),
        _c("updated_at", "int", "when its status moved last, milliseconds since 1970"),
        _c("completed_at", "int", "milliseconds since 1970", null=True),
        _c("next_attempt_at", "int", "not tried again before then", null=True),
        _c("review_notes", "text", "what is to be known of how it was done", null=True),
        _c("reason", "text", "why it is as it is: who has taken it back, or refused it", null=True),
        _c("removed", "int", "1: the document does not have it any more"),
    ),
    (
        Index("task_status", ("run", "status", "id")),
        Index("task_updated", ("run", "updated_at", "id")),
    ),
    projection=True,
    clustered=True,
)

TASK_AGENT = Table(
    "task_agent",
    "Agents of a project's run: who is busy with what, and how they did.",
    (
        _c("run", "text", "run.id", key=True),
        _c("name", "text", "its name", key=True),
        _c("tenant", "text", "whose it is"),
        _c("project", "text", "project.id"),
        _word("status", "idle", "busy"),
        _c("current_task", "text", "task.id", null=True),
        _c("last_used", "int", "when it got its last task, milliseconds since 1970", null=True),
        _c("done", "int", "attempts that it has finished"),
        _c("failed", "int", "attempts that failed"),
        _c("last_error", "text", "of the last that failed", null=True),
        _c("removed", "int", "1: the document does not have it any more"),
    ),
    projection=True,
    clustered=True,
)

TASK_EXECUTION = Table(
    "task_execution",
    "Attempts at tasks, as their facts tell them; while one runs, its process is in task_session.",
    (
        _c("run", "text", "run.id", key=True),
        _c("session", "text", "made of the effect's key and the attempt", key=True),
        _c("tenant", "text", "whose it is"),
        _c("project", "text", "project.id"),
        _c("task", "text", "task.id"),
        _c("agent", "text", "who does it"),
        _c("attempt", "int", "number of the attempt"),
        _word("status", "pending", "completed", "failed"),
        _c("asked_at", "int", "when it was asked for, milliseconds since 1970"),
        _c("started_at", "int", "of its process, milliseconds since 1970", null=True),
        _c("completed_at", "int", "when it ended, milliseconds since 1970", null=True),
        _c("duration_ms", "int", "between both", null=True),
        _c("pid", "int", "of its process", null=True),
        _c("pid_started_at", "int", "start of the process by the system's clock", null=True),
        _c("error", "text", "why it failed, at most 4 KiB", null=True),
        _c("code", "text", "the failure's code", null=True),
        _c("exit_code", "int", "of its process", null=True),
        _c("progress", "int", "0 to 100", null=True),
        _c("confidence", "int", "0 to 100", null=True),
        _c("matched", "text", "JSON: criteria that were met"),
        _c("criteria", "text", "JSON: each criterion, whether and how it was met", null=True),
        _c("tokens_in", "int", "of the language model", null=True),
        _c("tokens_out", "int", "of the language model", null=True),
        _c("cost_micros", "int", "millionths of a US dollar", null=True),
        _c("worktree", "text", "where it worked", null=True),
        _c("branch", "text", "what it worked on", null=True),
        _c("merge", "text", "merged, kept, conflict, none", null=True),
        _c("diff_ref", "text", "where its diff lies", null=True),
        _c("diff_stat", "text", "JSON: files, added, removed", null=True),
        _c("log_ref", "text", "where its log lies", null=True),
        _c("log_tail", "text", "end of the log, at most 4 KiB", null=True),
        _c("diagnostics", "text", "JSON: what was seen of a process that had to be ended", null=True),
        _word("trigger", *_TRIGGER),
        _c("resume", "int", "1: it goes on where the attempt before ended"),
        _c("kill_failed", "int", "1: its process would not end"),
        _c("landlock", "int", "1: it could write nowhere else", null=True),
    ),
    (
        Index("task_execution_session", ("session",), unique=True),
        Index("task_execution_project", ("tenant", "project", "asked_at", "attempt", "session")),
        Index("task_execution_task", ("tenant", "project", "task", "asked_at", "attempt", "session")),
        Index(
            "task_execution_ended",
            ("tenant", "project", "completed_at", "attempt", "session"),
            where="completed_at IS NOT NULL",
        ),
        Index("task_execution_open", ("tenant", "project"), where="completed_at IS NULL"),
    ),
    projection=True,
    clustered=True,
)

TASK_SESSION = Table(
    "task_session",
    "What the process of an attempt says while it runs. Not in the journal: it is worth nothing after the end.",
    (
        _c("session", "text", "task_execution.session", key=True),
        _c("tenant", "text", "whose it is"),
        _c("project", "text", "project.id"),
        _c("pid", "int", "of its process", null=True),
        _c("pid_started_at", "int", "start of the process by the system's clock", null=True),
        _c("started_at", "int", "milliseconds since 1970", null=True),
        _c("last_heartbeat_at", "int", "when it said anything last, milliseconds since 1970", null=True),
        _c("progress", "int", "0 to 100", null=True),
        _c("tokens_in", "int", "so far", null=True),
        _c("tokens_out", "int", "so far", null=True),
        _c("cost_micros", "int", "so far, millionths of a US dollar", null=True),
        _c("last_line", "text", "the last thing that it said, for people", null=True),
    ),
    (Index("task_session_beat", ("last_heartbeat_at",)),),
    clustered=True,
)

_REPORT = (
    _c("id", "text", "its id", key=True),
    _c("tenant", "text", "whose it is"),
    _c("project", "text", "project.id; none: about all of them", null=True),
    _c("type", "text", "completion, progress, failure, periodic, incident, zombie, error, summary"),
    _c("generated_at", "int", "milliseconds since 1970"),
    _c("body", "text", "JSON"),
)


def _by(name: str) -> tuple[Index, ...]:
    """What reports are asked for by."""
    return (
        Index(f"{name}_time", ("tenant", "generated_at", "id")),
        Index(f"{name}_type", ("tenant", "type", "generated_at", "id")),
        Index(f"{name}_project", ("tenant", "project", "generated_at", "id")),
        Index(f"{name}_both", ("tenant", "project", "type", "generated_at", "id")),
        Index(f"{name}_age", ("generated_at",)),
    )


REPORT = Table("report", "Reports about projects and their tasks.", _REPORT, _by("report"), clustered=True)

REPORTS_ARCHIVE = Table(
    "reports_archive",
    "Reports that are older than people look at every day.",
    _REPORT,
    _by("reports_archive"),
    clustered=True,
)

TASK_TABLES = (PROJECT, TASK, TASK_AGENT, TASK_EXECUTION, TASK_SESSION, REPORT, REPORTS_ARCHIVE)
