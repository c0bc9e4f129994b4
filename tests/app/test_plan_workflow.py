"""Workflows of plans with real agents: one task, dependencies, retries, reviews, concurrency, stop, deadlocks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.app.plan.events import Subscriber
from penstock.errors.plan import AgentBusy, ProjectHealth, TaskBlocked
from tests.app.plans import (
    DONE,
    FAILS,
    a_project,
    claims,
    driven,
    ended,
    fields_of,
    one,
    played,
    scenario,
    settled,
    statuses,
    until,
)  # fmt: skip


def moves(heard: Subscriber) -> list[tuple[str, str]]:
    told = [each.data for each in heard.events if each.event == "task:statusChanged"]
    return [(each["from"], each["to"]) for each in told]


TEN = [f"point {n}" for n in range(10)]


@played
async def test_a_task_goes_from_pending_to_completed(tmp_path: Path) -> None:
    """T-A.1, T-1.2.1, T-1.2.2, T-2.2.1, T-2.2.2, T-3.2.1, T-3.2.2, T-5.2.10: with pid, times, notes and a report."""
    folder = a_project(tmp_path / "p", {"t1": {"success_criteria": ["it works"]}}, scenarios={"t1": claims("it works")})
    async with driven(tmp_path / "s.db") as plans:
        project = await plans.register(folder)
        assert project.status == "idle"
        assert one(plans, "p", "t1").status == "pending"
        assert {agent.name: agent.status for agent in plans.agents("p")} == {
            "a1": "idle", "a2": "idle", "a3": "idle", "default": "idle",
        }  # fmt: skip
        await plans.execute("p", "t1")
        task = await ended(plans, "p", "t1")
        assert (task.status, task.agent, task.confidence, task.matched) == ("completed", "a1", 100, ["it works"])
        assert task.review_notes
        (execution,) = plans.executions("p")
        assert execution.status == "completed"
        assert execution.pid and execution.started_at and execution.completed_at
        assert execution.duration_ms == execution.completed_at - execution.started_at
        agent = plans.agents("p")[0]
        assert (agent.status, agent.current_task, agent.done) == ("idle", None, 1)
        await until(lambda: len(plans.reports("completion", "p")) == 2)
        of_task = {report.body["taskId"]: report for report in plans.reports("completion", "p")}  # may be of one moment
        assert of_task.keys() == {None, "t1"}  # that of the workflow has no task
        report = of_task["t1"]
        assert report.body["matchedCriteria"] == ["it works"]
        await until(lambda: fields_of(folder, "t1").get("status") == "completed")
        assert fields_of(folder, "t1")["agent"] == "a1"


@played
async def test_a_task_that_waits_is_refused_with_what_it_waits_for(tmp_path: Path) -> None:
    """T-A.3, T-5.1.3, T-5.2.3: canExecute, reason, blockingTasks."""
    folder = a_project(tmp_path / "p", {"t1": {}, "t2": {"depends_on": ["t1"]}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        can = plans.can_execute("p", "t2")
        assert (can.can_execute, can.reason, can.blocking_tasks) == (False, "dependencies_not_met", ["t1"])
        assert plans.can_execute("p", "t1").can_execute
        with pytest.raises(TaskBlocked) as refused:
            await plans.execute("p", "t2")
        assert refused.value.facts["blockingTasks"] == ["t1"]
        await plans.execute("p", "t1")
        await ended(plans, "p", "t1")
        assert plans.can_execute("p", "t2").can_execute


@played
async def test_a_busy_agent_is_refused_or_queued_for(tmp_path: Path) -> None:
    """T-A.4, T-5.2.4, T-X.10, T-2.3.1: 409 AGENT-409-BUSY, and with queue it begins when the agent is free."""
    gate = tmp_path / "go"
    waits = [{"init": True}, {"wait_for": str(gate)}, {"result": "done"}]
    tasks = {"t1": {"assigned_agent": "a1"}, "t3": {"assigned_agent": "a1"}}
    folder = a_project(tmp_path / "p", tasks, scenarios={"t1": waits})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        assert plans.agents("p")[0].current_task == "t1"
        with pytest.raises(AgentBusy) as refused:
            await plans.execute("p", "t3")
        assert refused.value.code == "AGENT-409-BUSY"
        await plans.execute("p", "t3", queue=True)
        assert one(plans, "p", "t3").status == "pending"
        gate.touch()
        assert (await ended(plans, "p", "t3")).status == "completed"
        first, second = sorted(plans.executions("p"), key=lambda each: each.started_at or 0)
        assert (first.task, second.task) == ("t1", "t3")
        assert (first.completed_at or 0) <= (second.started_at or 0)


@played
async def test_an_agent_that_always_fails_has_four_attempts(tmp_path: Path) -> None:
    """T-A.5, T-5.1.11, T-5.1.12, T-X.1, T-X.15, T-2.2.3, T-3.2.3, T-R.3: then the task is failed."""
    folder = a_project(tmp_path / "p", {"t1": {}}, scenarios={"t1": FAILS})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        task = await ended(plans, "p", "t1")
        assert (task.status, task.retry_count) == ("failed", 3)
        executions = plans.executions("p", task="t1")
        assert [each.attempt for each in executions] == [4, 3, 2, 1]
        assert {(each.status, each.exit_code) for each in executions} == {("failed", 1)}
        agent = plans.agents("p")[0]
        assert (agent.status, agent.failed) == ("idle", 4)
        assert agent.last_error
        await until(lambda: plans.reports("failure", "p"))
        assert plans.reports("failure", "p")[0].body["taskId"] == "t1"
        await until(lambda: fields_of(folder, "t1").get("status") == "failed")
        assert fields_of(folder, "t1")["last_error"]


@played
async def test_an_agent_that_fails_twice_and_then_works(tmp_path: Path) -> None:
    """T-A.6, T-7.1.7, T-1.3.6: completed with retry_count 2."""
    folder = a_project(tmp_path / "p", {"t1": {}}, scenarios={"t1": {"attempts": [FAILS, FAILS, DONE]}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        task = await ended(plans, "p", "t1")
        assert (task.status, task.retry_count) == ("completed", 2)
        await until(lambda: fields_of(folder, "t1").get("status") == "completed")
        assert fields_of(folder, "t1")["retry_count"] == 2


@played
async def test_a_doubtful_result_waits_for_a_review(tmp_path: Path) -> None:
    """T-A.7, T-5.2.8, T-X.14: 7 of 10 stays in progress, its agent is released, and approving completes it."""
    folder = a_project(tmp_path / "p", {"t1": {"success_criteria": TEN}}, scenarios={"t1": claims(*TEN[:7])})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        task = await ended(plans, "p", "t1")
        assert (task.status, task.review_required, task.confidence) == ("in_progress", True, 70)
        assert "review-approve" in task.moves
        assert plans.agents("p")[0].status == "idle"
        await until(lambda: fields_of(folder, "t1").get("review_required") is True)
        await plans.review_approve("p", "t1", comment="good enough", by="kim")
        task = one(plans, "p", "t1")
        assert (task.status, task.review_required) == ("completed", False)
        await until(lambda: fields_of(folder, "t1").get("status") == "completed")
        assert "review_required" not in fields_of(folder, "t1")


@played
async def test_what_a_reviewer_rejects_is_done_again_with_the_comment(tmp_path: Path) -> None:
    """T-X.14, T-5.1.5, T-5.1.9: back to pending, and the next attempt is told what the reviewer has said."""
    again = [{"init": True}, {"prompt": "told.txt"}, *claims(*TEN)[1:]]
    folder = a_project(
        tmp_path / "p", {"t1": {"success_criteria": TEN}}, scenarios={"t1": {"attempts": [claims(*TEN[:7]), again]}}
    )
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await ended(plans, "p", "t1")
        with plans.events.listening(plans.door.tenant, "p") as heard:
            await plans.review_reject("p", "t1", comment="the last three are missing", by="kim")
            await until(lambda: one(plans, "p", "t1").status == "completed")
            await until(lambda: len(moves(heard)) == 3)
        assert moves(heard) == [
            ("in_progress", "pending"), ("pending", "in_progress"), ("in_progress", "completed"),
        ]  # fmt: skip
        assert one(plans, "p", "t1").retry_count == 0
        assert "the last three are missing" in (folder / "told.txt").read_text()


@played
async def test_eighty_percent_is_enough(tmp_path: Path) -> None:
    """T-A.8, T-X.14: 80 itself completes."""
    folder = a_project(tmp_path / "p", {"t1": {"success_criteria": TEN}}, scenarios={"t1": claims(*TEN[:8])})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        task = await ended(plans, "p", "t1")
        assert (task.status, task.confidence, task.review_required) == ("completed", 80, False)


@played
async def test_three_at_a_time_in_their_order(tmp_path: Path) -> None:
    """T-A.15, T-7.1.5, T-7.1.9, T-7.2.1, T-7.2.2, T-7.2.3, T-X.28, T-R.8: by priority, then by creation."""
    priorities: dict[str, dict[str, Any]] = {
        "f": {"priority": 1}, "e": {"priority": 2}, "d": {"created": "2026-01-01T00:00:00Z"},
        "c": {"created": "2026-01-02T00:00:00Z"}, "b": {"created": "2026-01-03T00:00:00Z"}, "a": {},
    }  # fmt: skip
    short = [{"init": True}, {"sleep": 0.3}, {"result": "done"}]
    folder = a_project(
        tmp_path / "p", priorities, scenarios={"*": short}, agents=("a1", "a2", "a3", "a4", "a5"), max_concurrent=3
    )
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        most = 0
        await plans.start("p")
        while plans.project("p").status != "completed":
            most = max(most, len(plans.state("p").running))
            await asyncio.sleep(0.02)
        assert most == 3
        begun = sorted(plans.executions("p"), key=lambda each: each.started_at or 0)
        assert {each.task for each in begun[:3]} == {"f", "e", "d"}
        assert {*statuses(plans, "p").values()} == {"completed"}
        await until(lambda: plans.reports("summary", "p"))
        assert plans.reports("summary", "p")[0].body["counts"] == {"completed": 6}


@played
async def test_stop_lets_running_tasks_end(tmp_path: Path) -> None:
    """T-A.16, T-7.1.10, T-X.32, T-9.1.5: no new ones begin, the workflow is paused and saved; resume goes on."""
    gate = tmp_path / "go"
    waits = [{"init": True}, {"wait_for": str(gate)}, {"result": "done"}]
    folder = a_project(tmp_path / "p", {id: {} for id in "abcde"}, scenarios={"*": waits}, max_concurrent=2)
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await until(lambda: len(plans.state("p").running) == 2)
        state = await plans.stop("p")
        assert (state.status, state.stopping) == ("paused", True)
        gate.touch()
        await until(lambda: not plans.state("p").running)
        assert sorted(statuses(plans, "p").values()) == ["completed", "completed", "pending", "pending", "pending"]
        await until(lambda: '"status": "paused"' in (folder / ".workflow-state.json").read_text())
        await plans.resume("p")
        await settled(plans, "p")


@played
async def test_stop_now_puts_running_tasks_back(tmp_path: Path) -> None:
    """T-X.32: a second stop cancels them back to pending; no retry is counted."""
    folder = a_project(tmp_path / "p", {"a": {}, "b": {}}, scenarios={"*": [{"init": True}, {"hang": True}]})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await until(lambda: len(plans.state("p").running) == 2)
        await plans.stop("p")
        await plans.stop("p", now=True)
        await until(lambda: {*statuses(plans, "p").values()} == {"pending"})
        assert one(plans, "p", "a").retry_count == 0
        assert plans.project("p").status == "paused"
        scenario(folder, **{"*": DONE})
        await plans.resume("p")
        await settled(plans, "p")


@played
async def test_a_cycle_with_an_optional_edge_is_broken(tmp_path: Path) -> None:
    """T-A.13, T-8.3.1, T-8.3.2, T-8.3.3, T-X.29: the edge is removed, recorded in the file and an incident."""
    tasks: dict[str, dict[str, Any]] = {
        "a": {"depends_on": ["b"]}, "b": {"depends_on": [{"id": "c", "optional": True}]}, "c": {"depends_on": ["a"]},
    }  # fmt: skip
    folder = a_project(tmp_path / "p", tasks)
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await settled(plans, "p")
        begun = sorted(plans.executions("p"), key=lambda each: each.started_at or 0)
        assert [each.task for each in begun] == ["b", "a", "c"]
        assert fields_of(folder, "b")["removed_dependencies"] == ["c"]
        incident = next(r for r in plans.reports("incident", "p") if r.body["kind"] == "dependency_removed")
        assert incident.body["taskId"] == "b"
        (found,) = plans.deadlocks("p")
        assert (found.removed, found.optional) == (["b", "c"], True)


@played
async def test_a_cycle_that_cannot_be_broken_waits_for_a_person(tmp_path: Path) -> None:
    """T-A.14, T-8.3.4, T-8.3.5, T-X.27, T-X.30: paused, shown with suggestions; force-complete and resume go on."""
    folder = a_project(tmp_path / "p", {"a": {"depends_on": ["b"]}, "b": {"depends_on": ["a"]}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await settled(plans, "p", "paused")
        assert plans.state("p").why == "deadlock"
        (found,) = plans.deadlocks("p")
        assert (sorted(found.cycle), found.optional) == (["a", "b"], False)
        assert len(found.suggestions) == 3
        await until(lambda: any(r.body["kind"] == "deadlock" for r in plans.reports("incident", "p")))
        task = await plans.force_complete("p", "a", reason="done by hand", by="kim")
        assert task.status == "completed"
        assert "done by hand" in task.review_notes
        await plans.resume("p")
        await settled(plans, "p")
        assert statuses(plans, "p") == {"a": "completed", "b": "completed"}
        assert one(plans, "p", "a").agent == "admin"


@played
async def test_a_project_that_is_ill_is_started_by_force(tmp_path: Path) -> None:
    """T-X.31, T-7.1.2, T-7.1.3: error needs force; nothing was begun without it."""
    folder = a_project(tmp_path / "p", {"a": {}}, critical_files=["CLAUDE.md"])
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        assert plans.project("p").health == "unknown"
        with pytest.raises(ProjectHealth) as refused:
            await plans.start("p")
        assert refused.value.code == "PROJECT-409-HEALTH"
        assert plans.project("p").status == "idle"
        state = await plans.start("p", force=True)
        assert "CLAUDE.md" in state.warning
        await settled(plans, "p")


@played
async def test_three_tasks_that_fail_alike_stop_the_workflow(tmp_path: Path) -> None:
    """T-X.18, T-7.1.8, T-X.32: paused with the reason, an incident; a stop then makes it idle."""
    folder = a_project(
        tmp_path / "p", {id: {} for id in "abcdef"}, scenarios={"*": FAILS}, max_concurrent=1, max_retries=0
    )
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await settled(plans, "p", "paused")
        assert plans.state("p").why == "fatal"
        assert any(r.body["kind"] == "fatal" for r in plans.reports("incident", "p"))
        await until(lambda: not plans.state("p").running)
        assert "pending" in statuses(plans, "p").values()
        assert (await plans.stop("p")).status == "idle"


@played
async def test_a_command_that_does_not_exist_stops_the_workflow(tmp_path: Path) -> None:
    """T-X.18, T-X.12: the executor's command is not found: the task is failed at once, and the workflow paused."""
    folder = a_project(tmp_path / "p", {"a": {}, "b": {"depends_on": ["a"]}}, command=["no-such-agent-anywhere"])
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await settled(plans, "p", "paused")
        assert (plans.state("p").why, one(plans, "p", "a").status) == ("fatal", "failed")
        assert len(plans.executions("p")) == 1
        await until(lambda: any(r.body["kind"] == "fatal" for r in plans.reports("incident", "p")))
