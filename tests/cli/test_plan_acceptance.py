"""The acceptance scenarios of plans with the program alone: real agents, real signals, the timings turned down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.plan_site import DONE, PlanSite, alive, claims, kill, percent, until
from tests.cli.shell import Shell

Made = Callable[..., PlanSite]


@pytest.fixture
def made(penstock: Shell) -> Iterator[Made]:
    """Makes the project of a test."""
    sites: list[PlanSite] = []

    def make(**settings: Any) -> PlanSite:
        sites.append(PlanSite(penstock, **settings))
        return sites[-1]

    yield make
    for site in sites:
        site.close()


def registered(site: PlanSite) -> PlanSite:
    """Known to the store, with nothing begun."""
    site.shell("plan", "projects", "--add", site.name)
    return site


def test_t_a_1_a_task_goes_from_pending_to_completed(made: Made) -> None:
    """T-A.1, T-1.2.1, T-1.2.2, T-2.2.1, T-2.2.2, T-3.2.1, T-3.2.2, T-R.1: the whole of one good execution."""
    site = made()
    gate = site.gate("go")
    site.task("t1", {"wait_for": str(gate)}, claims("it is there"), success_criteria=["it is there"])
    registered(site)
    process = site.start("execute", "t1", "--json")
    during = site.until_status("t1", "in_progress")
    assert [(a["status"], a["currentTask"]) for a in site("board")["agents"]] == [("busy", "t1")]
    gate.touch()
    process.communicate()
    assert process.returncode == 0
    after = site.task_of("t1")
    assert (during["status"], after["status"], after["confidence"]) == ("in_progress", "completed", 100)
    assert after["reviewNotes"]
    assert [(a["status"], a["currentTask"], a["done"]) for a in site("board")["agents"]] == [("idle", None, 1)]
    (execution,) = site.executions("t1")
    assert (execution["status"], execution["exitCode"]) == ("completed", 0)
    assert execution["pid"] and execution["startedAt"] <= execution["completedAt"]
    assert execution["durationMs"] == execution["completedAt"] - execution["startedAt"]
    (report,) = [report for report in site.reports("completion") if report["taskId"]]
    assert (report["taskId"], report["success"], report["matchedCriteria"]) == ("t1", True, ["it is there"])
    assert site.front_matter("t1")["status"] == "completed"


def test_t_a_2_transitions_that_are_none_are_refused(made: Made) -> None:
    """T-A.2, T-1.3.1, T-1.3.2, T-1.3.3, T-1.3.4, T-1.3.5, T-X.2: exit code 2, and `updated` stays as it was."""
    site = made()
    for id in ("over", "gone", "open"):
        site.task(id)
    registered(site)
    site("execute", "over")
    site("cancel", "gone")
    before = {id: (site.folder / f"tasks/{id}.md").read_bytes() for id in ("over", "gone", "open")}
    refusals = {
        "completed → pending": ("retry", "over"), "completed → in_progress": ("execute", "over"),
        "cancelled → pending": ("retry", "gone"), "cancelled → in_progress": ("execute", "gone"),
        "pending → completed": ("review", "open", "--approve"), "completed → cancelled": ("cancel", "over"),
    }  # fmt: skip
    codes = {what: site.refused(*words)["code"] for what, words in refusals.items()}
    assert codes == dict.fromkeys(refusals, "TASK-409-TRANSITION")
    assert {id: (site.folder / f"tasks/{id}.md").read_bytes() for id in before} == before
    assert site.statuses() == {"over": "completed", "gone": "cancelled", "open": "pending"}


def test_t_a_3_a_task_whose_dependency_is_pending_is_blocked(made: Made) -> None:
    """T-A.3, T-5.1.3, T-5.2.3: refused, with the tasks that it waits for."""
    site = made()
    site.task("t1")
    site.task("t2", depends_on=["t1"])
    registered(site)
    error = site.refused("execute", "t2")
    assert error["code"] == "TASK-409-BLOCKED"
    task = site.task_of("t2")
    assert (task["ready"], task["reason"], task["blockingTasks"]) == (False, "dependencies_not_met", ["t1"])
    assert site.statuses() == {"t1": "pending", "t2": "pending"}


def test_t_a_4_an_agent_that_is_busy_gets_no_second_task(made: Made) -> None:
    """T-A.4, T-2.3.1, T-5.1.4, T-5.2.4, T-X.10: refused while it is busy; queued, the task begins when it is free."""
    site = made()
    gate = site.gate("go")
    site.agent("ann")
    site.task("t1", {"wait_for": str(gate)}, DONE, assigned_agent="ann")
    site.task("t3", assigned_agent="ann")
    registered(site)
    first = site.start("execute", "t1", "--json")
    site.until_status("t1", "in_progress")
    assert site.refused("execute", "t3")["code"] == "AGENT-409-BUSY"
    assert site("execute", "t3", "--queue")["status"] == "pending"
    gate.touch()
    site.until_status("t3", "completed")
    first.communicate()
    assert (first.returncode, site.statuses()) == (0, {"t1": "completed", "t3": "completed"})


def test_t_a_5_four_attempts_and_then_it_has_failed(made: Made) -> None:
    """T-A.5, T-5.1.11, T-5.1.12, T-X.1, T-X.15, T-2.2.3, T-R.3: three retries; the agent is idle, a report is there."""
    site = made()
    site.task("bad", {"say": "no"}, {"exit": 1})
    registered(site)
    assert site("execute", "bad", code=3)["status"] == "failed"
    executions = site.executions("bad")
    assert [(e["attempt"], e["status"], e["exitCode"]) for e in executions] == [(n, "failed", 1) for n in (1, 2, 3, 4)]
    task = site.task_of("bad")
    assert (task["retryCount"], task["maxRetries"]) == (3, 3) and task["lastError"]
    assert [a["status"] for a in site("board")["agents"]] == ["idle"]
    (report,) = site.reports("failure")
    assert report["taskId"] == "bad"
    assert site("retry", "bad")["status"] == "pending"
    assert site.task_of("bad")["retryCount"] == 0


def test_t_a_6_the_third_attempt_succeeds(made: Made) -> None:
    """T-A.6, T-X.15: two failures are counted."""
    site = made()
    site.attempts("flaky", [{"exit": 1}], [{"exit": 1}], [DONE])
    registered(site)
    task = site("execute", "flaky")
    assert (task["status"], task["retryCount"], site.starts("flaky")) == ("completed", 2, 3)
    assert site.front_matter("flaky")["retry_count"] == 2


CRITERIA = [f"criterion {n}" for n in range(10)]


def test_t_a_7_seven_of_ten_wait_for_a_review(made: Made) -> None:
    """T-A.7, T-5.1.8, T-5.2.8, T-X.14: in progress, its agent released; approved, it is completed."""
    site = made()
    site.task("doubt", claims(*CRITERIA[:7]), success_criteria=CRITERIA)
    registered(site)
    task = site("execute", "doubt", code=4)
    assert (task["status"], task["reviewRequired"], task["confidence"]) == ("in_progress", True, 70)
    assert [a["status"] for a in site("board")["agents"]] == ["idle"]
    assert site.front_matter("doubt")["review_required"] is True
    (waiting,) = site("review")
    assert waiting["id"] == "doubt"
    assert site("review", "doubt", "--approve", "--comment", "good enough")["status"] == "completed"
    assert site.statuses() == {"doubt": "completed"}


def test_t_a_8_eight_of_ten_are_enough(made: Made) -> None:
    """T-A.8, T-X.14: 80 itself completes."""
    site = made()
    site.task("sure", claims(*CRITERIA[:8]), success_criteria=CRITERIA)
    registered(site)
    task = site("execute", "sure")
    assert (task["status"], task["reviewRequired"], task["confidence"]) == ("completed", False, 80)


def test_t_a_9_a_crash_at_85_percent_completes_by_recovery(made: Made) -> None:
    """T-A.9, T-8.1.1, T-8.1.3, T-8.1.6, T-8.1.7, T-X.20: with notes, and an incident that has the log."""
    site = made()
    site.task("late", {"say": "nearly there"}, percent(85), {"hang": True})
    registered(site)
    process = site.start("execute", "late", "--json")
    site.until("late", lambda task: task["progress"] == 85)
    kill(site.pid("late"))
    process.communicate()
    task = site.task_of("late")
    assert (task["status"], task["completedByRecovery"]) == ("completed", True)
    assert "85" in task["reviewNotes"]
    assert [a["status"] for a in site("board")["agents"]] == ["idle"]
    assert any("nearly there" in str(report) for report in site.reports("incident"))


@pytest.mark.parametrize(("progress", "resumed"), [(50, True), (5, False)])
def test_t_a_10_a_crash_before_that_is_tried_again(made: Made, progress: int, resumed: bool) -> None:
    """T-A.10, T-8.1.4, T-8.1.5, T-8.1.8, T-X.21, T-1.3.6: resumed with what was done, or begun anew."""
    site = made()
    first: list[Any] = [percent(progress), {"hang": True}]
    site.attempts("crash", first, [{"prompt": "prompt.txt"}, DONE])
    registered(site)
    process = site.start("execute", "crash", "--json")
    site.until("crash", lambda task: task["progress"] == progress)
    kill(site.pid("crash"))
    process.communicate()
    task = site.task_of("crash")
    assert (process.returncode, task["status"], task["retryCount"]) == (0, "completed", 1)
    assert [execution["resume"] for execution in site.executions("crash")] == [False, resumed]
    assert ("interrupted" in (site.folder / "prompt.txt").read_text()) == resumed


def test_t_a_11_a_silent_agent_that_ignores_sigterm_is_killed(made: Made) -> None:
    """T-A.11, T-8.2.1, T-8.2.3, T-8.2.4, T-8.2.5, T-8.2.6, T-X.7: terminated, killed, its agent released, reported."""
    site = made(heartbeat_s=6, term_s=1, max_retries=0)
    site.task("zombie", {"ignore": ["TERM"]}, {"hang": True})
    registered(site)
    assert site("execute", "zombie", code=3)["status"] == "failed"
    (execution,) = site.executions("zombie")
    assert not alive(execution["pid"])
    assert [a["status"] for a in site("board")["agents"]] == ["idle"]
    (report,) = site.reports("zombie")
    told = str(report)
    assert "TERM" in told and "KILL" in told


def test_t_a_12_an_execution_that_takes_too_long_is_ended(made: Made) -> None:
    """T-A.12, T-3.2.4, T-3.3.2, T-X.19: failed with a time-out, its process gone, an incident."""
    site = made(max_retries=0)
    site.task("slow", {"hang": True}, timeout_s=6)
    registered(site)
    assert site("execute", "slow", code=3)["status"] == "failed"
    (execution,) = site.executions("slow")
    assert execution["status"] == "failed" and "timeout" in execution["error"].lower()
    assert not alive(execution["pid"])
    assert any("slow" in str(report) for report in site.reports("incident"))


def test_t_a_13_a_cycle_with_an_optional_edge_is_broken(made: Made) -> None:
    """T-A.13, T-8.3.1, T-8.3.2, T-8.3.3, T-X.29: the edge is removed and recorded; b, a, c."""
    site = made()
    for id, depends_on in (("a", ["b"]), ("b", [{"id": "c", "optional": True}]), ("c", ["a"])):
        site.task(id, depends_on=depends_on)
    assert site("run")["state"]["status"] == "completed"
    ended = {id: site.task_of(id)["completedAt"] for id in "abc"}
    assert sorted(ended, key=ended.__getitem__) == ["b", "a", "c"]
    (found,) = site("deadlocks")
    assert sorted(found["cycle"]) == ["a", "b", "c"] and found["removed"] == ["b", "c"]
    assert any("dependency" in str(report) for report in site.reports("incident"))


def test_t_a_14_a_cycle_without_one_pauses_until_somebody_acts(made: Made) -> None:
    """T-A.14, T-8.3.4, T-8.3.5, T-X.27, T-X.30: shown with what to do; one completed by hand, the other runs."""
    site = made()
    site.task("a", depends_on=["b"])
    site.task("b", depends_on=["a"])
    site.task("free")
    board = site("run", code=4)
    assert (board["state"]["status"], board["state"]["why"]) == ("paused", "deadlock")
    assert site.statuses() == {"a": "pending", "b": "pending", "free": "completed"}
    (found,) = site("deadlocks")
    assert sorted(found["cycle"]) == ["a", "b"] and found["suggestions"]
    assert site("force-complete", "a", "--reason", "done by hand")["status"] == "completed"
    assert site("resume")["state"]["status"] == "completed"
    assert site.statuses() == dict.fromkeys(("a", "b", "free"), "completed")


def test_t_a_15_three_at_a_time_by_priority_and_then_by_age(made: Made) -> None:
    """T-A.15, T-7.1.5, T-7.2.1, T-7.2.2, T-7.2.3, T-X.28, T-7.1.9: never a fourth; a summary at the end."""
    site = made()
    site.agent("ann", "bob", "cid", "dan")
    gates = {id: site.gate(f"go-{id}") for id in ("t1", "t2", "t3", "t4", "t5", "t6")}
    for number, (id, gate) in enumerate(gates.items()):
        front: dict[str, Any] = {"priority": 1} if id == "t6" else {}
        site.task(id, {"wait_for": str(gate)}, DONE, created=f"2026-01-0{number + 1}T00:00:00Z", **front)
    process = site.start("run", "--json")
    site.until_status("t6", "in_progress")
    seen = [until(site.running, lambda ids: len(ids) == 3)]
    for id in ("t6", "t1", "t2"):
        gates[id].touch()
        site.until_status(id, "completed")
        seen.append(until(site.running, lambda ids: len(ids) == 3))
    assert seen == [{"t6", "t1", "t2"}, {"t1", "t2", "t3"}, {"t2", "t3", "t4"}, {"t3", "t4", "t5"}]
    for gate in gates.values():
        gate.touch()
    process.communicate()
    assert process.returncode == 0
    (summary,) = site.reports("summary")
    assert summary


def test_t_a_16_stop_lets_running_tasks_end(made: Made) -> None:
    """T-A.16, T-7.1.10, T-X.32, T-9.1.5: none begins, the workflow is paused, its state is saved."""
    site = made(max_concurrent=2)
    site.agent("ann", "bob")
    gate = site.gate("go")
    for n in range(1, 6):
        site.task(f"t{n}", {"wait_for": str(gate)}, DONE)
    process = site.start("run", "--json")
    site.until("t2", lambda task: task["status"] == "in_progress")
    assert site("stop")["status"] in ("paused", "running")
    gate.touch()
    process.communicate()
    assert process.returncode == 4
    assert sorted(site.statuses().values()) == ["completed"] * 2 + ["pending"] * 3
    assert site("status")["status"] == "paused"
    saved = (site.folder / ".workflow-state.json").read_text()
    assert '"paused"' in saved
    assert site("resume")["state"]["status"] == "completed"
    assert site.statuses() == {f"t{n}": "completed" for n in range(1, 6)}


def test_t_a_17_after_a_kill_of_the_process_the_living_are_adopted(made: Made) -> None:
    """T-A.17, T-9.2.3, T-9.2.4, T-9.2.5, T-X.24, T-X.25: nothing runs twice; a dead one's task is pending again."""
    site = made()
    site.agent("ann", "bob")
    gate = site.gate("go")
    site.attempts("alive", [{"wait_for": str(gate)}, DONE], [{"exit": 9}], assigned_agent="ann")
    site.attempts("dead", [{"hang": True}], [{"wait_for": str(gate)}, DONE], assigned_agent="bob")
    site.task("later", depends_on=["alive", "dead"])
    driver = site.start("run", "--json")
    site.until("alive", lambda task: task["status"] == "in_progress")
    site.until("dead", lambda task: task["status"] == "in_progress")
    until(lambda: (site.starts("alive"), site.starts("dead")), lambda starts: starts == (1, 1))
    pids = {id: site.pid(id) for id in ("alive", "dead")}
    site.killed(driver)
    assert alive(pids["alive"])
    _kill_with_its_supervisor(pids["dead"])
    assert site("run", code=4)["state"]["status"] == "paused", "nobody has said whether it goes on"
    second = site.start("resume", "--json")
    site.until("dead", lambda task: site.starts("dead") == 2)
    assert {a["name"]: a["status"] for a in site("board")["agents"]}["ann"] == "busy"
    assert alive(pids["alive"]) and site.starts("alive") == 1
    gate.touch()
    second.communicate()
    assert (second.returncode, site.statuses()) == (0, dict.fromkeys(("alive", "dead", "later"), "completed"))
    assert (site.starts("alive"), site.starts("dead")) == (1, 2)
    assert site.task_of("dead")["retryCount"] == 0, "what a restart has set back is not counted"
    assert not any(map(alive, pids.values()))


def _kill_with_its_supervisor(pid: int) -> None:
    """As an OOM killer would: those who watch it are gone, too, so that nobody has seen how it ended."""
    supervisor = _parent(pid)
    guard = _parent(supervisor)
    for each in (guard, supervisor, pid):
        kill(each)
    until(lambda: [alive(each) for each in (guard, supervisor, pid)], lambda lives: not any(lives))


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("saved", ["{", '{"schemaVersion": 99}', '{"schemaVersion": 1, "status": 7}'])
def test_t_a_18_a_damaged_state_is_renamed(made: Made, saved: str) -> None:
    """T-A.18, T-9.2.2, T-X.26: never deleted, and the workflow begins as if there was none."""
    site = made()
    site.task("t1")
    (site.folder / ".workflow-state.json").write_text(saved)
    assert site("run")["state"]["status"] == "completed"
    (kept,) = site.folder.glob(".workflow-state.json.invalid-*")
    assert kept.read_text() == saved


def test_t_a_19_health_falls_and_is_mended(made: Made) -> None:
    """T-A.19, T-4.2.1, T-4.2.2, T-4.2.3, T-X.5: none, one and three tasks longer at it than they may be, then a file
    that is missing; mended, it is healthy."""
    site = made(critical_files=["CLAUDE.md"])
    rules, gate = site.folder / "CLAUDE.md", site.gate("go")
    rules.write_text("Be careful.\n")
    for id, name in (("t1", "ann"), ("t2", "bob"), ("t3", "cid")):
        site.agent(name)
        site.task(id, {"wait_for": str(gate)}, DONE, assigned_agent=name)
    registered(site)
    process = site.start("execute", "t1", "--json")
    site.until_status("t1", "in_progress")
    assert _health(site) == ("healthy", 100, [], []), "it has an hour"
    site.settings(critical_files=["CLAUDE.md"], stuck_s=1)
    assert site("sync")["changed"] == ["plan"]
    assert until(lambda: _health(site), lambda found: found[2]) == ("warning", 90, ["t1"], [])
    for id in ("t2", "t3"):
        site("execute", id)
    stuck = ["t1", "t2", "t3"]
    assert until(lambda: _health(site, code=None), lambda found: len(found[2]) == 3) == ("error", 70, stuck, [])
    rules.unlink()
    assert _health(site, code=3) == ("error", 40, stuck, ["CLAUDE.md"])
    assert "CLAUDE.md is missing" in site.said("health", code=3).out
    gate.touch()
    process.communicate()
    assert (process.returncode, site.statuses()) == (0, dict.fromkeys(stuck, "completed"))
    assert _health(site, code=3) == ("error", 70, [], ["CLAUDE.md"])
    rules.write_text("Be careful.\n")
    assert _health(site) == ("healthy", 100, [], [])


def _health(site: PlanSite, code: int | None = 0) -> tuple[str, int, list[str], list[str]]:
    found = site("health", code=code)
    return found["status"], found["score"], sorted(found["stuck"]), found["missing"]


#: T-X.33
PERIODIC = {
    "project_id": str, "generated_at": str, "task_counts": dict, "executable": list, "blocked": list,
    "agent_counts": dict, "zombies": list, "recent_tasks": list, "recent_executions": list, "health": dict,
    "issues": list,
}  # fmt: skip


def test_t_a_20_reports_of_three_projects_of_which_one_is_broken(made: Made) -> None:
    """T-A.20, T-6.1.2, T-6.1.3, T-6.1.5, T-6.1.7, T-6.1.8, T-6.1.10, T-X.33: two reports, the broken one logged and
    skipped; an alert when health fell, and not again."""
    one, two, broken = sites = [made(name=name, critical_files=["CLAUDE.md"]) for name in ("one", "two", "broken")]
    for site in sites:
        (site.folder / "CLAUDE.md").write_text("")
        site.task("a")
        site.task("b", depends_on=["a"])
    one.agent("ann", "bob")
    for n in range(9):
        one.task(f"t{n}")
    for site in sites:
        registered(site)
    assert one("run")["state"]["status"] == "completed"
    broken.folder.rename(broken.folder.with_name("moved"))

    said = one.shell("plan", "report", "--collect", "--json")
    first = said.json()
    bodies = {report["project"]: report["body"] for report in first["reports"]}
    assert sorted(bodies) == ["one", "two"] and {report["type"] for report in first["reports"]} == {"periodic"}
    for id, body in bodies.items():
        assert {name: type(body.get(name)) for name in PERIODIC} == PERIODIC
        assert (body["project_id"], body["health"]) == (id, {"status": "healthy", "score": 100})
    assert bodies["one"]["task_counts"]["completed"] == 11
    updates, executions = bodies["one"]["recent_tasks"], bodies["one"]["recent_executions"]
    assert (len({task["id"] for task in updates}), len({each["session"] for each in executions})) == (10, 5)
    assert updates == sorted(updates, key=lambda task: str(task["updated"]), reverse=True)
    assert {each["status"] for each in executions} == {"completed"}
    assert bodies["two"]["executable"] == ["a"] and bodies["two"]["recent_executions"] == []
    assert [(each["task"], each["blocking_tasks"]) for each in bodies["two"]["blocked"]] == [("b", ["a"])]
    skipped = {"project": "broken", "why": "its folder is not there"}
    assert (first["skipped"], first["alerts"]) == ([skipped], [])
    assert "no periodic report of project broken: its folder is not there" in said.err
    assert (one.reports("periodic"), broken.reports("periodic")) == ([bodies["one"]], [])

    (two.folder / "CLAUDE.md").unlink()
    second = one.shell("plan", "report", "--collect", "--json").json()
    (alert,) = second["alerts"]
    assert (alert["project"], alert["kind"]) == ("two", "health")
    assert "from healthy to error" in alert["text"] and "CLAUDE.md is missing" in alert["text"]
    printed = one.shell("plan", "report", "--collect").out
    assert "broken skipped: its folder is not there" in printed and "alert" not in printed, "it did not fall again"
    assert len(one.reports("periodic")) == len(two.reports("periodic")) == 3


def test_t_a_21_events_are_seen_in_their_order(made: Made) -> None:
    """T-A.21, T-10.2.1, T-10.2.2, T-10.2.3, T-10.2.4, T-10.2.5, T-10.2.6, T-10.1.4: as lines, while the workflow runs;
    no bad line stops them."""
    site = made(preset="claude", max_retries=0)
    gate = site.gate("go")
    speaks = ({"init": True}, {"say": "I look at it"}, {"raw": "this is no JSON\n"}, {"tool": "Bash"})
    site.task("t1", *speaks, {"wait_for": str(gate)}, DONE)
    site.task("t2", {"init": True}, {"error": "out of luck"}, {"exit": 1}, depends_on=[{"id": "t1"}])
    process = site.start("run", "--events")
    assert process.stdout is not None
    told: list[dict[str, Any]] = []
    while not any(event["data"].get("kind") == "tool" for event in told):
        line = process.stdout.readline()
        assert line, f"it has ended: {told}"
        told += _events(line)
    assert (site.task_of("t1")["status"], process.poll()) == ("in_progress", None), "they are told as they happen"
    gate.touch()
    told += _events(process.communicate()[0])
    assert process.returncode == 3
    assert [event["number"] for event in told] == sorted(event["number"] for event in told)
    assert {event["project"] for event in told} == {"site"} and all(event["at"] for event in told)
    of_t1, of_t2 = ([event for event in told if event["data"].get("taskId") == id] for id in ("t1", "t2"))
    (bad,) = [event for event in of_t1 if event["data"].get("kind") == "raw"]
    assert (bad["event"], bad["data"]["text"]) == ("claude:stream", "this is no JSON")
    assert [event["event"] for event in of_t1 if event is not bad] == [
        "task:statusChanged", "claude:started", "claude:stream", "claude:stream", "claude:complete",
        "task:statusChanged",
    ]  # fmt: skip
    assert _changes(of_t1) == [("pending", "in_progress"), ("in_progress", "completed")]
    assert [event["event"] for event in of_t2] == [
        "task:statusChanged", "claude:started", "claude:error", "task:statusChanged",
    ]  # fmt: skip
    assert _changes(of_t2) == [("pending", "in_progress"), ("in_progress", "failed")]


def _events(lines: str) -> list[dict[str, Any]]:
    """What people are told stands between them here: both outputs are one."""
    return [json.loads(line) for line in lines.splitlines() if line.startswith("{")]


def _changes(told: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["data"]["from"], each["data"]["to"]) for each in told if each["event"] == "task:statusChanged"]


def test_events_are_lines_of_json_and_nothing_else(made: Made) -> None:
    """T-A.21, T-X.35: what people read is on standard error; where events cannot be told, it is said so."""
    site = made()
    gate = site.gate("go")
    site.task("t1", {"wait_for": str(gate)}, DONE)
    for word in ("--json", "--console"):
        said = site.said("run", "--events", word, code=2)
        assert f"--events and {word}" in said.out + said.err
    process = site.start("run", "--json")
    site.until_status("t1", "in_progress")
    assert "drives this store" in site.said("run", "--events", code=2).err
    gate.touch()
    process.communicate()
    site.task("t2")
    said = site.said("run", "--events")
    assert [json.loads(line)["event"] for line in said.out.splitlines()].count("task:statusChanged") == 2
    assert "workflow completed: 2 completed" in said.err
