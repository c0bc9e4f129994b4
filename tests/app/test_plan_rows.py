"""Rows of tasks, agents and executions: real runs of plans, attempt by attempt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.executors.contract import Returned, failed
from penstock.executors.parts.sessions.session_id import session_id
from penstock.kernel import command as C
from tests.app.task_rows_scene import Agents, Workflow, a_plan, done, exited, scene

# ---- the machines ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [512, 1])
def test_t_5_2_5_task_and_agent_begin_and_end_together(tmp_path: Path, batch: int) -> None:
    """T-1.2.1, T-1.2.2, T-2.2.1, T-2.2.2, T-5.2.5, T-5.2.9, T-X.17, T-9.1.2"""
    agents = Agents()

    async def play(w: Workflow) -> None:
        await w.until(lambda: agents.asked)
        task, agent = w.task(), w.agent()
        began = task.updated_at
        assert (task.status, task.agent, task.attempt, task.title) == ("in_progress", "claude", 1, "A")
        assert (agent.status, agent.current_task, agent.last_used) == ("busy", "a", began)
        assert (w.agent("default").status, w.project()) == ("idle", (w.run, "running", None))
        w.clock.at += 400
        agents.script["a"] = [done()]
        await w.until(lambda: w.task().status == "completed")
        task, agent = w.task(), w.agent()
        assert (task.updated_at, task.completed_at, task.review_notes) == (began + 400, began + 400, "looked at")
        assert (task.confidence, task.progress, json.loads(task.matched)) == (100, 100, ["it builds"])
        assert (agent.status, agent.current_task, agent.done, agent.failed) == ("idle", None, 1, 0)
        assert w.moves() == ["pending>in_progress", "in_progress>completed"]
        await w.until(lambda: w.project() == (w.run, "completed", None))

    scene(tmp_path, agents, a_plan("a"), play, batch=batch)


def test_t_3_2_2_an_execution_is_asked_for_and_completed(tmp_path: Path) -> None:
    """T-3.1.1, T-3.2.1, T-3.2.2, T-9.1.3, T-X.22: pid, start, end and duration of the process, and what it has cost."""
    agents = Agents()

    async def play(w: Workflow) -> None:
        await w.until(lambda: agents.asked)
        (waiting,) = w.executions()
        (asked,) = agents.asked
        assert waiting.session == session_id(asked.key, 1) == w.task().session
        assert (waiting.status, waiting.agent, waiting.attempt, waiting.pid) == ("pending", "claude", 1, None)
        agents.script["a"] = [done()]
        await w.ended()
        (ended,) = w.executions()
        assert (ended.status, ended.exit_code, ended.pid, ended.pid_started_at) == ("completed", 0, 77, 5)
        assert (ended.started_at, ended.completed_at, ended.duration_ms) == (1_000_100, 1_000_350, 250)
        assert (ended.cost_usd, ended.tokens_in, ended.tokens_out, ended.error) == (0.25, 10, 20, None)
        assert json.loads(ended.criteria) == [{"text": "it builds", "matched": True, "how": "result"}]
        assert (ended.merge, json.loads(ended.diff_stat)["added"], ended.trigger) == ("merged", 2, "auto")

    scene(tmp_path, agents, a_plan("a"), play)


def test_t_x_15_a_task_is_pending_before_each_retry_and_failed_after_the_fourth_attempt(tmp_path: Path) -> None:
    """T-X.15, T-X.1, T-2.2.3, T-3.2.3, T-A.5, T-5.1.12: up to 3 retries; the agent is released with its error."""
    agents = Agents(a=[exited(), exited(), exited(), exited(message="exit code 3")])

    async def play(w: Workflow) -> None:
        await w.ended()
        task, agent = w.task(), w.agent()
        assert (task.status, task.retry_count, task.last_error, task.reason) == (
            "failed",
            3,
            "exit code 3",
            "EXIT_CODE",
        )
        assert w.moves() == ["pending>in_progress", "in_progress>pending"] * 3 + [
            "pending>in_progress", "in_progress>failed",
        ]  # fmt: skip
        assert [(e.status, e.attempt, e.exit_code, e.error) for e in w.executions()] == [
            ("failed", 1, 1, "exit code 1"), ("failed", 2, 1, "exit code 1"), ("failed", 3, 1, "exit code 1"),
            ("failed", 4, 1, "exit code 3"),
        ]  # fmt: skip
        assert (agent.status, agent.current_task, agent.done, agent.failed) == ("idle", None, 0, 4)
        assert agent.last_error == "exit code 3"

    scene(tmp_path, agents, a_plan("a"), play)


def test_t_a_6_a_retried_task_that_succeeds_says_how_often(tmp_path: Path) -> None:
    """T-A.6, T-A.10, T-X.15, T-X.21: twice exit 1, then 0; what crashed half-way is gone on with, and says so."""
    agents = Agents(a=[exited(resume=True), exited(resume=False), done()])

    async def play(w: Workflow) -> None:
        await w.ended()
        assert (w.task().status, w.task().retry_count) == ("completed", 2)
        assert [e.status for e in w.executions()] == ["failed", "failed", "completed"]
        assert [e.resume for e in w.executions()] == [0, 1, 0]

    scene(tmp_path, agents, a_plan("a"), play)


def test_t_x_1_a_failed_task_is_pending_again_only_by_a_retry_by_hand(tmp_path: Path) -> None:
    """T-X.1, T-X.15, T-5.2.1: `retry_count` begins anew, and the trigger is the person's."""
    agents = Agents(a=[exited(), exited()])

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.task().status == "failed")
        assert w.task().retry_count == 1
        assert await w.send(C.retry("here", w.firing())) is None
        await w.until(lambda: w.task().status == "in_progress")
        assert (w.task().retry_count, w.task().trigger, w.task().attempt) == (0, "manual", 3)
        agents.script |= {"a": [done()], "b": [done()]}
        await w.ended()
        assert w.moves()[-3:] == ["failed>pending", "pending>in_progress", "in_progress>completed"]
        assert [e.trigger for e in w.executions()] == ["auto", "auto", "manual"]

    scene(tmp_path, agents, a_plan("a", "b", max_retries=1), play)


def test_t_3_2_4_a_timeout_is_told_in_one_word(tmp_path: Path) -> None:
    """T-3.2.4, T-X.19"""
    agents = Agents(a=[exited("TIMEOUT", "timeout", "longer than 2 s", kill_failed=True, log_tail="…\0end")])

    async def play(w: Workflow) -> None:
        await w.ended()
        (ended,) = w.executions()
        assert (ended.status, ended.error, ended.code, ended.kill_failed) == ("failed", "timeout", "TIMEOUT", 1)
        assert (w.task().last_error, ended.log_tail) == ("timeout", "…␀end")

    scene(tmp_path, agents, a_plan("a", max_retries=0), play)


def test_t_x_18_what_never_had_a_process_has_failed_and_a_fatal_error_pauses(tmp_path: Path) -> None:
    """T-X.18, T-7.1.8: the workflow is paused, and says why; the task has failed at once."""
    agents = Agents(a=[failed("COMMAND_NOT_FOUND", "fatal", "there is no «claude»")])

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.task().status == "failed")
        (ended,) = w.executions()
        assert (ended.status, ended.pid, ended.code) == ("failed", None, "COMMAND_NOT_FOUND")
        assert w.project() == (w.run, "paused", "fatal")
        assert (w.task("b").status, w.task().retry_count) == ("pending", 0)

    scene(tmp_path, agents, a_plan("a", {"id": "b", "depends_on": ["a"]}), play)


# ---- reviews and recovery --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("confidence", "status", "review"), [(79.6, "in_progress", 1), (80, "completed", 0)])
def test_t_x_14_below_80_a_person_decides(tmp_path: Path, confidence: float, status: str, review: int) -> None:
    """T-X.14, T-A.7, T-A.8, T-5.2.8: the agent is released; 80 itself completes, and 79.6 is not shown as 80."""
    agents = Agents(a=[done(confidence)])

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.executions() and w.executions()[0].status == "completed")
        task = w.task()
        assert (task.status, task.review_required, task.confidence) == (status, review, int(confidence))
        assert (w.agent().status, w.agent().done, w.store.review_count(w.run)) == ("idle", 1, review)
        if review:
            assert await w.send(C.work(w.firing(), "approve", "kim", None, "good enough")) is None
            await w.ended()
        task = w.task()
        notes = "looked at\napproved by kim: good enough" if review else "looked at"
        assert (task.status, task.review_required, task.review_notes) == ("completed", 0, notes)
        assert w.moves() == ["pending>in_progress", "in_progress>completed"]

    scene(tmp_path, agents, a_plan("a"), play)


def test_t_x_14_a_rejected_task_is_pending_again_with_the_comment(tmp_path: Path) -> None:
    """T-X.14, T-1.3.6: the comment is told to whoever does it next, and no retry is counted."""
    agents = Agents(a=[done(10)])

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.task().review_required)
        assert await w.send(C.work(w.firing(), "reject", "kim", None, "no tests")) is None
        await w.until(lambda: len(agents.asked) == 2)
        assert agents.asked[1].args["feedback"] == "no tests"
        task = w.task()
        assert (task.status, task.review_required, task.retry_count, task.confidence) == ("in_progress", 0, 0, None)
        assert task.review_notes == "rejected by kim: no tests"
        agents.script["a"] = [done()]
        await w.ended()
        assert w.moves() == [
            "pending>in_progress",
            "in_progress>pending",
            "pending>in_progress",
            "in_progress>completed",
        ]

    scene(tmp_path, agents, a_plan("a"), play)


def test_t_x_20_what_crashed_nearly_done_is_completed_and_its_execution_has_failed(tmp_path: Path) -> None:
    """T-8.1.3, T-8.1.6, T-X.20, T-A.9: notes, `completed_by_recovery`, and no review although it is doubtful."""
    notes = "completed after crash at 85%"
    agents = Agents(a=[done(0, exit_code=-9, progress=85, completed_by_recovery=True, review_notes=notes)])

    async def play(w: Workflow) -> None:
        await w.ended()
        task, (ended,) = w.task(), w.executions()
        assert (task.status, task.completed_by_recovery, task.progress, task.review_notes) == (
            "completed",
            1,
            85,
            notes,
        )
        assert (ended.status, ended.exit_code, ended.error) == ("failed", -9, "crashed at 85%")
        assert (w.agent().status, w.agent().failed, w.agent().done) == ("idle", 1, 0)

    scene(tmp_path, agents, a_plan("a"), play)


def test_t_2_3_2_what_was_lost_is_pending_again_and_its_agent_idle(tmp_path: Path) -> None:
    """T-2.3.2, T-9.2.3, T-1.3.6: no retry is counted, and nobody's failure."""
    agents = Agents(a=[Returned("its process is gone")])

    async def play(w: Workflow) -> None:
        await w.until(lambda: len(agents.asked) == 2)
        first, second = w.executions()
        assert (first.status, first.error, second.status, second.attempt) == ("failed", "lost", "pending", 2)
        assert (w.task().retry_count, w.agent().failed, w.agent().current_task) == (0, 0, "a")
        agents.script["a"] = [done()]
        await w.ended()
        assert w.moves() == [
            "pending>in_progress",
            "in_progress>pending",
            "pending>in_progress",
            "in_progress>completed",
        ]

    scene(tmp_path, agents, a_plan("a"), play)
