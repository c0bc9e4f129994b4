"""Crashes: of agents, of the server, of the database. Living agents are adopted, dead ones' tasks are pending again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.plan.files.state_file import load_state
from tests.app.plans import (
    DONE,
    a_project,
    driven,
    ended,
    fields_of,
    one,
    played,
    scenario,
    settled,
    statuses,
    until,
    write_task,
)  # fmt: skip

ROOT = Path(__file__).parents[2]
SERVER = """
import asyncio, sys
from pathlib import Path
from tests.app.plans import driven

async def main():
    async with driven(Path(sys.argv[1])) as plans:
        await plans.register(sys.argv[2])
        await plans.start("p")
        print("started", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def dies_at(percent: int) -> list[dict[str, Any]]:
    return [{"init": True}, {"progress": percent}, {"die": "KILL"}]


@played
async def test_a_crash_near_the_end_completes_the_task(tmp_path: Path) -> None:
    """T-A.9, T-8.1.1, T-8.1.2, T-8.1.3, T-8.1.6, T-8.1.7, T-X.20: with notes, and an incident report."""
    folder = a_project(tmp_path / "p", {"t1": {}}, scenarios={"t1": dies_at(85)})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        task = await ended(plans, "p", "t1")
        assert (task.status, task.completed_by_recovery) == ("completed", True)
        assert "completed after crash at 85%" in task.review_notes
        assert plans.agents("p")[0].status == "idle"
        await until(lambda: plans.reports("incident", "p"))
        assert plans.reports("incident", "p")[0].body["kind"] == "crash"


@played
async def test_a_crash_before_that_is_tried_again(tmp_path: Path) -> None:
    """T-A.10, T-8.1.4, T-8.1.5, T-8.1.8, T-X.21: at 50 it is resumed, at 5 it begins anew; each counts as a retry."""
    tasks: dict[str, dict[str, Any]] = {"half": {}, "early": {}}
    folder = a_project(
        tmp_path / "p", tasks,
        scenarios={"half": {"attempts": [dies_at(50), DONE]}, "early": {"attempts": [dies_at(5), DONE]}},
    )  # fmt: skip
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await settled(plans, "p")
        resumed = {each.task: each.resume for each in plans.executions("p") if each.attempt == 2}
        assert resumed == {"half": True, "early": False}
        assert [one(plans, "p", id).retry_count for id in ("half", "early")] == [1, 1]
        await until(lambda: len(plans.reports("incident", "p")) == 2)


@played
async def test_a_silent_agent_is_ended_as_a_zombie(tmp_path: Path) -> None:
    """T-A.11, T-8.2.1, T-8.2.3, T-8.2.4, T-8.2.5, T-8.2.6, T-8.2.7, T-X.7: TERM, then KILL, and a zombie report."""
    silent = [{"init": True}, {"ignore": ["TERM"]}, {"hang": True}]
    folder = a_project(
        tmp_path / "p", {"t1": {}}, scenarios={"t1": {"attempts": [silent, DONE]}}, heartbeat_s=6, term_s=0.5
    )
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        assert (await ended(plans, "p", "t1")).status == "completed"
        await until(lambda: plans.reports("zombie", "p"))
        report = plans.reports("zombie", "p")[0].body
        assert (report["taskId"], report["killFailed"]) == ("t1", False)
        first = next(each for each in plans.executions("p") if each.attempt == 1)
        assert first.code == "AGENT_ZOMBIE"
        assert not Path(f"/proc/{first.pid}").exists()


@played
async def test_an_execution_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """T-A.12, T-3.2.4, T-3.3.2, T-X.19: failed with «timeout», the process is gone, an incident is logged."""
    folder = a_project(
        tmp_path / "p",
        {"t1": {"timeout_s": 8}},
        scenarios={"t1": {"attempts": [[{"init": True}, {"hang": True}], DONE]}},
    )
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        assert (await ended(plans, "p", "t1")).status == "completed"
        first = next(each for each in plans.executions("p") if each.attempt == 1)
        assert first.status == "failed"
        assert (first.error or "").startswith("timeout")
        assert not Path(f"/proc/{first.pid}").exists()
        await until(lambda: any(r.body["kind"] == "timeout" for r in plans.reports("incident", "p")))


@played
async def test_after_a_kill_the_living_are_adopted_and_the_dead_pending(tmp_path: Path) -> None:
    """T-A.17, T-9.2.1, T-9.2.3, T-9.2.4, T-9.2.5, T-X.24, T-X.25: paused until answered; nothing runs twice."""
    gate, count = tmp_path / "go", tmp_path / "count"
    waits = [{"init": True}, {"progress": 40}, {"wait_for": str(gate)}, {"result": "done"}]
    folder = a_project(
        tmp_path / "p", {"alive": {}, "dead": {}, "later": {"depends_on": ["alive"]}},
        scenarios={"alive": waits, "dead": waits}, max_concurrent=2,
    )  # fmt: skip
    store = tmp_path / "s.db"
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(store), str(folder)], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    pids: dict[str, int] = {}
    try:
        async with asyncio.timeout(120):
            while len(pids) < 2:
                await asyncio.sleep(0.05)
                pids = _pids(folder / ".workflow-state.json")
    finally:
        server.kill()
        server.wait()
    # whoever watches it dies, too: nobody knows how the session ended
    folders = list((tmp_path / "output" / "sessions").glob("*/*"))
    for each in folders:
        if str(pids["dead"]) in (each / "state.json").read_text():
            for name, key in (("claim.json", "guard"), ("state.json", "supervisor")):
                _kill(json.loads((each / name).read_text())[key]["pid"])
    _kill(pids["dead"])
    count.touch()
    scenario(folder, dead=DONE)
    async with driven(store) as plans:
        await until(lambda: one(plans, "p", "dead").status == "pending")
        assert plans.project("p").status == "paused"
        assert (plans.state("p").why, plans.state("p").prompt) == ("restarted", True)
        task = one(plans, "p", "alive")
        assert task.status == "in_progress"
        busy = [agent.current_task for agent in plans.agents("p") if agent.status == "busy"]
        assert busy == ["alive"]
        gate.touch()
        assert (await ended(plans, "p", "alive")).status == "completed"
        (execution,) = plans.executions("p", task="alive")
        assert (execution.pid, execution.attempt) == (pids["alive"], 1)
        assert one(plans, "p", "later").status == "pending"
        await plans.resume("p")
        await settled(plans, "p")
        assert {*statuses(plans, "p").values()} == {"completed"}
        assert one(plans, "p", "dead").retry_count == 0


def _pids(state: Path) -> dict[str, int]:
    """By task, as the state file says."""
    told = json.loads(state.read_text())["executions"].values() if state.exists() else ()
    return {each["taskId"]: each["pid"] for each in told if each.get("pid")}


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


@played
async def test_reset_ends_what_lives_and_leaves_what_is_over(tmp_path: Path) -> None:
    """T-X.25, T-9.2.5: in_progress → pending, completed stays, the workflow is idle."""
    hangs = [{"init": True}, {"hang": True}]
    folder = a_project(tmp_path / "p", {"a": {"priority": 1}, "b": {}, "c": {}}, scenarios={"b": hangs, "c": hangs})
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await until(lambda: one(plans, "p", "a").status == "completed")
        await until(lambda: len([e for e in plans.executions("p") if e.status == "running"]) == 2)
        pids = [each.pid for each in plans.executions("p") if each.status == "running"]
        await plans.reset("p")
        await until(lambda: statuses(plans, "p") == {"a": "completed", "b": "pending", "c": "pending"})
        assert plans.project("p").status == "idle"
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@played
async def test_the_state_file_says_how_everything_stands(tmp_path: Path) -> None:
    """T-9.1.1, T-9.1.2, T-9.1.3, T-9.1.6, T-9.1.7, T-9.1.9, T-9.1.10, T-9.1.11: after every change."""
    gate = tmp_path / "go"
    waits = [{"init": True}, {"wait_for": str(gate)}, {"result": "done"}]
    folder = a_project(tmp_path / "p", {"t1": {}, "t2": {"depends_on": ["t1"]}}, scenarios={"t1": waits})
    path = folder / ".workflow-state.json"
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")

        def told() -> dict[str, Any]:
            found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
            return found

        await until(lambda: any(each.get("pid") for each in told().get("executions", {}).values()))
        state = told()
        assert (state["projectPath"], state["status"]) == (str(folder), "running")
        assert state["tasks"]["t1"]["status"] == "in_progress"
        assert state["tasks"]["t1"]["assignedAgent"] == "a1"
        assert state["tasks"]["t2"] == {"status": "pending"}
        assert state["agents"]["a1"]["status"] == "busy"
        assert state["agents"]["a1"]["currentTask"] == "t1"
        (execution,) = state["executions"].values()
        assert (execution["taskId"], execution["status"]) == ("t1", "running")
        assert execution["pidStartedAt"]
        assert state["startedAt"] <= state["lastSavedAt"]
        gate.touch()
        await settled(plans, "p")
        await until(lambda: told()["tasks"]["t2"]["status"] == "completed")
        await until(lambda: told()["status"] == "completed")


@played
async def test_a_lost_database_is_made_up_from_the_files(tmp_path: Path) -> None:
    """T-X.38: what was completed stays so, from the state file where a task file does not say it."""
    folder = a_project(
        tmp_path / "p", {"a": {}, "b": {"depends_on": ["a"]}, "c": {}}, scenarios={"c": [{"hang": True}]}
    )
    async with driven(tmp_path / "one.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "a")
        await ended(plans, "p", "a")
        await plans.cancel("p", "c")
        await until(lambda: '"cancelled"' in (folder / ".workflow-state.json").read_text())
    write_task(folder, "a")  # the file has lost it
    async with driven(tmp_path / "two.db") as plans:
        await plans.register(folder)
        assert statuses(plans, "p") == {"a": "completed", "b": "pending", "c": "cancelled"}
        await plans.execute("p", "b")
        assert (await ended(plans, "p", "b")).status == "completed"


@played
async def test_agents_that_outlived_their_database_are_ended(tmp_path: Path) -> None:
    """T-X.38, T-9.2.3: nobody could take their result any more; the task is pending, and nothing runs twice."""
    folder = a_project(tmp_path / "p", {"a": {}}, scenarios={"a": [{"init": True}, {"hang": True}]})
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path / "s.db"), str(folder)], cwd=ROOT)
    pids: dict[str, int] = {}
    try:
        await until(lambda: pids.update(_pids(folder / ".workflow-state.json")) or pids)
    finally:
        server.kill()
        server.wait()
    assert Path(f"/proc/{pids['a']}").exists()
    scenario(folder, a=DONE)
    async with driven(tmp_path / "other.db") as plans:
        await plans.register(folder)
        assert statuses(plans, "p") == {"a": "pending"}
        await until(lambda: not Path(f"/proc/{pids['a']}").exists())
        await plans.start("p")
        await settled(plans, "p")


@played
async def test_a_state_that_cannot_be_trusted_is_put_aside(tmp_path: Path) -> None:
    """T-A.18, T-9.1.8, T-9.2.2, T-X.26: unreadable, of another version, from the future, without a project: renamed."""
    good = {
        "schemaVersion": 1, "projectPath": str(tmp_path), "status": "paused", "startedAt": "2026-01-01T00:00:00Z",
        "lastSavedAt": "2026-01-02T00:00:00Z", "tasks": {"a": {"status": "completed"}},
    }  # fmt: skip
    now = 1_767_400_000_000  # 2026-01-03
    path = tmp_path / ".workflow-state.json"
    path.write_bytes(msgspec.json.encode(good))
    kept = load_state(tmp_path, now)
    assert kept is not None
    assert kept.tasks["a"].status == "completed"
    changes: list[dict[str, Any]] = [
        {"schemaVersion": 2}, {"lastSavedAt": "2027-01-01T00:00:00Z"}, {"startedAt": "2026-01-05T00:00:00Z"},
        {"projectPath": str(tmp_path / "gone")}, {"tasks": []}, {"lastSavedAt": "soon"},
    ]  # fmt: skip
    wrong = [b"{", b"[]", b"\xff\xfe", *(msgspec.json.encode({**good, **change}) for change in changes)]
    for number, data in enumerate(wrong):
        path.write_bytes(data)
        assert load_state(tmp_path, now + number * 1000) is None
        assert not path.exists()
    assert len(list(tmp_path.glob(".workflow-state.json.invalid-*"))) == len(wrong)


@played
async def test_a_corrupted_state_does_not_keep_a_project_from_starting(tmp_path: Path) -> None:
    """T-A.18: it is renamed, and everything begins as if there were none."""
    folder = a_project(tmp_path / "p", {"a": {}})
    (folder / ".workflow-state.json").write_text('{"schemaVersion": 99}')
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p")
        await settled(plans, "p")
        assert list(folder.glob(".workflow-state.json.invalid-*"))
        await until(lambda: fields_of(folder, "a").get("status") == "completed")


@played
async def test_the_clock_saves_and_collects_by_itself(tmp_path: Path) -> None:
    """T-6.1.1, T-9.1.4, T-X.34: every interval is a setting; what nobody touches is saved and reported all the same."""
    folder = a_project(tmp_path / "p", {"a": {}}, scenarios={"a": [{"init": True}, {"hang": True}]})
    settings = {"plans.collect_s": 0.3, "plans.autosave_s": 0.3, "plans.wait_s": 0.3}
    path = folder / ".workflow-state.json"
    async with driven(tmp_path / "s.db", settings=settings) as plans:
        await plans.register(folder)
        await plans.start("p")
        await until(lambda: path.exists() and _pids(path))
        await until(lambda: plans.reports("periodic", "p"))
        before = json.loads(path.read_text())["lastSavedAt"]
        await until(lambda: json.loads(path.read_text())["lastSavedAt"] > before)
        assert plans.project("p").last_seen_at is not None
        await plans.reset("p")
        await until(lambda: statuses(plans, "p") == {"a": "pending"})


@played
async def test_what_a_killed_process_could_not_write_is_written_later(tmp_path: Path) -> None:
    """T-9.2.1, T-X.8: the rows are the state; a task file that is behind gets what it lacks, and nothing else does."""
    folder = a_project(tmp_path / "p", {"a": {}, "b": {"status": "completed", "updated": "2026-01-01T00:00:00.000Z"}})
    before = (folder / "tasks" / "b.md").read_bytes()
    async with driven(tmp_path / "s.db", work=False) as plans:
        await plans.register(folder)
        await plans.execute("p", "a")
        await ended(plans, "p", "a")
        assert "status" not in fields_of(folder, "a")
    async with driven(tmp_path / "s.db"):
        await until(lambda: fields_of(folder, "a").get("status") == "completed")
    assert (folder / "tasks" / "b.md").read_bytes() == before
