"""Agents' programs doing tasks: real processes, real signals, real git."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.executors import BUILTIN
from penstock.executors.cli_agent import CliAgentExecutor, SessionEvent
from penstock.executors.contract import Done, Failed, Outcome, Request, Returned, Services, Stoppable
from penstock.executors.parts.agent_streams import read_events
from penstock.executors.parts.files.path_policy import PathPolicy
from penstock.executors.parts.sessions import landlock, process_tree, session_files
from penstock.executors.parts.sessions.session import SessionSpec, read_state, session_mark
from penstock.executors.parts.sessions.session_id import session_id
from penstock.executors.parts.sessions.sessions import Sessions
from penstock.executors.parts.tasks.attempt_setup import AttemptFailed, command_of
from penstock.executors.parts.tasks.worktrees import merge, remove_worktree, worktree_of
from penstock.kernel.failure import Failure
from tests.executors import scripted_agent
from tests.executors.git_project import GitProject
from tests.executors.session_bench import until
from tests.servers.processes import mark

SCRIPT = str(scripted_agent.__file__)
QUICK = {"timeout_s": 60, "heartbeat_s": 60, "term_s": 1, "kill_s": 5}


class OneTask:
    """One task of one project, attempt by attempt; each engine is an executor of its own."""

    def __init__(self, root: Path) -> None:
        self.root, self.project = root, GitProject(root / "project")
        self.args: dict[str, Any] = {
            "project": str(self.project.path), "project_id": "p1", "trusted": True,
            "task": {"id": "t1", "title": "First", "description": "Do it.", "success_criteria": []},
            "agent": {"name": "coder"}, "limits": dict(QUICK),
        }  # fmt: skip
        self.settings: dict[str, Any] = {}
        self.events: list[SessionEvent] = []
        self.executor = self.engine()

    def engine(self) -> CliAgentExecutor:
        executor = BUILTIN["cli_agent"]()
        assert isinstance(executor, CliAgentExecutor)
        executor.listeners.append(self.events.append)
        executor.sessions = Sessions(environment=mark())
        return executor

    @property
    def services(self) -> Services:
        return Services(output_dir=self.root / "out", input_dir=self.root / "in", settings=self.settings)

    def request(self, attempt: int = 1) -> Request:
        return Request(
            key="t/r1/t1/0/1", tenant="t", run="r1", node="t1", executor="cli_agent", args=self.args, attempt=attempt,
            place="coder", at=1_700_000_000_000,
        )  # fmt: skip

    def folder(self, attempt: int = 1) -> Path:
        return self.root / "out/sessions/r1" / session_id("t/r1/t1/0/1", attempt)

    def script(self, *steps: dict[str, Any], shape: str = "seed", **more: Any) -> None:
        scenario = json.dumps({"shape": shape, "steps": steps, **more})
        self.args["agent"]["command"] = [sys.executable, "-S", SCRIPT, scenario]
        self.args["agent"]["preset"] = {"text": "shell", "seed": "claude"}.get(shape, shape)

    def run(self, attempt: int = 1) -> Outcome:
        return asyncio.run(self.executor.run(self.request(attempt), self.services))

    def done(self, attempt: int = 1) -> dict[str, Any]:
        outcome = self.run(attempt)
        assert isinstance(outcome, Done), outcome
        body: dict[str, Any] = outcome.body
        return body

    def failed(self, attempt: int = 1) -> Failure:
        outcome = self.run(attempt)
        assert isinstance(outcome, Failed), outcome
        return outcome.failure

    def names(self) -> list[str]:
        return [event.name for event in self.events if event.name]


@pytest.fixture
def plan(tmp_path: Path) -> Iterator[OneTask]:
    """Nothing that was started is left, however the task ended."""
    made = OneTask(tmp_path)
    yield made
    folders = [file.parent for file in tmp_path.glob(f"out/sessions/**/{session_files.CLAIM}")]
    assert not [folder.name for folder in folders if process_tree.marked(session_mark(folder))]


INIT, RESULT = {"init": True}, {"result": "All is done.\n[x] It works"}


@pytest.mark.parametrize("shape", ["seed", "claude", "gemini", "codex", "text"])
def test_a_task_is_done_in_every_shape(plan: OneTask, shape: str) -> None:
    """T-A.1, T-3.2.1, T-3.2.2, T-5.1.7, T-X.12: pid and times, review notes, criteria; the files come back."""
    plan.args["task"]["success_criteria"] = ["It works", {"file_exists": "new.txt"}, {"command": "grep -q new new.txt"}]
    plan.script(INIT, {"say": "I begin"}, {"edit": {"new.txt": "new\n"}}, {"tool": "ls"}, RESULT, shape=shape)
    body = plan.done()
    told = shape != "text"
    assert (body["exit_code"], body["progress"], body["confidence"]) == (0, 100, 100 if told else 80)
    assert body["matched"] == ["It works", "new.txt", "grep -q new new.txt"]
    assert [criterion["how"] for criterion in body["criteria"]] == [
        "the agent says so", "the file is there", "exit code 0",
    ]  # fmt: skip
    assert body["pid"] > 0
    assert 0 < body["started_at"] <= body["completed_at"]
    assert body["review_notes"].startswith("3 of 3 success criteria are met.")
    assert (body["session"], body["task"], body["agent"]) == (plan.folder().name, "t1", "coder")
    assert (body["merge"], body["diff_stat"]) == ("merged", {"files": 1, "added": 1, "removed": 0})
    assert "+new" in (plan.folder() / body["diff_ref"]).read_text()
    assert (plan.project.path / "new.txt").read_text() == "new\n"
    assert (plan.project.branches(), plan.project.worktrees(), body["worktree"]) == (["main"], 0, None)
    if told:
        assert (body["tokens_in"], body["tokens_out"]) == (100, 20)
        assert body["result"] == "All is done.\n[x] It works"


def test_events_come_in_order_and_a_bad_line_stops_nothing(plan: OneTask) -> None:
    """T-A.21, T-10.2.2, T-10.2.3, T-10.2.5, T-X.23, T-R.9: and all of it can be read afterwards."""
    plan.script(INIT, {"say": "one"}, {"raw": "no json\n"}, {"tool": "ls"}, {"progress": 30}, {"result": "end"})
    plan.done()
    assert plan.names() == ["claude:started", *["claude:stream"] * 4, "claude:complete"]
    kinds = [event.kind for event in plan.events if event.kind != "heartbeat"]
    assert kinds == ["started", "stream", "stream", "stream", "stream", "progress", "complete", "ended"]
    first, last = plan.events[0], plan.events[-1]
    assert first.data["pid"] == read_state(plan.folder()).pid
    assert (first.session, first.run, first.tenant) == (plan.folder().name, "r1", "t")
    assert (first.project, first.task, first.agent) == ("p1", "t1", "coder")
    assert last.data == {"outcome": "done", "code": "", "progress": 30}
    lines = read_events(plan.folder())
    assert [line.kind for line in lines] == ["started", "message", "raw", "tool", "progress", "result"]
    assert lines[2].text == "no json"


def _broken_listener(event: SessionEvent) -> None:
    raise RuntimeError("a listener that fails")


def test_a_program_that_never_says_that_it_began(plan: OneTask) -> None:
    """T-10.2.2: it has started all the same, and listeners hear of that first, and once."""
    plan.script({"say": "one"}, {"say": "two"}, shape="text")
    plan.executor.listeners.insert(0, _broken_listener)
    plan.done()
    assert plan.names() == ["claude:started", "claude:stream", "claude:stream"]


def test_what_is_doubtful_waits_for_a_person(plan: OneTask) -> None:
    """T-5.1.8, T-X.14, T-A.7: 70 is not merged; a person merges it, and nothing is left."""
    texts = [f"c{no}" for no in range(10)]
    plan.args["task"]["success_criteria"] = texts
    plan.script({"edit": {"b.txt": "b\n"}}, {"result": "\n".join(f"[x] {text}" for text in texts[:7])})
    body = plan.done()
    assert (body["confidence"], body["merge"], body["completed_by_recovery"]) == (70, "kept", False)
    assert Path(body["worktree"]).is_dir()
    assert body["branch"] in plan.project.branches()
    assert not (plan.project.path / "b.txt").exists()
    worktree = worktree_of(plan.folder())
    assert worktree is not None
    assert merge(worktree, "approved").merge == "merged"
    remove_worktree(worktree)
    assert (plan.project.path / "b.txt").exists()
    assert (plan.project.branches(), plan.project.worktrees()) == (["main"], 0)


def test_80_is_enough_and_the_border_can_be_moved(plan: OneTask) -> None:
    """T-A.8, T-X.14."""
    plan.args["task"]["success_criteria"] = ["a", "b", "c", "d", "e"]
    plan.script({"edit": {"b.txt": "b\n"}}, {"result": "[x] a\n[x] b\n[x] c\n[x] d"})
    assert (body := plan.done())["merge"] == "merged", body
    plan.args["limits"]["review_below"] = 81
    plan.script({"edit": {"c.txt": "c\n"}}, {"result": "[x] a\n[x] b\n[x] c\n[x] d"})
    assert plan.done(attempt=2)["merge"] == "kept"


@pytest.mark.parametrize("rule", ["review", "keep"])
def test_rules_that_leave_merging_to_a_person(plan: OneTask, rule: str) -> None:
    plan.args["limits"]["merge"] = rule
    plan.script({"edit": {"b.txt": "b\n"}}, {"result": "ok"})
    body = plan.done()
    assert (body["confidence"], body["merge"]) == (100, "kept")
    assert not (plan.project.path / "b.txt").exists()


def test_a_conflict_is_for_a_person(plan: OneTask) -> None:
    """T-X.14: confidence 0 and a note."""
    line = f"cd {plan.project.path} && echo person > a.txt && git -c user.name=p -c user.email=p@x commit -qam p"
    plan.settings["agents.writable"] = [str(plan.project.path)]
    plan.script({"edit": {"a.txt": "agent\n"}}, {"shell": line}, {"result": "ok"})
    body = plan.done()
    assert (body["confidence"], body["merge"]) == (0, "conflict")
    assert "It could not be merged: conflicts in a.txt." in body["review_notes"]
    assert (plan.project.path / "a.txt").read_text() == "person\n"


def test_sent_back_by_a_reviewer(plan: OneTask) -> None:
    """T-X.14: the comment is an instruction, and the next attempt goes on with what is there."""
    plan.args["task"]["success_criteria"] = ["It works"]
    plan.script({"edit": {"b.txt": "b\n"}}, {"result": "no"})
    assert plan.done()["merge"] == "kept"
    plan.args["feedback"] = "Please name it c.txt."
    plan.script({"prompt": "prompt.txt"}, {"shell": "mv b.txt c.txt"}, {"result": "[x] It works"})
    body = plan.done(attempt=2)
    assert (body["merge"], body["diff_stat"]["files"]) == ("merged", 2)
    assert "Please name it c.txt." in (plan.project.path / "prompt.txt").read_text()
    assert (plan.project.path / "c.txt").exists()


# -- failures ----------------------------------------------------------------------------------------------------------


def test_an_exit_code_is_a_failure_that_is_retried(plan: OneTask) -> None:
    """T-3.2.3, T-5.1.11, T-X.15: the next attempt starts clean; at last nothing of the first is left."""
    plan.script({"edit": {"b.txt": "b\n"}}, {"progress": 50}, {"result": "ok"}, {"stderr": "oh no\n"}, {"exit": 3})
    failure = plan.failed()
    assert (failure.code, failure.category) == ("EXIT_CODE", "external")
    assert "exit code 3: oh no" in failure.message
    detail = failure.detail
    assert (detail["exit_code"], detail["progress"], detail["confidence"], detail["resume"]) == (3, 50, 0, False)
    assert detail["log_tail"].endswith("oh no\n")
    assert plan.events[-1].data["code"] == "EXIT_CODE"
    plan.script({"shell": "test ! -e b.txt"}, {"edit": {"c.txt": "c\n"}}, {"result": "ok"})
    body = plan.done(attempt=2)
    assert (body["merge"], body["attempt"], body["resume"]) == ("merged", 2, False)
    assert (plan.project.branches(), plan.project.worktrees()) == (["main"], 0)


@pytest.mark.parametrize("code", [0, 1])
def test_temporary_files_go_and_logs_stay(plan: OneTask, code: int) -> None:
    """T-3.3.1: completed or failed."""
    plan.script({"shell": "echo x > $TMPDIR/x; echo $TMPDIR"}, {"stderr": "log\n"}, {"exit": code}, shape="text")
    plan.run()
    temporary = Path((plan.folder() / session_files.OUT).read_text().strip())
    assert temporary.is_relative_to(plan.folder())
    assert not temporary.exists()
    assert (plan.folder() / session_files.ERR).read_text() == "log\n"
    assert len(read_events(plan.folder())) == 1


@pytest.mark.parametrize("percent", [80, 85])
def test_a_crash_near_the_end_completes(plan: OneTask, percent: int) -> None:
    """T-A.9, T-8.1.2, T-8.1.3, T-X.20: with notes, and its files are merged."""
    plan.script({"edit": {"b.txt": "b\n"}}, {"say": "nearly there"}, {"progress": percent}, {"die": "KILL"})
    body = plan.done()
    assert body["log_tail"] == "nearly there"
    assert (body["completed_by_recovery"], body["progress"], body["exit_code"]) == (True, percent, None)
    assert body["review_notes"].startswith(f"completed after crash at {percent}%")
    assert body["merge"] == "merged"


@pytest.mark.parametrize("percent", [20, 50, 79])
def test_a_crash_in_the_middle_is_resumed(plan: OneTask, percent: int) -> None:
    """T-A.10, T-8.1.4, T-X.21: the next attempt has the log's end, what was met, and the files."""
    plan.args["task"]["success_criteria"] = ["It works", "b", "c", "d", "e", "f", "g"]
    plan.script(
        {"edit": {"b.txt": "b\n"}}, {"say": "[x] It works"}, {"say": "half way"}, {"progress": percent}, {"die": "KILL"}
    )
    failure = plan.failed()
    assert (failure.code, failure.category, failure.detail["resume"]) == ("AGENT_CRASHED", "transient", True)
    assert (failure.detail["progress"], failure.detail["matched"]) == (percent, ["It works"])
    plan.script({"prompt": "prompt.txt"}, {"shell": "test -e b.txt"}, {"result": "ok"})
    body = plan.done(attempt=2)
    assert (body["resume"], body["worktree"]) == (True, failure.detail["worktree"])
    prompt = (Path(body["worktree"]) / "prompt.txt").read_text()
    for part in (f"interrupted at {percent} %", "- It works", "half way"):
        assert part in prompt


def test_a_crash_at_the_beginning_starts_clean(plan: OneTask) -> None:
    """T-A.10, T-8.1.5, T-X.21: nothing of the first session is left but its log."""
    plan.script({"edit": {"b.txt": "b\n"}}, {"progress": 19}, {"die": "SEGV"})
    failure = plan.failed()
    assert (failure.code, failure.detail["resume"]) == ("AGENT_CRASHED", False)
    plan.script({"prompt": "prompt.txt"}, {"shell": "test ! -e b.txt"}, {"result": "ok"})
    body = plan.done(attempt=2)
    assert body["resume"] is False
    assert "interrupted" not in (plan.project.path / "prompt.txt").read_text()
    assert not Path(failure.detail["worktree"]).exists()
    assert (plan.folder(1) / session_files.OUT).exists()


def test_recovery_that_never_completes(plan: OneTask) -> None:
    """T-X.20: recovery.complete_at 101."""
    plan.args["limits"]["recovery_complete_at"] = 101
    plan.script({"progress": 100}, {"die": "KILL"})
    assert plan.failed().detail["resume"] is True


def test_a_zombie_is_ended(plan: OneTask) -> None:
    """T-A.11, T-8.2.1, T-8.2.3, T-8.2.4, T-8.2.6, T-X.7: with diagnostics."""
    plan.args["limits"] |= {"heartbeat_s": 5, "term_s": 0.5}
    plan.script({"ignore": ["TERM"]}, {"progress": 40}, {"hang": True})
    failure = plan.failed()
    assert (failure.code, failure.category, failure.detail["resume"]) == ("AGENT_ZOMBIE", "transient", True)
    assert failure.detail["diagnostics"]
    assert failure.detail["kill_failed"] is False


def test_a_timeout(plan: OneTask) -> None:
    """T-A.12, T-3.2.4, T-X.19: failed with the error timeout, whatever the progress."""
    plan.args["limits"]["timeout_s"] = 0.5
    plan.script({"progress": 90}, {"hang": True})
    failure = plan.failed()
    assert (failure.code, failure.category) == ("TIMEOUT", "timeout")
    assert failure.message.startswith("timeout")


def test_a_stream_error_ends_the_attempt(plan: OneTask) -> None:
    """T-X.16, T-10.2.6: also of a program that stays, or that exits with 0."""
    plan.args["limits"]["term_s"] = 0.2
    plan.script(INIT, {"error": "quota"}, {"say": "more"}, {"hang": True})
    failure = plan.failed()
    assert (failure.code, failure.category, failure.message) == ("STREAM_ERROR", "external", "quota")
    assert plan.names() == ["claude:started", "claude:error", "claude:stream"]
    plan.script({"error": "quota"}, {"result": "ok"})
    assert plan.failed(attempt=2).code == "STREAM_ERROR"
    plan.script({"error": "no disk", "fatal": True})
    failure = plan.failed(attempt=3)
    assert (failure.code, failure.category) == ("STREAM_FATAL", "fatal")


def test_what_cannot_start_is_fatal(plan: OneTask) -> None:
    """T-X.18: no command, no project, no store."""
    plan.args["agent"] = {"name": "coder", "command": "no-such-program-here --x"}
    failure = plan.failed()
    assert (failure.code, failure.category) == ("COMMAND_NOT_FOUND", "fatal")
    for attempt, path in enumerate([str(plan.root / "gone"), "", "tests"], start=2):
        plan.args["project"] = path
        failure = plan.failed(attempt)
        assert (failure.code, failure.category) == ("PROJECT_MISSING", "fatal")
    plan.args["project"] = str(plan.project.path)
    (plan.root / "blocked").write_text("")
    services = Services(output_dir=plan.root / "blocked", input_dir=plan.root)
    outcome = asyncio.run(plan.executor.run(plan.request(9), services))
    assert isinstance(outcome, Failed)
    assert (outcome.failure.code, outcome.failure.category) == ("STORE_NOT_WRITABLE", "fatal")


@pytest.mark.parametrize("agent", [{"preset": "hal"}, {"preset": "shell"}, {"command": "'"}, {"command": [1]}])
def test_agents_without_a_command(agent: dict[str, Any]) -> None:
    with pytest.raises(AttemptFailed) as raised:
        command_of(agent)
    assert (raised.value.code, raised.value.category) == ("COMMAND_NOT_FOUND", "fatal")


def test_presets() -> None:
    """T-X.12: Claude by default; an own command wins, and says by its name how it is read."""
    assert command_of({})[0] == ("claude", "-p", "--output-format", "stream-json", "--verbose")
    assert command_of({"preset": "gemini"})[0][:3] == ("gemini", "--output-format", "stream-json")
    assert command_of({"preset": "codex"})[0][:3] == ("codex", "exec", "--json")
    argv, shape = command_of({"command": "/opt/bin/codex exec --json 'a b'"})
    assert (argv, shape.name) == (("/opt/bin/codex", "exec", "--json", "a b"), "codex")
    assert command_of({"command": ["./agent.sh"], "preset": "shell"})[1].name == "shell"
    assert command_of({"command": ["./agent.sh"]})[1].name == "claude"


def test_a_budget_stops(plan: OneTask) -> None:
    """Tokens while it runs; what is known only at the end is a remark."""
    plan.args["limits"]["budget"] = {"tokens": 1000, "cost_usd": 0.5}
    plan.script(INIT, {"usage": [900, 101]}, {"say": "expensive"}, {"hang": True}, shape="claude")
    failure = plan.failed()
    assert (failure.code, failure.category) == ("BUDGET_EXCEEDED", "permanent")
    assert failure.message == "the budget is exceeded: 1001 tokens of 1000"
    assert failure.detail["tokens_in"] == 900
    plan.script({"result": "ok", "cost": 0.6}, shape="claude")
    body = plan.done(attempt=2)
    assert body["cost_usd"] == 0.6
    assert "The budget was exceeded at its end: 0.6000 USD of 0.5." in body["review_notes"]


def test_criteria_commands_are_limited(plan: OneTask) -> None:
    """T-X.13: in the worktree, without a shell, ended with all that they start; not run without trust."""
    plan.args["limits"] |= {"criterion_timeout_s": 0.5}
    line = "sh -c 'echo ran > ran.txt; setsid sleep 600 & sleep 600'"
    plan.args["task"]["success_criteria"] = [{"command": line}, {"command": "no-such-program-here"}]
    plan.script({"result": "ok"})
    body = plan.done()
    assert [criterion["how"] for criterion in body["criteria"]] == [
        "it took longer than 0.5 s", "there is no such command",
    ]  # fmt: skip
    plan.args["trusted"] = False
    body = plan.done(attempt=2)
    assert {criterion["how"] for criterion in body["criteria"]} == {"not run: the project is not trusted"}


# -- what it sees and may touch ----------------------------------------------------------------------------------------


def test_the_environment_is_an_allow_list(plan: OneTask, monkeypatch: pytest.MonkeyPatch) -> None:
    """T-X.12: secrets by name, never on the command line, in no transcript, no failure; nothing of the server's."""
    monkeypatch.setenv("MODEL_KEY", "sk-very-secret-value")
    monkeypatch.setenv("OTHER_KEY", "other")
    monkeypatch.setenv("PENSTOCK_SECRET_KEY", "the server's")
    plan.args["agent"]["env"] = ["MODEL_KEY", "PENSTOCK_SECRET_KEY"]
    plan.script({"environ": "env.json"}, {"say": "the key is sk-very-secret-value"}, {"result": "ok"})
    plan.done()
    seen = json.loads((plan.project.path / "env.json").read_text())
    assert (seen["MODEL_KEY"], seen["PENSTOCK_TASK"], seen["PENSTOCK_ATTEMPT"]) == ("sk-very-secret-value", "t1", "1")
    assert (seen["PENSTOCK_AGENT"], seen["PENSTOCK_PROJECT"]) == ("coder", str(plan.project.path))
    assert "OTHER_KEY" not in seen
    assert "PENSTOCK_SECRET_KEY" not in seen
    assert read_events(plan.folder())[0].text == "the key is ***"
    assert "very-secret" not in str(plan.events)
    plan.script({"stderr": "bad key sk-very-secret-value\n"}, {"exit": 1})
    assert "very-secret" not in str(plan.failed(attempt=2))


def test_only_its_worktree_is_writable(plan: OneTask) -> None:
    """Landlock; git's settings and hooks are not the agent's, its commits are."""
    outside = [plan.project.path / "x.txt", plan.root / "x.txt", plan.project.path / ".git/config",
               plan.project.path / ".git/hooks/post-commit"]  # fmt: skip
    line = "git add -A && git -c user.name=a -c user.email=a@x commit -qm mine"
    plan.script(
        *({"try_write": str(path)} for path in outside), {"edit": {"b.txt": "b\n"}}, {"shell": line}, {"result": "ok"}
    )
    body = plan.done()
    assert body["landlock"] is (landlock.version() > 0)
    assert body["merge"] == "merged"
    assert "mine" in plan.project.git("log", "--format=%s")
    if body["landlock"]:
        texts = [line.text for line in read_events(plan.folder()) if line.kind == "message"]
        assert texts == [f"PermissionError {path}" for path in outside]


def test_a_project_without_git_is_worked_in_itself(plan: OneTask) -> None:
    """No worktree, no diff."""
    plain = plan.root / "plain"
    plain.mkdir()
    plan.args["project"] = str(plain)
    plan.script({"edit": {"b.txt": "b\n"}}, {"result": "ok"})
    body = plan.done()
    assert (body["merge"], body["worktree"], body["branch"], body["diff_ref"]) == ("none", None, None, None)
    assert (plain / "b.txt").exists()


def test_the_prompt_comes_by_stdin(plan: OneTask) -> None:
    """T-X.12, T-5.2.7: and not on the command line."""
    plan.args["task"] |= {"description": "The secret recipe.", "references": ["a.txt", "../out"]}
    plan.script({"prompt": "prompt.txt"}, {"shell": "! grep -q rec[i]pe /proc/$PPID/cmdline"}, {"result": "ok"})
    plan.done()
    prompt = (plan.project.path / "prompt.txt").read_text()
    for part in ("# Task: First", "The secret recipe.", "one\ntwo", "«../out» lies outside the project"):
        assert part in prompt


# -- stopping, restarting ----------------------------------------------------------------------------------------------


def test_a_stop_ends_the_session(plan: OneTask) -> None:
    """T-X.3: TERM, then KILL; the worktree of what was cancelled is gone."""
    plan.args["limits"]["term_s"] = 0.2
    plan.script({"ignore": ["TERM"]}, {"say": "here"}, {"hang": True})

    async def story() -> Outcome:
        running = asyncio.ensure_future(plan.executor.run(plan.request(), plan.services))
        await until(lambda: "claude:stream" in plan.names())
        plan.executor.stop(plan.request().key, 1, "cancel")
        return await running

    outcome = asyncio.run(story())
    assert isinstance(outcome, Failed)
    assert (outcome.failure.code, outcome.failure.category) == ("STOPPED", "cancelled")
    assert (plan.project.worktrees(), plan.project.branches()) == (0, ["main"])
    assert read_state(plan.folder()).standing == "ended"


def test_a_task_that_is_put_back(plan: OneTask) -> None:
    """T-X.32: stopped now, it is pending again."""
    assert isinstance(plan.executor, Stoppable)
    plan.script({"say": "here"}, {"hang": True})

    async def story() -> Outcome:
        running = asyncio.ensure_future(plan.executor.run(plan.request(), plan.services))
        await until(lambda: "claude:stream" in plan.names())
        plan.executor.stop(plan.request().key, 1, "put_back")
        return await running

    assert asyncio.run(story()) == Returned("put_back")


def test_a_stop_before_it_began(plan: OneTask) -> None:
    plan.script({"edit": {"b.txt": "b"}}, {"result": "ok"})
    plan.executor.stop(plan.request().key, 1, "cancel")
    failure = plan.failed()
    assert (failure.code, failure.category) == ("STOPPED", "cancelled")
    assert not plan.events
    assert plan.done(attempt=2)["merge"] == "merged", "another attempt is not meant"


def test_an_engine_that_ends_leaves_it_alive_and_the_next_one_adopts_it(plan: OneTask) -> None:
    """T-A.17, T-9.2.3, T-X.24: the same process, every event once."""
    plan.script(INIT, {"say": "one"}, {"wait_for": "go"}, {"say": "two"}, {"result": "ok"})

    async def first() -> None:
        running = asyncio.ensure_future(plan.executor.run(plan.request(), plan.services))
        await until(lambda: len(plan.names()) == 2)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(first())
    pid = read_state(plan.folder()).pid
    assert pid is not None
    os.kill(pid, 0)
    worktree = worktree_of(plan.folder())
    assert worktree is not None
    (Path(worktree.folder) / "go").write_text("")
    plan.executor = plan.engine()
    body = plan.done()
    assert body["pid"] == pid
    assert plan.names() == ["claude:started", "claude:stream", "claude:stream", "claude:complete"]
    assert [line.number for line in read_events(plan.folder())] == [1, 2, 3, 4]


def test_a_dropped_effect_is_ended_although_nobody_waits(plan: OneTask) -> None:
    """T-X.25: also one that the engine after has not adopted yet."""
    plan.script(INIT, {"hang": True})

    async def story() -> None:
        running = asyncio.ensure_future(plan.executor.run(plan.request(), plan.services))
        await until(plan.names)
        running.cancel()
        await asyncio.wait([running])
        plan.executor.stop(plan.request().key, 1, "dropped")
        await until(lambda: read_state(plan.folder()).standing == "ended")
        await until(lambda: (plan.project.worktrees(), plan.project.branches()) == (0, ["main"]))

    asyncio.run(story())
    assert read_state(plan.folder()).standing == "ended"


def test_a_session_that_died_with_the_engine_is_given_back(plan: OneTask) -> None:
    """T-9.2.3, T-X.20: whatever its progress; the attempt after starts clean."""
    plan.script(INIT, {"edit": {"b.txt": "b\n"}}, {"progress": 95}, {"hang": True})

    async def first() -> None:
        running = asyncio.ensure_future(plan.executor.run(plan.request(), plan.services))
        await until(lambda: len(plan.names()) == 2)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(first())
    folder = plan.folder()
    claim, state = (json.loads((folder / name).read_text()) for name in (session_files.CLAIM, session_files.STATE))
    for pid in (claim["guard"]["pid"], state["supervisor"]["pid"], state["pid"]):
        os.kill(pid, signal.SIGSTOP)
    for pid in (claim["guard"]["pid"], state["supervisor"]["pid"], state["pid"]):
        os.kill(pid, signal.SIGKILL)

    async def gone() -> None:
        await until(lambda: read_state(folder).standing == "lost")

    asyncio.run(gone())
    plan.executor = plan.engine()
    assert plan.run() == Returned("lost")
    assert plan.run() == Returned("lost"), "the same question, the same answer"
    plan.script({"shell": "test ! -e b.txt"}, {"edit": {"c.txt": "c\n"}}, {"result": "ok"})
    assert plan.done(attempt=2)["merge"] == "merged"
    assert plan.project.worktrees() == 0


def test_an_agent_that_died_while_no_engine_was_there_is_given_back(plan: OneTask) -> None:
    """T-9.2.3, T-X.20: its supervisor has seen it die; a restart takes that for no crash, whatever its progress."""
    plan.script(INIT, {"progress": 95}, {"hang": True})

    async def first() -> None:
        running = asyncio.ensure_future(plan.executor.run(plan.request(), plan.services))
        await until(lambda: len(plan.names()) == 2)
        running.cancel()
        await asyncio.wait([running])
        state = json.loads((plan.folder() / session_files.STATE).read_text())
        os.kill(state["pid"], signal.SIGKILL)
        await until(lambda: read_state(plan.folder()).standing == "ended")

    asyncio.run(first())
    plan.executor = plan.engine()
    again = msgspec.structs.replace(plan.request(), again=True)
    assert asyncio.run(plan.executor.run(again, plan.services)) == Returned("lost")


def test_the_same_question_is_not_worked_twice(plan: OneTask) -> None:
    """T-9.2.3: an engine that was killed before it could write the answer down gets it again."""
    plan.script({"append": {str(plan.root / "starts"): "x"}}, {"edit": {"b.txt": "b\n"}}, {"result": "ok"})
    plan.settings["agents.writable"] = [str(plan.root)]
    body = plan.done()
    plan.executor = plan.engine()
    assert plan.done() == body
    assert (plan.root / "starts").read_text() == "x"
    (plan.folder() / "outcome.json").unlink()
    plan.executor = plan.engine()
    assert plan.run() != Returned("lost")
    assert (plan.root / "starts").read_text() == "x"


def test_what_never_began_does_not_begin_after_a_restart(plan: OneTask) -> None:
    """T-9.2.3, T-X.25: asked for once more, with no session: it is given back, and a supervisor that comes late starts
    nothing."""
    plan.script(INIT, {"edit": {"new.txt": "new\n"}}, RESULT)
    again = msgspec.structs.replace(plan.request(), again=True)
    assert asyncio.run(plan.executor.run(again, plan.services)) == Returned("lost")
    late = SessionSpec(command=[sys.executable, "-c", "print('it runs')"], folder=plan.folder(), cwd=plan.root)
    end = asyncio.run(plan.executor.sessions.run(late, lambda chunk: None))
    assert (end.kind, end.pid) == ("stopped", None)
    assert asyncio.run(plan.executor.run(again, plan.services)) == Returned("lost")
    assert plan.done(2)["attempt"] == 2


def test_on_a_shared_machine_only_the_operator_names_what_agents_see(
    plan: OneTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-X.12: the environment of the server is not the tenant's."""
    monkeypatch.setenv("OPERATOR_KEY", "the-operator's-own")
    monkeypatch.setenv("MODEL_KEY", "for-every-tenant")
    plan.args["agent"]["env"] = plan.args["limits"]["env"] = ["OPERATOR_KEY"]
    plan.settings = {"agents.env": ["MODEL_KEY"]}
    shared = msgspec.structs.replace(plan.services, path_policy=PathPolicy(shared=True))
    plan.script({"environ": "env.json"}, {"result": "ok"})
    assert isinstance(asyncio.run(plan.executor.run(plan.request(), shared)), Done)
    seen = json.loads((plan.project.path / "env.json").read_text())
    assert seen["MODEL_KEY"] == "for-every-tenant"
    assert "OPERATOR_KEY" not in seen
