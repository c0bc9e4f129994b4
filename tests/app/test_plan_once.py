"""Nothing is done twice: when several ask at once, when somebody asks again, when an engine died before it began."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.app.plan.background import news
from penstock.app.plan.background.schedules import fire
from penstock.app.plan.projects import project_row
from penstock.errors import ApproverDenied, BadInput, Refused
from tests.app.plans import (
    a_project,
    claims,
    driven,
    one,
    played,
    scenario,
    settled,
    statuses,
    until,
    write_task,
)  # fmt: skip

ROOT = Path(__file__).parents[2]
#: is killed when it has committed that a task begins, and before anything of it has begun
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from penstock.executors import cli_agent
from tests.app.plans import driven

cli_agent.prepare = lambda *given: os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with driven(Path(sys.argv[1])) as plans:
        await plans.register(sys.argv[2])
        await plans.start("p")
        await asyncio.Event().wait()

asyncio.run(main())
"""


def waits(gate: Path) -> list[dict[str, Any]]:
    return [{"init": True}, {"wait_for": str(gate)}, {"result": "done"}]


@played
async def test_what_never_began_waits_for_the_answer_after_a_restart(tmp_path: Path) -> None:
    """T-9.2.3, T-9.2.5, T-X.25: the engine was killed before its agent began: pending, until somebody says «resume»."""
    folder, store = a_project(tmp_path / "p", {"a": {}}), tmp_path / "s.db"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(store), str(folder)], cwd=ROOT, check=False, timeout=120)
    assert killed.returncode == -9
    async with driven(store) as plans:
        plans.door.go_on(str(plans.project("p").run))
        await until(lambda: one(plans, "p", "a").status != "in_progress")
        assert (plans.project("p").status, one(plans, "p", "a").status) == ("paused", "pending")
        assert [each.pid for each in plans.executions("p")] == [None]
        await plans.resume("p")
        await settled(plans, "p")
        assert statuses(plans, "p") == {"a": "completed"}


@played
async def test_many_who_start_at_once_start_one_run(tmp_path: Path) -> None:
    """T-7.1.1, T-7.2.2: the plan has ended and has a new task; five people press Start."""
    gate = tmp_path / "go"
    folder = a_project(tmp_path / "p", {"a": {}}, scenarios={"b": waits(gate)})
    async with driven(tmp_path / "s.db") as plans:
        both = await asyncio.gather(plans.register(folder), plans.register(folder))
        assert both[0].run == both[1].run
        await plans.start("p")
        await settled(plans, "p")
        write_task(folder, "b")

        async def pressed(after: float) -> str | None:
            await asyncio.sleep(after)
            return (await plans.start("p")).run

        assert len({*await asyncio.gather(*(pressed(0.004 * n) for n in range(5)))}) == 1
        gate.touch()
        await settled(plans, "p")
        assert sorted(each.task for each in plans.executions("p")) == ["a", "b"]


@played
async def test_a_plan_that_is_over_can_be_started_again(tmp_path: Path) -> None:
    """T-7.1.4, T-X.27: there is nothing to do, which is no error."""
    folder = a_project(tmp_path / "p", {"a": {}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await settled(plans, "p")
        assert (await plans.start("p")).status == "completed"
        assert (await plans.resume("p")).status == "completed"
        assert len(plans.executions("p")) == 1


@played
async def test_what_had_failed_before_is_not_retried_beside_a_run_that_works(tmp_path: Path) -> None:
    """T-X.1, T-2.3.1: a second run would do what the first one does."""
    gate = tmp_path / "go"
    folder = a_project(tmp_path / "p", {"x": {"status": "failed"}, "y": {}}, scenarios={"y": waits(gate)})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await until(lambda: one(plans, "p", "y").status == "in_progress")
        with pytest.raises(Refused, match="in progress"):
            await plans.retry("p", "x")
        gate.touch()
        await settled(plans, "p")
        await plans.retry("p", "x")
        await until(lambda: statuses(plans, "p") == {"x": "completed", "y": "completed"})
        assert sorted(each.task for each in plans.executions("p")) == ["x", "y"]


@played
async def test_who_registers_again_changes_nothing_that_he_does_not_say(tmp_path: Path) -> None:
    """T-X.14, T-X.33: a trusted project stays trusted, one that is off stays off, and what waits for a review waits."""
    folder = a_project(tmp_path / "p", {"a": {"success_criteria": ["x", "y"]}}, scenarios={"a": claims("x")})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder, trusted=True)
        await plans.start("p")
        await until(lambda: one(plans, "p", "a").review_required)
        before = plans.project("p")
        again = await plans.register(folder)
        assert (again.trusted, again.run, again.status) == (True, before.run, before.status)
        with pytest.raises(Refused, match="review"):
            await plans.change("p", trusted=False)
        assert one(plans, "p", "a").review_required
        await plans.change("p", enabled=False)
        assert not (await plans.register(folder)).enabled
        scenario(folder, a=claims("x", "y"))
        await plans.review_reject("p", "a", comment="y is missing")
        await settled(plans, "p")


@played
async def test_a_scheduled_task_whose_file_alone_was_written_is_made_up_for(tmp_path: Path) -> None:
    """T-X.40: the engine was killed between the file and the run; the same time comes once more."""
    folder = a_project(tmp_path / "p", {"a": {}, "nightly": {"schedule": "0 1 * * *"}})
    async with driven(tmp_path / "s.db", work=False) as plans:
        await plans.register(folder)
        write_task(folder, "nightly-20261118T0100", trigger="scheduled")
        at = round(datetime(2026, 11, 18, 1, 0, tzinfo=UTC).timestamp() * 1000)
        row = project_row(plans.door, "p")
        assert await fire(plans.door, row, "nightly", "tasks/nightly.md", at) == 1
        assert await fire(plans.door, row, "nightly", "tasks/nightly.md", at) == 0
        assert one(plans, "p", "nightly-20261118T0100").trigger == "scheduled"


def test_what_is_being_told_when_the_server_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T-5.2.10, T-10.1.5: the completion report of a task that was completed just before."""
    folder, write, written = a_project(tmp_path / "p", {"a": {}}), news._write_files, threading.Event()

    def slowly(writes: list[tuple[Path, str, dict[str, Any]]]) -> None:
        if any(fields["status"] == "completed" for _, _, fields in writes):
            written.set()
            time.sleep(0.2)
        write(writes)

    async def play() -> None:
        async with driven(tmp_path / "s.db") as plans:
            await plans.register(folder)
            await plans.execute("p", "a")
            await until(written.is_set)
        async with driven(tmp_path / "s.db", work=False) as plans:
            assert [each.body["taskId"] for each in plans.reports("completion", "p") if each.body["taskId"]] == ["a"]

    monkeypatch.setattr(news, "_write_files", slowly)
    asyncio.run(play())


def test_what_an_agent_says_on_stderr_is_shown_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T-X.12: also one of which only the end is in what is shown."""
    secret = "sk-very-secret-value"
    monkeypatch.setenv("MODEL_KEY", secret)
    said = f"{secret}{'.' * (4096 - 10)} bad key {secret}\n"
    steps = [{"init": True}, {"stderr": said}, {"result": "done"}]
    folder = a_project(tmp_path / "p", {"a": {}}, scenarios={"a": steps}, env=["MODEL_KEY"])

    async def play() -> None:
        async with driven(tmp_path / "s.db") as plans:
            await plans.register(folder)
            await plans.execute("p", "a")
            await until(lambda: one(plans, "p", "a").status == "completed")
            shown = plans.log("p", plans.executions("p")[0].session).stderr
            assert "bad key ***" in shown
            assert "value" not in shown

    asyncio.run(play())


@played
async def test_who_rejects_while_it_is_merged_is_refused(tmp_path: Path) -> None:
    """T-X.14: else the work of a task that was sent back would be in the project, and its worktree gone."""
    works = [{"init": True}, {"edit": {"new.txt": "new\n"}}, *claims("x")[1:]]
    folder = a_project(tmp_path / "p", {"a": {"success_criteria": ["x", "y"]}}, scenarios={"a": works})
    for line in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "begin"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *line], cwd=folder, check=True)
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await until(lambda: one(plans, "p", "a").review_required)
        approved = asyncio.ensure_future(plans.review_approve("p", "a"))
        await asyncio.sleep(0)
        for other in (
            plans.review_reject("p", "a", comment="no"),
            plans.cancel("p", "a"),
            plans.review_approve("p", "a"),
        ):
            with pytest.raises(Refused, match="at this moment"):
                await other
        assert (await approved).status == "completed"
        assert (folder / "new.txt").exists()
        await settled(plans, "p")


@played
async def test_only_the_reviewers_of_a_plan_decide(tmp_path: Path) -> None:
    """T-X.14: where plan.yaml names some; a name is a user's, role:NAME is whoever has the role."""
    folder = a_project(
        tmp_path / "p", {"a": {"success_criteria": ["x", "y"]}}, scenarios={"a": claims("x")}, reviewers=["lee"]
    )
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await until(lambda: one(plans, "p", "a").review_required)
        for who in ("kim", ""):
            for asked in (plans.review_approve("p", "a", by=who), plans.complete("p", "a", by=who)):
                with pytest.raises(ApproverDenied):
                    await asked
            with pytest.raises(ApproverDenied):
                await plans.review_reject("p", "a", comment="no", by=who)
        assert one(plans, "p", "a").review_required
        assert (await plans.review_approve("p", "a", by="lee")).status == "completed"


@played
async def test_a_skill_of_the_call_is_one_of_the_projects(tmp_path: Path) -> None:
    """T-X.11: in the folder that plan.yaml names, and nowhere else."""
    folder = a_project(tmp_path / "p", {"a": {}}, skills_dir="know")
    (folder / "know").mkdir()
    (folder / "know" / "quick.md").write_text("---\nid: quick\n---\nBe quick.\n")
    (tmp_path / "outside.md").write_text("not ours")
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        with pytest.raises(BadInput, match="there is no file know/"):
            await plans.execute("p", "a", skill="../../outside")
        await plans.execute("p", "a", skill="quick")
        await until(lambda: one(plans, "p", "a").status == "completed")
