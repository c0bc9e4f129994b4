"""What people ask of tasks: the table decides, refused requests change nothing, and a second process can ask, too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.plan.plans import Plans
from penstock.errors import BadInput, PenstockError
from penstock.errors.plan import ProjectNotFound, SessionNotFound, TaskNotFound, TaskSchema, TaskTransition
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
    statuses,
    until,
    write_task,
)

Ask = Callable[[Plans, str], Awaitable[Any]]
ASKS: dict[str, Ask] = {
    "execute": lambda plans, task: plans.execute("p", task),
    "complete": lambda plans, task: plans.complete("p", task),
    "cancel": lambda plans, task: plans.cancel("p", task),
    "retry": lambda plans, task: plans.retry("p", task),
    "approve": lambda plans, task: plans.review_approve("p", task),
    "reject": lambda plans, task: plans.review_reject("p", task, comment="no"),
}


@played
async def test_what_the_table_does_not_name_is_refused(tmp_path: Path) -> None:
    """T-A.2, T-1.3.1, T-1.3.2, T-1.3.3, T-1.3.4, T-1.3.5, T-X.2, T-10.1.1: with from and to; `updated` stays."""
    folder = a_project(tmp_path / "p", {"done": {}, "gone": {}, "open": {}})
    refused = {
        ("done", "retry"): ("completed", "pending"), ("done", "execute"): ("completed", "in_progress"),
        ("done", "cancel"): ("completed", "cancelled"), ("done", "complete"): ("completed", "completed"),
        ("gone", "retry"): ("cancelled", "pending"), ("gone", "execute"): ("cancelled", "in_progress"),
        ("gone", "complete"): ("cancelled", "completed"), ("gone", "cancel"): ("cancelled", "cancelled"),
        ("open", "complete"): ("pending", "completed"), ("open", "retry"): ("pending", "pending"),
        ("open", "approve"): ("pending", "completed"), ("open", "reject"): ("pending", "pending"),
        ("done", "approve"): ("completed", "completed"),
    }  # fmt: skip
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "done")
        await ended(plans, "p", "done")
        await plans.cancel("p", "gone")
        await until(lambda: fields_of(folder, "gone").get("status") == "cancelled")
        await until(lambda: fields_of(folder, "done").get("status") == "completed")
        before = {id: (folder / "tasks" / f"{id}.md").read_bytes() for id in ("done", "gone", "open")}
        for (id, verb), (was, to) in refused.items():
            with pytest.raises(TaskTransition) as error:
                await ASKS[verb](plans, id)
            assert error.value.code == "TASK-409-TRANSITION"
            assert (error.value.facts["from"], error.value.facts["to"]) == (was, to)
        for id in ("done", "gone"):
            with pytest.raises(TaskTransition):
                await plans.force_complete("p", id, reason="because")
        await asyncio.sleep(0.3)
        assert before == {id: (folder / "tasks" / f"{id}.md").read_bytes() for id in ("done", "gone", "open")}
        assert statuses(plans, "p") == {"done": "completed", "gone": "cancelled", "open": "pending"}


@played
async def test_cancel_ends_the_process_of_a_running_task(tmp_path: Path) -> None:
    """T-1.2.3, T-X.3: the process is ended, the execution is failed with «cancelled», the agent is released."""
    folder = a_project(tmp_path / "p", {"t1": {}}, scenarios={"t1": [{"init": True}, {"hang": True}]})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        await until(lambda: plans.executions("p")[0].status == "running")
        pid = plans.executions("p")[0].pid
        await plans.cancel("p", "t1")
        assert (await ended(plans, "p", "t1")).status == "cancelled"
        (execution,) = plans.executions("p")
        assert (execution.status, execution.error) == ("failed", "cancelled")
        assert not Path(f"/proc/{pid}").exists()
        assert plans.agents("p")[0].status == "idle"


@played
async def test_a_failed_task_is_retried_by_hand(tmp_path: Path) -> None:
    """T-X.1: failed → pending, its retries are counted anew; also when everything else has ended."""
    for others in ({}, {"t2": {"depends_on": ["t1"]}}):
        folder = a_project(tmp_path / f"p{len(others)}", {"t1": {}, **others}, scenarios={"t1": FAILS}, max_retries=1)
        async with driven(tmp_path / f"s{len(others)}.db") as plans:
            id = (await plans.register(folder)).id
            await plans.execute(id, "t1")
            assert (await ended(plans, id, "t1")).status == "failed"
            scenario(folder, t1=DONE)
            task = await plans.retry(id, "t1")
            assert task.retry_count == 0
            if task.status == "pending":
                await plans.execute(id, "t1", queue=True)
            assert (await ended(plans, id, "t1")).status == "completed"


@played
async def test_a_running_task_is_completed_by_hand(tmp_path: Path) -> None:
    """T-1.2.2: a person says that it is done; what it was doing is ended."""
    folder = a_project(tmp_path / "p", {"t1": {}}, scenarios={"t1": [{"init": True}, {"hang": True}]})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        await until(lambda: plans.executions("p")[0].status == "running")
        pid = plans.executions("p")[0].pid
        task = await plans.complete("p", "t1", notes="I did it", by="kim")
        assert task.status == "completed"
        assert "I did it" in task.review_notes
        await until(lambda: not Path(f"/proc/{pid}").exists())
        assert plans.agents("p")[0].status == "idle"


@played
async def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    """T-X.39: TASK-404, PROJECT-404, EXECUTION-404; bad input is said as such."""
    folder = a_project(tmp_path / "p", {"t1": {}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        asked: list[tuple[type[PenstockError], Callable[[], Any]]] = [
            (ProjectNotFound, lambda: plans.project("other")), (TaskNotFound, lambda: plans.task("p", "t9")),
            (TaskNotFound, lambda: plans.executions("p", task="t9")), (SessionNotFound, lambda: plans.log("p", "s9")),
            (BadInput, lambda: plans.tasks("p", "odd")),
        ]  # fmt: skip
        for kind, ask in asked:
            with pytest.raises(kind):
                ask()
        with pytest.raises(TaskNotFound):
            await plans.execute("p", "t9")
        with pytest.raises(BadInput):
            await plans.register(tmp_path / "nowhere")
        with pytest.raises(BadInput):
            await plans.force_complete("p", "t1", reason="  ")


@played
async def test_a_task_is_added_by_hand(tmp_path: Path) -> None:
    """T-X.39, T-X.8: its file is written, the run has it, and what is wrong leaves nothing behind."""
    folder = a_project(tmp_path / "p", {"t1": {}, "t0": {}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        await ended(plans, "p", "t1")
        task = await plans.add_task("p", {"id": "t2", "title": "Second", "dependsOn": ["t1"], "description": "More."})
        assert (task.status, task.ready, task.file) == ("pending", True, "tasks/t2.md")
        assert fields_of(folder, "t2")["depends_on"] == ["t1"]
        wrong: list[dict[str, Any]] = [
            {"id": "t3", "title": "Third", "dependsOn": ["nobody"]}, {"id": "../t3", "title": "Away"},
            {"id": "t2", "title": "Again"}, {"id": "t3"}, {"id": "t3", "title": "T", "odd": 1},
        ]  # fmt: skip
        for fields in wrong:
            with pytest.raises(TaskSchema):
                await plans.add_task("p", fields)
        assert sorted(path.name for path in (folder / "tasks").iterdir()) == ["t0.md", "t1.md", "t2.md"]
        await plans.execute("p", "t2")
        assert (await ended(plans, "p", "t2")).status == "completed"


@played
async def test_dependencies_are_changed_by_hand(tmp_path: Path) -> None:
    """T-8.3.5: a cycle is solved by other dependencies, in the file and in the run."""
    folder = a_project(tmp_path / "p", {"a": {"depends_on": ["b"]}, "b": {"depends_on": ["a"]}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await until(lambda: plans.project("p").status == "paused")
        with pytest.raises(TaskSchema):
            await plans.change_task("p", "a", depends_on=["nobody"])
        assert fields_of(folder, "a")["depends_on"] == ["b"]
        task = await plans.change_task("p", "a", depends_on=[])
        assert task.ready
        assert plans.deadlocks("p") == []
        await plans.resume("p")
        await until(lambda: plans.project("p").status == "completed")


@played
async def test_another_process_asks_through_the_inbox(tmp_path: Path) -> None:
    """T-5.1.1: who does not drive the store registers, executes, reviews and stops all the same."""
    folder = a_project(tmp_path / "p", {"t1": {"success_criteria": ["x", "y"]}}, scenarios={"t1": claims("x")})
    async with driven(tmp_path / "s.db") as plans:
        async with Penstock(tmp_path / "s.db", drive=False) as door:
            other = Plans(door)
            await other.register(folder)
            await other.execute("p", "t1")
            await ended(other, "p", "t1")
            await other.review_approve("p", "t1", by="kim")
            assert one(plans, "p", "t1").status == "completed"
            assert other.log("p", other.executions("p")[0].session).lines
            write_task(folder, "t2")
            write_task(folder, "t3", depends_on=["t2"])
            assert (await other.sync("p")).added == ["t2", "t3"]
            write_task(folder, "t4", depends_on=["t1"])
            assert (await other.sync("p")).added == ["t4"]
            await other.start("p")
            await until(lambda: other.project("p").status == "completed")
            assert {*statuses(plans, "p").values()} == {"completed"}
            assert (await other.stop("p")).status == "completed"
