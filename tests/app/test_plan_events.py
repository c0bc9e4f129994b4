"""Events of plans under the seed's names, in their order; and what a session says, live and afterwards."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.app.plan.events import BEHIND, PlanEvents
from penstock.app.plan.live_news import LiveNews
from penstock.app.plan.task_commands import live_state
from penstock.errors import Refused
from penstock.kernel import command as C
from tests.app.plans import a_project, claims, driven, ended, one, played, settled, until

SPEAKS: list[dict[str, Any]] = [
    {"init": True}, {"say": "I look at it"}, {"raw": "this is no JSON\n"}, {"tool": "Bash", "input": {"command": "ls"}},
    {"progress": 40}, {"result": "all done"},
]  # fmt: skip


@played
async def test_a_subscriber_hears_everything_in_order(tmp_path: Path) -> None:
    """T-A.21, T-10.1.4, T-10.2.1, T-10.2.2, T-10.2.3, T-10.2.4, T-10.2.5, T-X.35: a bad line does not stop it."""
    folder = a_project(tmp_path / "p", {"t1": {}}, scenarios={"t1": SPEAKS})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        with plans.events.listening(plans.door.tenant, "p") as heard:
            await plans.execute("p", "t1")
            await ended(plans, "p", "t1")
            await until(lambda: sum(each.event == "task:statusChanged" for each in heard.events) == 2)
            told = [each for each in heard.events if each.event != "dashboard:update"]
        spoken = [each.event for each in told if each.data.get("kind") not in ("raw", "progress", "system")]
        assert spoken == [
            "task:statusChanged", "claude:started", "claude:stream", "claude:stream", "claude:complete",
            "task:statusChanged",
        ]  # fmt: skip
        assert [(each.data["from"], each.data["to"]) for each in told if "from" in each.data] == [
            ("pending", "in_progress"), ("in_progress", "completed"),
        ]  # fmt: skip
        raw = next(each for each in told if each.data.get("kind") == "raw")
        assert (raw.event, raw.data["text"]) == ("claude:stream", "this is no JSON")
        assert [each.number for each in told] == sorted(each.number for each in told)


@played
async def test_what_is_said_is_passed_on_when_its_row_has_it(tmp_path: Path) -> None:
    """T-10.2.3, T-X.35: whoever reads upon an event reads what it told of, also of the last line before a silence."""
    go = tmp_path / "go"
    steps = [{"init": True}, {"progress": 40}, {"say": "a cycle"}, {"wait_for": str(go)}, {"result": "done"}]
    folder = a_project(tmp_path / "p", {"t1": {}}, scenarios={"t1": steps})
    async with driven(tmp_path / "s.db") as plans:
        passed: list[tuple[Any, str, int | None]] = []

        def tell(_tenant: str, name: str, data: Any) -> None:
            row = plans.door.store.session(str(data.get("session")))
            if name == "claude:stream" and row is not None:
                passed.append((data["text"], row.last_line, row.progress))

        LiveNews(plans.door, tell)
        await plans.register(folder)
        await plans.execute("p", "t1")
        await until(lambda: ("a cycle", "a cycle", 40) in passed)
        go.write_text("")
        await ended(plans, "p", "t1")
        behind = [(text, line) for text, line, _ in passed if text == "a cycle" != line]
        assert behind == [], "it was passed on before its row had it"


@played
async def test_an_error_in_the_stream_is_told_and_reported(tmp_path: Path) -> None:
    """T-10.2.6, T-R.7, T-X.16: claude:error, an error report, and the error handler tries again."""
    fails = [{"init": True}, {"error": "the model is away"}, {"exit": 1}]
    folder = a_project(tmp_path / "p", {"t1": {}}, scenarios={"t1": {"attempts": [fails, SPEAKS]}})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        with plans.events.listening(plans.door.tenant, "p") as heard:
            await plans.execute("p", "t1")
            assert (await ended(plans, "p", "t1")).status == "completed"
            await until(lambda: plans.reports("error", "p"))
        assert "claude:error" in [each.event for each in heard.events]
        assert "the model is away" in plans.reports("error", "p")[0].body["message"]
        assert one(plans, "p", "t1").retry_count == 1


@played
async def test_what_a_session_says_is_seen_while_it_runs(tmp_path: Path) -> None:
    """T-10.2.3, T-3.2.1, T-X.7: pid, progress, the last line and the transcript, before it has ended."""
    gate = tmp_path / "go"
    steps = [{"init": True}, {"progress": 30}, {"say": "half way"}, {"wait_for": str(gate)}, {"result": "done"}]
    folder = a_project(tmp_path / "p", {"t1": {}}, scenarios={"t1": steps})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        await until(lambda: one(plans, "p", "t1").last_line == "half way")
        (execution,) = plans.executions("p")
        assert execution.status == "running"
        assert (execution.pid, execution.last_heartbeat_at) != (None, None)
        await until(lambda: one(plans, "p", "t1").progress == 30)
        agent = plans.agents("p")[0]
        assert (agent.status, agent.current_task, agent.pid) == ("busy", "t1", execution.pid)
        log = plans.log("p", execution.session)
        assert "half way" in [line.text for line in log.lines]
        assert not log.ended
        assert (await plans.heartbeat("p", execution.session)).session == execution.session
        gate.touch()
        await ended(plans, "p", "t1")
        more = plans.log("p", execution.session, after=log.next)
        assert [line.kind for line in more.lines] == ["result"]
        assert plans.log("p", execution.session, after=more.next).ended
        with pytest.raises(Refused):
            await plans.heartbeat("p", execution.session)


@played
async def test_a_slow_subscriber_loses_the_oldest_and_holds_nobody_up(tmp_path: Path) -> None:
    """T-X.35: who listens hears one project or all, of its own tenant, and can come back after a number."""
    hub = PlanEvents(lambda: 7)
    with hub.listening("mine", "p") as one_project, hub.listening("mine") as all_projects:
        for number in range(BEHIND + 10):
            hub.publish("mine", "p", "claude:stream", {"n": number})
        hub.publish("mine", "q", "dashboard:update", {})
        hub.publish("other", "p", "dashboard:update", {})
        assert len(one_project.events) == BEHIND
        assert (await one_project.next()).data["n"] == 10
        assert all_projects.events[-1].project == "q"
    with hub.listening("mine", after=hub.number - 2) as late:
        assert [each.project for each in late.events] == ["q"]
    events = hub.subscribe("mine")
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    hub.publish("mine", "p", "dashboard:update", {"x": 1})
    assert (await waiting).data == {"x": 1}


def git(folder: Path, *args: str) -> str:
    given = ["-c", "user.name=t", "-c", "user.email=t@t"]
    return subprocess.run(["git", *given, *args], cwd=folder, check=True, capture_output=True, text=True).stdout


@played
async def test_approved_work_is_merged_and_the_diff_is_shown(tmp_path: Path) -> None:
    """T-X.14: what a reviewer approves gets into the project; before that it lies in a worktree of its own."""
    steps = [{"init": True}, {"edit": {"page.txt": "new\n"}}, *claims("one")[1:]]
    folder = a_project(tmp_path / "p", {"t1": {"success_criteria": ["one", "two"]}}, scenarios={"t1": steps})
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        assert (await ended(plans, "p", "t1")).review_required
        (execution,) = plans.executions("p")
        assert execution.diff_stat is not None
        assert (execution.diff_stat.files, execution.diff_stat.added) == (1, 1)
        assert "+new" in plans.diff("p", execution.session)
        assert not (folder / "page.txt").exists()
        await plans.review_approve("p", "t1", by="kim")
        assert (folder / "page.txt").read_text() == "new\n"
        await settled(plans, "p")
        assert git(folder, "worktree", "list").count("\n") == 1


@played
async def test_a_conflict_refuses_the_approval_and_discarding_frees_it(tmp_path: Path) -> None:
    """T-X.14: nothing is changed by a conflict; the branch is discarded by hand, and then it can be approved."""
    steps = [{"init": True}, {"edit": {"page.txt": "theirs\n"}}, *claims("one")[1:]]
    folder = a_project(tmp_path / "p", {"t1": {"success_criteria": ["one", "two"]}}, scenarios={"t1": steps})
    (folder / "page.txt").write_text("old\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        await ended(plans, "p", "t1")
        (folder / "page.txt").write_text("mine\n")
        git(folder, "commit", "-q", "-am", "second")
        with pytest.raises(Refused, match=r"page\.txt"):
            await plans.review_approve("p", "t1", by="kim")
        assert one(plans, "p", "t1").review_required
        execution = await plans.worktree("p", "t1", "discard")
        assert (execution.merge, execution.worktree) == ("discarded", None)
        with pytest.raises(Refused, match="already"):
            await plans.worktree("p", "t1", "merge")
        await plans.review_approve("p", "t1", by="kim")
        assert one(plans, "p", "t1").status == "completed"
        assert (folder / "page.txt").read_text() == "mine\n"


@played
async def test_work_that_is_approved_in_the_inbox_is_merged_too(tmp_path: Path) -> None:
    """T-X.14: whichever door the reviewer comes by."""
    steps = [{"init": True}, {"edit": {"page.txt": "new\n"}}, *claims("one")[1:]]
    folder = a_project(tmp_path / "p", {"t1": {"success_criteria": ["one", "two"]}}, scenarios={"t1": steps})
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    async with driven(tmp_path / "s.db") as plans:
        run = (await plans.register(folder)).run or ""
        await plans.execute("p", "t1")
        await ended(plans, "p", "t1")
        (firing,) = live_state(plans.door, plans.door.row(run)).items
        await plans.door.command(run, C.work(firing, "approve", "kim"))
        await until((folder / "page.txt").exists)
        await until(lambda: plans.executions("p")[0].merge == "merged")
        assert one(plans, "p", "t1").status == "completed"
