"""Files that change while a plan runs: planned and shown, then the run is moved along; obstacles are told."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.app.plan.background.schedules import ScheduledTasks, fire, split_schedule
from penstock.app.plan.projects import project_row
from penstock.errors import BadInput, DocumentInvalid, MigrationBlocked
from penstock.lang.plan.front_matter import write_front_matter
from tests.app.plans import (
    a_project,
    claims,
    driven,
    ended,
    fields_of,
    one,
    played,
    settled,
    statuses,
    until,
    write_task,
)


def edit(folder: Path, id: str, **fields: Any) -> None:
    path = folder / "tasks" / f"{id}.md"
    path.write_bytes(write_front_matter(path.read_bytes(), fields))


@played
async def test_a_new_task_is_planned_and_then_there(tmp_path: Path) -> None:
    """T-X.8, T-8.3.5: shown first; the run goes on where it was, and what was done is not done again."""
    folder = a_project(tmp_path / "p", {"a": {}, "z": {"depends_on": ["a"]}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        run = plans.project("p").run
        await plans.execute("p", "a")
        await ended(plans, "p", "a")
        assert (await plans.plan_sync("p")).added == []
        write_task(folder, "b", depends_on=["a"])
        write_task(folder, "c", depends_on=["b", {"id": "a", "optional": True}])
        told = await plans.plan_sync("p")
        assert (told.added, told.changed, told.removed, told.migrated) == (["b", "c"], [], [], False)
        assert sorted(statuses(plans, "p")) == ["a", "z"]
        told = await plans.sync("p")
        assert told.migrated
        assert statuses(plans, "p") == {"a": "completed", "b": "pending", "c": "pending", "z": "pending"}
        assert plans.project("p").run == run
        await plans.start("p")
        await settled(plans, "p")
        assert [each.task for each in plans.executions("p")].count("a") == 1
        assert {*statuses(plans, "p").values()} == {"completed"}
        assert (await plans.plan_sync("p")).changed == []


@played
async def test_a_changed_dependency_holds_from_then_on(tmp_path: Path) -> None:
    """T-X.8, T-8.3.5: b waits for c now, and not for a any more; changed texts and settings are told, too."""
    folder = a_project(tmp_path / "p", {"a": {}, "b": {"depends_on": ["a"]}, "c": {}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        edit(folder, "b", depends_on=["c"])
        write_task(folder, "a", body="Do it otherwise.")
        told = await plans.sync("p")
        assert sorted(told.changed) == ["a", "b"]
        assert plans.can_execute("p", "b").blocking_tasks == ["c"]
        await plans.execute("p", "c")
        await ended(plans, "p", "c")
        await plans.execute("p", "b")
        assert (await ended(plans, "p", "b")).status == "completed"
        assert plans.task("p", "a").description == "Do it otherwise."
        assert one(plans, "p", "a").status == "pending"


@played
async def test_a_deleted_file_takes_the_task_with_it(tmp_path: Path) -> None:
    """T-X.8: a pending task goes; one in progress is an obstacle, and stays."""
    gate = tmp_path / "go"
    waits = [{"init": True}, {"wait_for": str(gate)}, {"result": "done"}]
    folder = a_project(tmp_path / "p", {"a": {}, "b": {}, "c": {"depends_on": ["b"]}}, scenarios={"a": waits})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "a")
        (folder / "tasks" / "a.md").unlink()
        (folder / "tasks" / "b.md").unlink()
        with pytest.raises(DocumentInvalid):
            await plans.sync("p")
        edit(folder, "c", depends_on=[])
        told = await plans.sync("p")
        assert (told.removed, told.changed) == (["b"], ["c"])
        assert "«a»" in told.obstacles[0]
        assert statuses(plans, "p") == {"a": "in_progress", "c": "pending"}
        gate.touch()
        assert (await ended(plans, "p", "a")).status == "completed"
        told = await plans.sync("p")
        assert told.removed == ["a"]
        await plans.start("p")
        await settled(plans, "p")
        assert statuses(plans, "p") == {"c": "completed"}


@played
async def test_a_status_in_a_file_obeys_the_table(tmp_path: Path) -> None:
    """T-X.8, T-X.2: pending → cancelled is done, completed → pending is refused, and the file is not touched."""
    folder = a_project(tmp_path / "p", {"a": {}, "b": {}, "c": {}, "d": {}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "a")
        await ended(plans, "p", "a")
        await until(lambda: fields_of(folder, "a").get("status") == "completed")
        edit(folder, "a", status="pending")
        edit(folder, "b", status="cancelled")
        edit(folder, "c", status="completed")
        edit(folder, "d", status="in_progress")
        before = (folder / "tasks" / "a.md").read_bytes()
        told = await plans.sync("p")
        assert {each.task: bool(each.refused) for each in told.statuses} == {
            "a": True, "b": False, "c": True, "d": False,
        }  # fmt: skip
        assert not told.migrated
        await ended(plans, "p", "d")
        assert statuses(plans, "p") == {"a": "completed", "b": "cancelled", "c": "pending", "d": "completed"}
        assert (folder / "tasks" / "a.md").read_bytes() == before


@played
async def test_a_task_for_a_workflow_that_has_ended_begins_another_run(tmp_path: Path) -> None:
    """T-X.38, T-X.27: what was done stays done, and history is kept."""
    folder = a_project(tmp_path / "p", {"a": {}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await settled(plans, "p")
        write_task(folder, "b", depends_on=["a"])
        assert (await plans.sync("p")).migrated
        assert statuses(plans, "p") == {"a": "completed", "b": "pending"}
        await plans.start("p")
        await settled(plans, "p")
        assert sorted(each.task for each in plans.executions("p")) == ["a", "b"]


@played
async def test_a_template_makes_a_task_once_per_time(tmp_path: Path) -> None:
    """T-X.40, T-5.2.1: `<id>-<yyyymmddThhmm>`, never two per fire, trigger scheduled."""
    folder = a_project(tmp_path / "p", {"a": {}, "nightly": {"schedule": "* * * * * Asia/Seoul", "priority": 2}})
    async with driven(tmp_path / "s.db", work=False) as plans:
        await plans.register(folder)
        assert sorted(statuses(plans, "p")) == ["a"]
        at = round(datetime(2026, 11, 18, 1, 0, tzinfo=UTC).timestamp() * 1000)
        row = project_row(plans.door, "p")
        assert await fire(plans.door, row, "nightly", "tasks/nightly.md", at, "Asia/Seoul") == 1
        assert await fire(plans.door, row, "nightly", "tasks/nightly.md", at, "Asia/Seoul") == 0
        task = one(plans, "p", "nightly-20261118T1000")
        assert (task.status, task.priority, task.trigger) == ("pending", 2, "scheduled")
        assert "schedule" not in fields_of(folder, "nightly-20261118T1000")
        clock = ScheduledTasks(plans.door)
        made = await clock.step() + await clock.step()
        assert made <= 1
    assert split_schedule("0 3 * * *") == ("0 3 * * *", "UTC")
    assert split_schedule("0 3 * * * Asia/Seoul") == ("0 3 * * *", "Asia/Seoul")


@played
async def test_dependencies_on_what_is_over_hold_at_once(tmp_path: Path) -> None:
    """T-X.29: an optional one on a cancelled task is resolved, one that is not optional blocks, with the reason."""
    folder = a_project(tmp_path / "p", {"gone": {}, "done": {}, "left": {"depends_on": ["gone"]}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "done")
        await ended(plans, "p", "done")
        await plans.cancel("p", "gone")
        write_task(folder, "may", depends_on=[{"id": "gone", "optional": True}, "done"])
        write_task(folder, "must", depends_on=["gone"])
        assert (await plans.sync("p")).added == ["may", "must"]
        assert plans.can_execute("p", "may").can_execute
        can = plans.can_execute("p", "must")
        assert (can.can_execute, can.reason, can.blocking_tasks) == (False, "dependency_cancelled", ["gone"])
        await plans.start("p")
        await until(lambda: one(plans, "p", "may").status == "completed")
        await settled(plans, "p", "paused")
        edit(folder, "must", depends_on=[{"id": "gone", "optional": True}])
        edit(folder, "left", depends_on=[])
        await plans.sync("p")
        await plans.resume("p")
        await settled(plans, "p")
        assert statuses(plans, "p")["must"] == statuses(plans, "p")["left"] == "completed"


@played
async def test_a_run_is_moved_while_agents_work_and_reviews_wait(tmp_path: Path) -> None:
    """T-X.8: what is under way goes on; an agent that works cannot be taken away."""
    gate = tmp_path / "go"
    waits = [{"init": True}, {"wait_for": str(gate)}, {"result": "done"}]
    folder = a_project(
        tmp_path / "p", {"busy": {"assigned_agent": "a1"}, "doubt": {"success_criteria": ["x", "y"]}},
        scenarios={"busy": waits, "doubt": claims("x")},
    )  # fmt: skip
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await until(lambda: one(plans, "p", "doubt").review_required)
        write_task(folder, "more", depends_on=["busy", "doubt"])
        assert (await plans.sync("p")).migrated
        assert one(plans, "p", "doubt").review_required
        edit(folder, "busy", assigned_agent=None)
        (folder / "agents" / "a1.md").unlink()
        with pytest.raises(MigrationBlocked, match="a1"):
            await plans.sync("p")
        gate.touch()
        await plans.review_approve("p", "doubt", by="kim")
        await settled(plans, "p")
        assert {*statuses(plans, "p").values()} == {"completed"}
        assert len(plans.executions("p", task="busy")) == 1


@played
async def test_a_skill_of_the_call_goes_before_the_task_s(tmp_path: Path) -> None:
    """T-X.11, T-5.2.6: it is in what the agent is told; the file of the task is not changed."""
    told = [{"init": True}, {"prompt": "told.txt"}, {"result": "done"}]
    folder = a_project(tmp_path / "p", {"a": {"skill": "old"}, "b": {}}, scenarios={"a": told})
    (folder / "skills").mkdir()
    (folder / "skills" / "old.md").write_text("Do it the old way.")
    (folder / "skills" / "new.md").write_text("Do it the new way.")
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        with pytest.raises(BadInput):
            await plans.execute("p", "a", skill="none")
        await plans.execute("p", "a", skill="new")
        await ended(plans, "p", "a")
        assert "the new way" in (folder / "told.txt").read_text()
        assert fields_of(folder, "a")["skill"] == "old"


@played
async def test_trust_is_given_and_taken_between_two_runs(tmp_path: Path) -> None:
    """T-X.13: commands of criteria run in trusted projects alone; what was done stays done."""
    folder = a_project(
        tmp_path / "p", {"a": {}, "b": {"success_criteria": [{"command": ["true"]}]}, "c": {"depends_on": ["b"]}}
    )
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "a")
        await ended(plans, "p", "a")
        assert (await plans.change("p", trusted=True)).trusted
        assert statuses(plans, "p") == {"a": "completed", "b": "pending", "c": "pending"}
        await plans.execute("p", "b")
        assert (await ended(plans, "p", "b")).confidence == 100
        assert not (await plans.change("p", enabled=False)).enabled
        with pytest.raises(BadInput):
            await plans.start("p")


@played
async def test_a_start_loads_what_has_come_since_the_project_was_registered(tmp_path: Path) -> None:
    """T-7.1.2: all tasks are loaded at the start; wrong files refuse it, and nothing has begun."""
    folder = a_project(tmp_path / "p", {"t1": {}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        write_task(folder, "t2", depends_on=["t1"])
        (folder / "tasks" / "t3.md").write_text("---\nid: t3\ndepends_on: [none]\n---\n")
        with pytest.raises((BadInput, DocumentInvalid)):
            await plans.start("p", by="ann")
        assert plans.project("p").status == "idle"
        (folder / "tasks" / "t3.md").unlink()
        await plans.start("p", by="ann")
        await settled(plans, "p")
        assert statuses(plans, "p") == {"t1": "completed", "t2": "completed"}
