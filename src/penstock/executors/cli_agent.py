"""cli_agent: one task of a project, done by the program of an agent: Claude Code, Gemini CLI, Codex, or any other.

The program runs under a supervisor that outlives this process: the same question after a restart goes on with it, or
takes its end; when it is gone without one, it is given back (T-9.2.3). What it has changed in its worktree is committed
to a branch of its own, and merged by rule or by a person.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.executors.contract import Done, Failed, Outcome, Request, Returned, Services, failed
from penstock.executors.parts.sessions import session_files
from penstock.executors.parts.sessions.session import SessionEnd, SessionSpec, read_state, standing_of
from penstock.executors.parts.sessions.session_id import session_id
from penstock.executors.parts.sessions.sessions import Sessions
from penstock.executors.parts.tasks import worktrees
from penstock.executors.parts.tasks.attempt_record import FILE as RECORD
from penstock.executors.parts.tasks.attempt_record import AttemptRecord, Ending, read_record, tail_of, write_file
from penstock.executors.parts.tasks.attempt_setup import (
    SESSIONS,
    AttemptFailed,
    Setup,
    TaskArguments,
    base_environment,
    discard_when_ended,
    folder_of,
    prepare,
)
from penstock.executors.parts.tasks.completion import CommandEnd, Completion, after_crash, analyse, review_notes
from penstock.executors.parts.tasks.session_stream import Listener, SessionEvent, SessionStream
from penstock.executors.parts.tasks.worktrees import Change, GitFailed
from penstock.executors.parts.threads import in_thread

__all__ = ["CliAgentExecutor", "SessionEvent"]

RESULT_BYTES = TAIL_BYTES = 4 * 1024
RECOVERY_COMPLETE_AT = REVIEW_BELOW = 80
BUDGET, STREAM_ERROR, LOST = "budget", "stream_error", "lost"
DIFF = "diff.patch"
_LOOK_S, _BEAT_S = 0.1, 1.0
_STOPS = 10_000


class CliAgentExecutor:
    """args: project (its folder), project_id, trusted, task, agent, limits, feedback."""

    name = "cli_agent"

    def __init__(self) -> None:
        self.listeners: list[Listener] = []
        self.sessions = Sessions()
        self._live: dict[tuple[str, int], _Attempt] = {}
        self._stops: dict[tuple[str, int], str] = {}  # asked for before the attempt began
        self._roots: set[Path] = set()

    async def run(self, request: Request, services: Services) -> Outcome:
        at = (request.key, request.attempt)
        self._roots.add(services.output_dir.absolute() / SESSIONS)
        attempt = self._live[at] = _Attempt(request, services, self.sessions, self.listeners)
        try:
            if (why := self._stops.pop(at, "")) and not attempt.stop(why):
                return failed("STOPPED", "cancelled", "it was stopped before it began")
            return await attempt.run()
        finally:
            if self._live.get(at) is attempt:
                del self._live[at]

    def stop(self, key: str, attempt: int, why: str) -> None:
        """Only this ends a session; cancelling `run` leaves it to the next engine."""
        live, session = self._live.get((key, attempt)), session_id(key, attempt)
        if live is not None:
            live.stop(why)
        elif why != "dropped" and len(self._stops) < _STOPS:
            self._stops[key, attempt] = why
        known = [folder for root in self._roots for folder in root.glob(f"*/{session}")]
        for folder in known:
            if live is None:
                self.sessions.stop(folder, why)
            if why == "dropped":
                threading.Thread(
                    target=discard_when_ended, args=(folder,), name="penstock-discard", daemon=True
                ).start()

    def close(self) -> None:
        self.sessions.close()


class _Attempt:
    """One attempt of one task."""

    def __init__(self, request: Request, services: Services, sessions: Sessions, listeners: Sequence[Listener]) -> None:
        self.request, self.services, self.sessions, self.listeners = request, services, sessions, listeners
        self.arguments = TaskArguments(request)
        self.folder = folder_of(services, request, request.attempt)
        self.session = self.folder.name
        self.stopped = ""
        self.command: Path | None = None  # the session of a criterion that is being checked
        self.setup: Setup | None = None
        self.stream: SessionStream | None = None
        self._grace: asyncio.TimerHandle | None = None
        self._ended_alone = False  # while no engine was there

    def stop(self, why: str) -> bool:
        """False: nothing has begun."""
        self.stopped = self.stopped or why
        if self.command is not None:
            self.sessions.stop(self.command, why)
        begun = standing_of(self.folder) != "absent"
        if begun or self.setup is not None:
            self.sessions.stop(self.folder, why)
        return begun

    async def run(self) -> Outcome:
        record = read_record(self.folder)
        if record is not None:
            return self._again(record)
        if self.request.again and self._never_began():
            return self._ended(Returned(LOST))
        self._ended_alone = self.request.again and standing_of(self.folder) == "ended"
        try:
            self.setup = setup = await in_thread(prepare, self.request, self.services, self.arguments, self.folder)
            if self.stopped and standing_of(self.folder) == "absent":
                return self._ended(failed("STOPPED", "cancelled", "it was stopped before it began"))
            end = await self._session(setup)
            return await self._outcome(setup, end)
        except AttemptFailed as problem:
            return self._ended(failed(problem.code, problem.category, str(problem), self._known()))
        finally:
            if self._grace is not None:
                self._grace.cancel()

    def _never_began(self) -> bool:
        """T-9.2.3, T-X.25: whether anything begins after a restart, somebody says first. A supervisor that was started
        just before its engine was killed finds that it is to stop."""
        if standing_of(self.folder) == "absent":
            self.sessions.stop(self.folder, LOST)
        return standing_of(self.folder) == "absent"

    # -- while it runs -------------------------------------------------------------------------------------------------

    async def _session(self, setup: Setup) -> SessionEnd:
        arguments, request = self.arguments, self.request
        about = SessionEvent(
            kind="started", session=self.session, run=request.run, tenant=request.tenant, project=arguments.project_id,
            task=arguments.task_id, agent=arguments.agent_name, at=request.at,
        )  # fmt: skip
        self.stream = stream = SessionStream(
            setup.shape, self.folder, about, self.listeners, secrets=setup.secrets, budget=arguments.budget,
            over=lambda what: self.sessions.stop(self.folder, BUDGET), erred=self._let_end,
        )  # fmt: skip
        spec = SessionSpec(
            command=setup.argv, folder=self.folder, cwd=setup.cwd, stdin=setup.prompt, env=setup.env,
            writable=setup.writable, timeout_s=arguments.limit("timeout_s", 3600),
            heartbeat_s=arguments.limit("heartbeat_s", 300), term_s=arguments.limit("term_s", 30),
            kill_s=arguments.limit("kill_s", 10),
        )  # fmt: skip
        watch = asyncio.ensure_future(self._watch(stream))
        try:
            end = await self.sessions.run(spec, stream.feed)
        except OSError as error:
            why = f"the session cannot be kept: {error.strerror or error}"
            raise AttemptFailed("STORE_NOT_WRITABLE", "fatal", why) from None
        finally:
            watch.cancel()
            stream.close()
        stream.tell_started(read_state(self.folder))
        return end

    async def _watch(self, stream: SessionStream) -> None:
        """Tells when the process is there, and that it lives."""
        while not stream.tell_started(state := read_state(self.folder)):
            await asyncio.sleep(_LOOK_S)
        while True:
            stream.beat(state)
            await asyncio.sleep(_BEAT_S)
            state = read_state(self.folder)

    def _let_end(self) -> None:
        """T-X.16: an error ends the attempt. It may say more and leave by itself; what stays is stopped."""
        if self._grace is None:
            wait = self.arguments.limit("term_s", 30)
            loop = asyncio.get_running_loop()
            self._grace = loop.call_later(wait, self.sessions.stop, self.folder, STREAM_ERROR)

    # -- when it has ended ---------------------------------------------------------------------------------------------

    async def _outcome(self, setup: Setup, end: SessionEnd) -> Outcome:
        assert self.stream is not None
        summary, body = self.stream.summary, self._body(setup, end)
        if end.kind == "lost":
            return self._ended(Returned(LOST), int(summary.percent))
        if end.kind == "stopped":
            return await self._when_stopped(end, body)
        if end.not_found:
            why = f"there is no command «{setup.argv[0][:200]}»"
            return self._fail("COMMAND_NOT_FOUND", "fatal", why, end, body)
        if end.cwd_missing:
            return self._fail("PROJECT_MISSING", "fatal", f"there is no folder «{str(setup.cwd)[:300]}»", end, body)
        crashed = end.kind in ("signalled", "zombie")
        if crashed and self._ended_alone:  # T-X.20: what a restart finds dead is pending again, whatever its progress
            return self._ended(Returned(LOST), int(summary.percent))
        code = 0 if end.kind == "exited" and end.exit_code == 0 else None
        trusted = self.arguments.trusted and (code == 0 or crashed)
        completion = await analyse(
            self.arguments.criteria, summary, folder=setup.cwd, exit_code=code,
            run_command=self._run_command if trusted else None,
        )  # fmt: skip
        body |= _analysed(completion)
        if crashed:
            return await self._crashed(setup, end, completion, body)
        if summary.has_error:
            code_, category = ("STREAM_FATAL", "fatal") if summary.fatal else ("STREAM_ERROR", "external")
            return self._fail(code_, category, self.stream.scrubbed(summary.error), end, body)
        if end.kind == "timeout":
            took = f"timeout: it took longer than {self.arguments.limit('timeout_s', 3600):g} s"
            return self._fail("TIMEOUT", "timeout", took, end, body)
        if code != 0:
            why = f"it ended with the exit code {end.exit_code}: {self._said_last()}"
            return self._fail("EXIT_CODE", "external", why, end, body)
        return await self._done(setup, completion, body)

    async def _when_stopped(self, end: SessionEnd, body: dict[str, Any]) -> Outcome:
        why = self.stopped or end.why
        summary = self.stream.summary if self.stream is not None else None
        if why == BUDGET and summary is not None:
            over = self.arguments.budget.exceeded(summary) or "the budget"
            return self._fail("BUDGET_EXCEEDED", "permanent", f"the budget is exceeded: {over}", end, body)
        if why == STREAM_ERROR and summary is not None and summary.has_error:
            code, category = ("STREAM_FATAL", "fatal") if summary.fatal else ("STREAM_ERROR", "external")
            return self._fail(code, category, self._scrubbed(summary.error), end, body)
        if why in ("put_back", LOST):
            return self._ended(Returned(why), body["progress"])
        if self.setup is not None and self.setup.worktree is not None:
            await in_thread(worktrees.remove_worktree, self.setup.worktree)
            body |= {"worktree": None, "branch": None}
        return self._fail("STOPPED", "cancelled", "cancelled", end, body)

    async def _crashed(self, setup: Setup, end: SessionEnd, completion: Completion, body: dict[str, Any]) -> Outcome:
        """T-8.1, T-X.20: by progress."""
        what = after_crash(completion.progress, int(self.arguments.limit("recovery_complete_at", RECOVERY_COMPLETE_AT)))
        if what == "complete":
            body |= {"completed_by_recovery": True, "log_tail": self._log_tail()}
            return await self._done(setup, completion, body, [f"completed after crash at {completion.progress}%"])
        if end.kind == "zombie":
            code, why = "AGENT_ZOMBIE", "it gave no sign of life and was ended"
        else:
            code, why = "AGENT_CRASHED", f"it was killed by the signal {end.signal}"
        return self._fail(code, "transient", f"{why}, at {completion.progress} %", end, body, what == "resume")

    async def _done(
        self, setup: Setup, completion: Completion, body: dict[str, Any], remarks: Sequence[str] = ()
    ) -> Outcome:
        assert self.stream is not None
        summary, notes, merged = self.stream.summary, list(remarks), False
        if over := self.arguments.budget.exceeded(summary):
            notes.append(f"The budget was exceeded at its end: {over}.")
        if setup.worktree is not None:
            try:
                change, end = await in_thread(self._change, setup.worktree, completion, body["completed_by_recovery"])
            except GitFailed as problem:
                raise AttemptFailed("WORKTREE", "transient", str(problem)) from None
            body |= {"merge": end.merge, "diff_stat": change.stat, "diff_ref": DIFF}
            merged = end.merge in ("merged", "none")
            if end.merge == "conflict":
                body["confidence"] = 0  # a person looks at it
                body["completed_by_recovery"] = False
                notes.append(f"It could not be merged: {end.note}.")
            if merged:
                body |= {"worktree": None, "branch": None}
        body["review_notes"] = self._scrubbed(review_notes(completion, summary, notes))
        outcome = self._ended(Done(body), completion.progress, completion.matched)
        if merged and setup.worktree is not None:
            await in_thread(worktrees.remove_worktree, setup.worktree)
        return outcome

    def _change(self, worktree: worktrees.Worktree, completion: Completion, recovered: bool) -> tuple[Change, Any]:
        """Blocks. Commits; merges where the rule says so and the completion is sure."""
        task, title = self.arguments.task_id, str(self.arguments.task.get("title") or self.arguments.task_id)
        message = f"{title}\n\nTask: {task}\nAgent: {self.arguments.agent_name}\nSession: {self.session}\n"
        change = worktrees.commit_changes(worktree, message, self.folder / DIFF, self.arguments.never_in_diff)
        if change.commit is None:
            return change, worktrees.MergeEnd("none")
        sure = recovered or completion.confidence >= self.arguments.limit("review_below", REVIEW_BELOW)
        if self.arguments.merge_rule != "auto" or not sure:
            return change, worktrees.MergeEnd("kept")
        return change, worktrees.merge(worktree, f"Merge the task {task}: {title}")

    async def _run_command(self, no: int, argv: Sequence[str]) -> CommandEnd:
        """T-X.13, under the same supervision as the agent: nothing that it starts is left."""
        assert self.setup is not None
        self.command = self.folder / "criteria" / f"{self.session}-{no}"
        spec = SessionSpec(
            command=argv, folder=self.command, cwd=self.setup.cwd, env=base_environment(),
            writable=self.setup.writable, timeout_s=self.arguments.criterion_s, heartbeat_s=None,
            term_s=min(self.arguments.limit("term_s", 30), 5), kill_s=self.arguments.limit("kill_s", 10),
        )  # fmt: skip
        try:
            end = await self.sessions.run(spec, lambda chunk: None)
        except OSError as error:
            return CommandEnd(None, f"it could not be run: {error.strerror or error}")
        finally:
            self.command = None
        if end.not_found:
            return CommandEnd(None, "there is no such command")
        words = {"timeout": f"it took longer than {self.arguments.criterion_s:g} s", "exited": ""}
        return CommandEnd(end.exit_code if end.kind == "exited" else None, words.get(end.kind, f"it was {end.kind}"))

    # -- what is handed back -------------------------------------------------------------------------------------------

    def _known(self) -> dict[str, Any]:
        """Of an attempt whose program has not run."""
        return {"session": self.session, "task": self.arguments.task_id, "agent": self.arguments.agent_name,
                "attempt": self.request.attempt, "resume": False, "kill_failed": False}  # fmt: skip

    def _body(self, setup: Setup, end: SessionEnd) -> dict[str, Any]:
        assert self.stream is not None
        summary, tree = self.stream.summary, setup.worktree
        return {
            **self._known(), "pid": end.pid, "pid_started_at": end.pid_started_at, "started_at": end.started_at,
            "completed_at": end.ended_at, "exit_code": end.exit_code, "progress": min(int(summary.percent), 100),
            "confidence": 0, "matched": [], "criteria": [], "result": _cut(self._scrubbed(summary.result)),
            "review_notes": "", "tokens_in": summary.tokens_in, "tokens_out": summary.tokens_out,
            "cost_usd": round(summary.cost_usd, 6), "completed_by_recovery": False,
            "worktree": None if tree is None else tree.path, "branch": None if tree is None else tree.branch,
            "diff_ref": None, "diff_stat": {"files": 0, "added": 0, "removed": 0}, "merge": "none",
            "log_ref": session_files.OUT, "landlock": end.landlock, "raw_lines": summary.raw_lines,
            "resume": setup.resume, "kill_failed": end.kill_failed,
        }  # fmt: skip

    def _fail(
        self, code: str, category: str, message: str, end: SessionEnd, body: dict[str, Any], resume: bool = False
    ) -> Outcome:
        tail = self._log_tail()
        detail = {**body, "resume": resume, "log_tail": tail, "diagnostics": dict(end.diagnostics)}
        if body["merge"] == "none" and body["worktree"] is not None:
            detail["merge"] = "kept"
        outcome = failed(code, category, message, detail)
        return self._ended(outcome, body["progress"], body["matched"], resume=resume, log_tail=tail)

    def _ended(
        self,
        outcome: Outcome,
        progress: int = 0,
        matched: Sequence[str] = (),
        *,
        resume: bool = False,
        log_tail: str = "",
    ) -> Outcome:
        """On record before anybody hears of it: the same question once more gets the same answer."""
        code = outcome.failure.code if isinstance(outcome, Failed) else ""
        kind: Ending = (
            "done" if isinstance(outcome, Done) else "returned" if isinstance(outcome, Returned) else "failed"
        )
        record = AttemptRecord(
            outcome=kind, body=outcome.body if isinstance(outcome, Done) else None,
            failure=outcome.failure if isinstance(outcome, Failed) else None,
            reason=outcome.reason if isinstance(outcome, Returned) else "", resume=resume, progress=progress,
            matched=list(matched), log_tail=log_tail,
        )  # fmt: skip
        if self.folder.is_dir():
            with contextlib.suppress(OSError):
                write_file(self.folder / RECORD, record)
                shutil.rmtree(self.folder / session_files.TEMPORARY, ignore_errors=True)
        if self.stream is not None:
            self.stream.tell("ended", {"outcome": kind, "code": code, "progress": progress})
        return outcome

    def _again(self, record: AttemptRecord) -> Outcome:
        if record.outcome == "done":
            return Done(record.body)
        if record.outcome == "returned" or record.failure is None:
            return Returned(record.reason)
        return Failed(record.failure)

    def _log_tail(self) -> str:
        """The end of what it has said, and of its error output."""
        said = self.stream.summary.said[-TAIL_BYTES:] if self.stream is not None else ""
        errors = tail_of(self.folder / session_files.ERR, TAIL_BYTES // 2)
        return self._scrubbed("\n".join(part for part in (said, errors) if part))[-TAIL_BYTES:]

    def _said_last(self) -> str:
        last = self._log_tail().strip().rpartition("\n")[2]
        return last[-500:] or "it says nothing"

    def _scrubbed(self, text: str) -> str:
        return text if self.stream is None else self.stream.scrubbed(text)


def _analysed(completion: Completion) -> dict[str, Any]:
    criteria = [{"text": c.text, "matched": c.matched, "how": c.how} for c in completion.criteria]
    return {"progress": completion.progress, "confidence": completion.confidence, "matched": completion.matched,
            "criteria": criteria}  # fmt: skip


def _cut(text: str) -> str:
    """To so many bytes, as they are stored."""
    return text.encode()[:RESULT_BYTES].decode(errors="ignore")
