"""The files of a session as people read them: its transcript, its diff; and what becomes of its worktree."""

from __future__ import annotations

import asyncio
from pathlib import Path

from penstock.app.penstock import Penstock
from penstock.app.plan.views import LogLine, SessionLog
from penstock.app.runs.queries import Queries
from penstock.errors import BadInput, Refused
from penstock.executors.parts.agent_streams import read_events
from penstock.executors.parts.sessions import session_files
from penstock.executors.parts.sessions.session import beat, session_folder
from penstock.executors.parts.tasks import worktrees
from penstock.executors.parts.tasks.attempt_record import tail_of
from penstock.executors.parts.tasks.attempt_setup import secrets_of
from penstock.executors.parts.tasks.worktrees import GitFailed, MergeEnd
from penstock.store.tasks import TaskExecutionRow

#: bytes of a diff that are shown
_DIFF_BYTES, _STDERR_BYTES = 2 * 1024 * 1024, 4 * 1024
#: in the session's folder: what a person has done with its worktree
_WORKTREE_END = "worktree-end"
ACTIONS = ("merge", "keep", "discard")
#: the transcript's words for what has no word of its own in a log
_KINDS = {"started": "system", "progress": "progress"}


def folder_of(door: Queries, execution: TaskExecutionRow) -> Path:
    return session_folder(sessions_root(door), execution.run, execution.session)


def sessions_root(door: Queries) -> Path:
    """Where the executor keeps the sessions of the door's tenant."""
    assert isinstance(door, Penstock), "plans are read through the door"
    return door.output_dir / "sessions"


def read_log(door: Queries, execution: TaskExecutionRow, after: int, limit: int) -> SessionLog:
    """The lines after a number, the oldest first."""
    found = read_events(folder_of(door, execution), after, max(1, min(limit, 10_000)))
    lines = [
        LogLine(at=each.at, kind=_KINDS.get(each.kind, each.kind), text=each.text, data=each.data) for each in found
    ]
    return SessionLog(
        lines=lines, next=found[-1].number if found else after, ended=execution.completed_at is not None and not found,
        stderr=_stderr(folder_of(door, execution)),
    )  # fmt: skip


def _stderr(folder: Path) -> str:
    """Its last bytes: that is where a program says why it did not start. Without secrets, also one that is cut."""
    secrets = secrets_of(folder)
    most = _STDERR_BYTES + max((len(secret.encode(errors="replace")) for secret in secrets), default=0)
    text = tail_of(folder / session_files.ERR, most)
    for secret in secrets:
        text = text.replace(secret, "***")
    return text[-_STDERR_BYTES:]


def read_diff(door: Queries, execution: TaskExecutionRow) -> str:
    """What the attempt has changed in its worktree; empty where it has none."""
    if not execution.diff_ref:
        return ""
    folder = folder_of(door, execution).resolve()
    path = (folder / execution.diff_ref).resolve()
    if not path.is_relative_to(folder) or not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(_DIFF_BYTES).decode(errors="replace")


async def end_worktree(door: Queries, execution: TaskExecutionRow, action: str, title: str) -> MergeEnd:
    """Merge, keep or discard what an attempt has left on its branch. Raises BadInput, Refused."""
    if action not in ACTIONS:
        raise BadInput(what="the action", why=f"«{action}» is none", hint=f"Choose {', '.join(ACTIONS)}.")
    worktree = worktrees.worktree_of(folder_of(door, execution))
    if worktree is None:
        raise Refused(why=f"the session «{execution.session}» has no worktree")
    if worktree_end(door, execution) in ("merged", "discarded"):
        raise Refused(why=f"the worktree of «{execution.session}» was {worktree_end(door, execution)} already")
    try:
        end = await asyncio.to_thread(_end_worktree, worktree, action, f"Merge the task {execution.task}: {title}")
    except GitFailed as failed:
        raise Refused(why=str(failed)) from failed
    done = "discarded" if action == "discard" else end.merge
    if done in ("merged", "discarded", "kept"):
        (folder_of(door, execution) / _WORKTREE_END).write_text(done)
    return end


def _end_worktree(worktree: worktrees.Worktree, action: str, message: str) -> MergeEnd:
    """Blocks."""
    if action == "keep":
        return MergeEnd("kept")
    end = worktrees.merge(worktree, message) if action == "merge" else MergeEnd("none", "discarded")
    if action == "discard" or end.merge == "merged":
        worktrees.remove_worktree(worktree)
    return end


def worktree_end(door: Queries, execution: TaskExecutionRow) -> str:
    """What a person has done with the worktree of an attempt: merged, kept, discarded; empty: nothing."""
    if not execution.worktree:
        return ""
    try:
        return (folder_of(door, execution) / _WORKTREE_END).read_text()
    except OSError:
        return ""


def tell_alive(door: Queries, execution: TaskExecutionRow) -> bool:
    """T-X.7: an explicit sign of life, for an agent that has nothing to say."""
    return beat(folder_of(door, execution))
