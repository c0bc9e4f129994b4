"""Rows of tasks, agents and executions: what people, documents, restarts and full disks do to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.dialects.plan import DIALECT, words
from penstock.dialects.plan.task_states import Agent, Execution, Task
from penstock.errors import StoreFull
from penstock.host.embedded import Host
from penstock.kernel import command as C
from penstock.net.compiled import Compiled
from penstock.store.task_tables import TASK, TASK_AGENT, TASK_EXECUTION
from tests.app.task_rows_scene import Agents, Workflow, a_plan, done, scene

# ---- by hand ---------------------------------------------------------------------------------------------------------


def test_t_1_2_3_a_running_task_is_cancelled_and_its_agent_released(tmp_path: Path) -> None:
    """T-1.2.3, T-X.3: the execution has failed with the error `cancelled`."""
    agents = Agents()

    async def play(w: Workflow) -> None:
        await w.until(lambda: agents.asked)
        assert await w.send(C.stop("a", "cancel")) is None
        await w.until(lambda: w.task().status == "cancelled")
        (ended,) = w.executions()
        assert (ended.status, ended.error, w.agent().status, w.agent().failed) == ("failed", "cancelled", "idle", 0)
        assert w.moves() == ["pending>in_progress", "in_progress>cancelled"]

    scene(tmp_path, agents, a_plan("a"), play)


def test_t_1_2_4_a_pending_task_is_cancelled(tmp_path: Path) -> None:
    """T-1.2.4: it never had an agent; what depends on it stays pending."""
    agents = Agents()

    async def play(w: Workflow) -> None:
        assert await w.send(C.stop("b", "cancel")) is None
        agents.script["a"] = [done()]
        await w.until(lambda: w.task("b").status == "cancelled" and w.task().status == "completed")
        assert w.moves("b") == ["pending>cancelled"]
        assert (w.task("b").agent, w.executions("b"), w.task("c").status) == (None, [], "pending")

    depends = [{"id": "b", "depends_on": ["a"]}, {"id": "c", "depends_on": ["b"]}]
    scene(tmp_path, agents, a_plan("a", *depends), play)


def test_t_x_32_what_is_put_back_is_pending_again(tmp_path: Path) -> None:
    """T-X.32, T-7.1.10, T-9.1.5: nothing new begins, the workflow is paused, and goes on when it is let."""
    agents = Agents()

    async def play(w: Workflow) -> None:
        await w.until(lambda: agents.asked)
        assert await w.send(C.limit("agents", 0, "stopped")) is None
        assert w.project() == (w.run, "paused", "stopped")
        assert await w.send(C.stop("a", "put_back")) is None
        await w.until(lambda: w.task().status == "pending")
        (ended,) = w.executions()
        assert (ended.error, w.task().reason, w.task().retry_count, w.agent().status) == (
            "stopped",
            "put_back",
            0,
            "idle",
        )
        agents.told.clear()
        agents.script["a"] = [done()]
        assert await w.send(C.limit("agents", 3, "")) is None
        await w.ended()
        assert w.task().retry_count == 0

    scene(tmp_path, agents, a_plan("a"), play)


def test_t_x_30_a_task_that_is_completed_by_force_passes_through_in_progress(tmp_path: Path) -> None:
    """T-X.30, T-1.3.5, T-10.1.4: in one commit, by the agent `admin`; each move is told under a key of its own."""
    agents = Agents(b=[done()])

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.project() == (w.run, "idle", None))
        assert await w.send(C.resolve("a", {"reason": "done elsewhere", "by": "kim"})) is None
        assert w.moves() == ["pending>in_progress", "in_progress>completed"]
        assert await w.send(C.limit("agents", 3, "")) is None
        await w.ended()
        task = w.task()
        assert (task.status, task.agent, task.trigger, task.reason) == (
            "completed",
            "admin",
            "manual",
            "done elsewhere",
        )
        assert task.review_notes == "completed by kim: done elsewhere"
        assert w.executions() == [] and w.task("b").agent == "claude"
        await w.until(lambda: len(w.published) == 4)
        assert len({key for _, _, key in w.published}) == 4

    scene(tmp_path, agents, a_plan("a", {"id": "b", "depends_on": ["a"]}), play, pools={"agents": 0})


def test_t_5_2_1_what_somebody_executes_is_manual_and_runs_in_a_stopped_workflow(tmp_path: Path) -> None:
    """T-5.2.1, T-5.1.1"""
    agents = Agents(a=[done()])

    async def play(w: Workflow) -> None:
        assert await w.send(C.execute("a")) is None
        await w.until(lambda: w.task().status == "completed")
        assert (w.task().trigger, [e.trigger for e in w.executions()]) == ("manual", ["manual"])
        assert (w.task("b").status, w.task("b").trigger, w.project()[1]) == ("pending", "auto", "idle")

    scene(tmp_path, agents, a_plan("a", "b"), play, pools={"agents": 0})


def test_t_x_40_what_a_schedule_has_made_is_scheduled_and_the_schedule_itself_no_task(tmp_path: Path) -> None:
    """T-X.40, T-5.2.1"""
    agents = Agents(**{"nightly-20261118T0100": [done()]})

    async def play(w: Workflow) -> None:
        await w.ended()
        assert [(row.id, row.trigger) for row in w.store.tasks(w.run)] == [("nightly-20261118T0100", "scheduled")]
        assert [e.trigger for e in w.executions("nightly-20261118T0100")] == ["scheduled"]

    plan = a_plan({"id": "nightly", "schedule": "0 1 * * *"}, "nightly-20261118T0100")
    scene(tmp_path, agents, plan, play)


def test_t_x_38_what_was_over_before_stays_as_it_was(tmp_path: Path) -> None:
    """T-X.38, T-X.29: a completed task lets go on who depends on it; one that failed does not."""
    agents = Agents(c=[done()])

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.task("c").status == "completed")
        assert w.statuses() == {"a": "completed", "b": "failed", "c": "completed", "d": "pending"}
        assert [change.task for change in w.heard] == ["c", "c"]

    over = [{"id": "a", "status": "completed"}, {"id": "b", "status": "failed"}]
    plan = a_plan(*over, {"id": "c", "depends_on": ["a"]}, {"id": "d", "depends_on": ["b"]})
    scene(tmp_path, agents, plan, play)


# ---- the workflow ----------------------------------------------------------------------------------------------------


def test_t_a_14_a_deadlock_pauses_the_workflow_and_force_completing_one_goes_on(tmp_path: Path) -> None:
    """T-A.14, T-X.27, T-8.3.4, T-8.3.5"""
    agents = Agents(b=[done()])

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.project() == (w.run, "paused", "deadlock"))
        assert await w.send(C.resolve("a", {"reason": "broken by hand"})) is None
        assert await w.send(C.limit("agents", 3, "")) is None
        await w.ended()
        assert w.statuses() == {"a": "completed", "b": "completed"}
        await w.until(lambda: w.project() == (w.run, "completed", None))

    scene(tmp_path, agents, a_plan({"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}), play)


def test_t_x_25_a_run_that_is_ended_leaves_its_tasks_pending_and_the_workflow_idle(tmp_path: Path) -> None:
    """T-X.25: what was completed stays so."""
    agents = Agents(a=[done()])

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.task("b").status == "in_progress" and w.task().status == "completed")
        assert await w.send(C.cancel("now")) is None
        await w.until(lambda: w.project() == (w.run, "idle", None))
        assert w.statuses() == {"a": "completed", "b": "pending"}
        assert ([e.error for e in w.executions("b")], w.agent().status) == (["cancelled"], "idle")

    scene(tmp_path, agents, a_plan("a", {"id": "b", "depends_on": ["a"]}), play)


def test_t_9_1_1_rows_are_written_with_their_facts_or_not_at_all(tmp_path: Path) -> None:
    """T-9.1.1, T-9.1.2, T-9.1.3, T-10.1.4: a commit that fails leaves no half of it, and nothing is told twice."""
    agents = Agents()

    async def play(w: Workflow) -> None:
        await w.until(lambda: agents.asked)
        (pages,) = w.store.c.execute("PRAGMA page_count").fetchone()
        w.store.c.execute(f"PRAGMA max_page_count={pages}")
        agents.script["a"] = [done(review_notes="x" * 16_000, log_tail="y" * 4000, criteria=["z" * 9000])]
        with pytest.raises(StoreFull):
            await w.until(lambda: False)
        assert (w.task().status, w.agent().status, w.executions()[0].status) == ("in_progress", "busy", "pending")
        assert w.moves() == ["pending>in_progress"]
        w.store.c.execute("PRAGMA max_page_count=1073741823")
        await w.ended()
        assert (w.task().status, w.agent().status, w.agent().done) == ("completed", "idle", 1)
        assert w.moves() == ["pending>in_progress", "in_progress>completed"]
        await w.until(lambda: len(w.published) == 2)
        assert [
            (topic, body["taskId"], body["from"], body["to"], body["project"]) for topic, body, _ in w.published
        ] == [
            ("task:statusChanged", "a", "pending", "in_progress", "p1"),
            ("task:statusChanged", "a", "in_progress", "completed", "p1"),
        ]

    scene(tmp_path, agents, a_plan("a"), play)


def test_t_9_2_3_after_a_restart_rows_go_on_where_they_were(tmp_path: Path) -> None:
    """T-9.2.3, T-X.24, T-X.25, T-A.17: the same session again, its agent busy, the workflow paused until somebody
    resumes it."""
    agents = Agents(a=[done()])

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.task("b").status == "in_progress" and w.task().status == "completed")
        (before,) = w.executions("b")
        await w.host.close()
        w.host = Host(w.store, {agents.name: agents}, clock=w.clock)
        w.listen()
        w.host.recover()
        await w.until(lambda: len(agents.asked) == 3)
        assert (agents.asked[1].key, agents.asked[1].attempt) == (agents.asked[2].key, agents.asked[2].attempt)
        assert w.project() == (w.run, "paused", "restarted")
        assert (w.executions("b"), w.agent().status, w.agent().current_task) == ([before], "busy", "b")
        agents.script["b"] = [done()]
        await w.until(lambda: w.task("b").status == "completed")
        assert (w.task("c").status, w.agent().done) == ("pending", 2)
        agents.script["c"] = [done()]
        assert await w.send(C.limit("agents", 3, "")) is None
        await w.ended()
        assert w.moves("b") == ["pending>in_progress", "in_progress>completed"]

    plan = a_plan("a", {"id": "b", "depends_on": ["a"]}, {"id": "c", "depends_on": ["b"]})
    scene(tmp_path, agents, plan, play)


def test_t_x_8_a_document_that_is_edited_while_it_runs_moves_its_rows(tmp_path: Path) -> None:
    """T-X.8: a new task, another title, one that is gone, and what is under way goes on; twice, there and back."""
    agents = Agents()
    old = a_plan("a", {"id": "b", "depends_on": ["a"]}, {"id": "c", "depends_on": ["a"]})
    new = a_plan({"id": "a", "title": "Other"}, {"id": "b", "depends_on": ["a"]}, {"id": "d", "depends_on": ["b"]})

    async def play(w: Workflow) -> None:
        await w.until(lambda: w.task().status == "in_progress")
        w.host.release(new)
        to, back = Compiled(new).hash, Compiled(old).hash
        assert await w.send(C.migrate(to, puts=["start>d"], drops=["start>c"])) is None
        assert w.statuses() == {"a": "in_progress", "b": "pending", "d": "pending"}
        assert (w.task().title, w.task("c"), w.task().agent) == ("Other", None, "claude")
        agents.script["a"] = [done()]
        await w.until(lambda: w.task("b").status == "in_progress")
        assert await w.send(C.migrate(back, puts=["start>c", "a>c"], drops=["start>d"])) is None
        agents.script |= {"b": [done()], "c": [done()]}
        await w.ended()
        assert w.statuses() == {"a": "completed", "b": "completed", "c": "completed"}
        assert w.task().title == "A" and [e.status for e in w.executions("b")] == ["completed"]

    scene(tmp_path, agents, old, play)


def test_work_per_event_does_not_grow_with_the_plan(tmp_path: Path) -> None:
    """T-7.1.5: of 2,000 tasks, a turn writes those that it has moved."""
    agents = Agents(**{f"t{n:04d}": [done()] for n in range(3)})

    async def play(w: Workflow) -> None:
        runtime: Any = w.host.turns.rows.runtimes["plan"]
        most = 0

        def looked() -> bool:
            nonlocal most
            for rows in runtime.tasks.rows.values():
                if len(rows.fold.fresh_tasks) < 2000:  # but the first turn, which makes them all
                    most = max(most, len(rows.fold.fresh_tasks))
            return len(agents.asked) >= 5

        await w.until(looked)
        assert 1 <= most <= 4

    scene(tmp_path, agents, a_plan(*(f"t{n:04d}" for n in range(2000)), max_concurrent=2), play)


def test_t_x_36_the_words_are_the_seeds() -> None:
    """T-1.1.1, T-2.1.1, T-3.1.1, T-9.1.7, T-X.1, T-X.36: lower case, and every word in both tongues."""
    assert words.TASK == ("pending", "in_progress", "completed", "cancelled", "failed")
    assert words.AGENT == ("idle", "busy")
    assert words.EXECUTION == ("pending", "running", "completed", "failed")
    assert words.WORKFLOW == ("idle", "running", "paused", "completed")
    assert {*DIALECT.words.unit.values()} == {*words.TASK} == {*DIALECT.labels.node}
    assert {*DIALECT.words.run.values()} == {*words.WORKFLOW} == {*DIALECT.labels.run}
    assert words.workflow_status("WAITING", "stopped") == "paused"
    assert words.workflow_status("RUNNING", None) == "running"
    assert words.workflow_status("COMPLETED", "stopped") == "completed"
    assert words.workflow_status("WAITING", "reset") == "idle"
    assert DIALECT.title(a_plan("a"), lambda: None) == "The site"


def test_the_folded_rows_have_the_columns_of_their_tables() -> None:
    assert (Task.__struct_fields__, Agent.__struct_fields__) == (TASK.names, TASK_AGENT.names)
    assert Execution.__struct_fields__ == TASK_EXECUTION.names
