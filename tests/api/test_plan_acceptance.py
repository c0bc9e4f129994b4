"""T-A.1 to T-A.21 over HTTP with real processes, on both stores; the real times are turned down by settings."""

from __future__ import annotations

import json
import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.plans import DONE, Listener, PlanSite, plan_site, plans
from tests.api.serving import until

__all__ = ["plans"]
CRITERIA = [f"criterion {number}" for number in range(1, 11)]


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def matched(*criteria: str) -> list[Any]:
    """An agent that declares these criteria in its result."""
    return [{"init": True}, {"event": {"type": "result", "result": "done", "matched_criteria": list(criteria)}}]


def gone(pid: int) -> bool:
    """A zombie that nobody has waited for is gone, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_t_a_1_from_pending_to_completed(plans: PlanSite) -> None:
    """T-A.1, T-1.2.1, T-1.2.2, T-2.2.1, T-2.2.2, T-3.2.1, T-3.2.2, T-5.2.10: task, agent, execution, report."""
    files = plans.project()
    files.task("t1", steps=[{"init": True}, files.waits(), *matched("it works")[1:]], success_criteria=["it works"])
    project = plans.registered(files)
    before = project.task("t1")
    assert before["status"] == "pending" and project.agent("for-t1")["status"] == "idle"
    assert project.execute("t1")["status"] == "in_progress"
    agent = project.agent("for-t1")
    assert (agent["status"], agent["currentTask"]) == ("busy", "t1") and agent["lastUsedAt"]
    running = until(project.executions, lambda found: found and found[0]["pid"])
    assert (running[0]["status"], running[0]["completedAt"]) == ("running", None)
    files.let_go()
    task = project.ended("t1")
    assert (task["status"], task["confidence"], task["matched"]) == ("completed", 100, ["it works"])
    assert task["reviewNotes"] and task["updatedAt"] > before["createdAt"] if before["createdAt"] else True
    agent = project.agent("for-t1")
    assert (agent["status"], agent["currentTask"], agent["done"]) == ("idle", None, 1)
    (execution,) = project.executions()
    assert execution["status"] == "completed" and execution["pid"] and execution["exitCode"] == 0
    assert execution["startedAt"] <= execution["completedAt"] and isinstance(execution["durationMs"], int)
    assert project.report("completion", "t1").items() >= {
        "taskId": "t1", "agentName": "for-t1", "success": True, "matchedCriteria": ["it works"],
    }.items()  # fmt: skip
    until(lambda: files.status("t1"), lambda status: status == "completed")
    assert files.front("t1")["updated"] and files.front("t1")["agent"] == "for-t1"


def test_t_a_2_what_leads_nowhere_is_refused(plans: PlanSite) -> None:
    """T-A.2, T-1.3.1, T-1.3.2, T-1.3.3, T-1.3.4, T-1.3.5, T-X.2: 409 with both statuses, and the file untouched."""
    files = plans.project()
    files.task("done", steps=DONE)
    files.task("dropped")
    files.task("waiting")
    project = plans.registered(files)
    project.execute("done")
    project.ended("done")
    assert project.done("/tasks/dropped:cancel")["status"] == "cancelled"
    until(lambda: files.status("done"), lambda status: status == "completed")
    until(lambda: files.status("dropped"), lambda status: status == "cancelled")
    texts = {id: (files.folder / "tasks" / f"{id}.md").read_text() for id in ("done", "dropped", "waiting")}
    for id, verb, was, to in (
        ("done", "retry", "completed", "pending"), ("done", "start", "completed", "in_progress"),
        ("dropped", "retry", "cancelled", "pending"), ("dropped", "execute", "cancelled", "in_progress"),
        ("waiting", "complete", "pending", "completed"), ("done", "cancel", "completed", "cancelled"),
        ("dropped", "cancel", "cancelled", "cancelled"), ("waiting", "retry", "pending", "pending"),
    ):  # fmt: skip
        answer = project.ask(f"/tasks/{id}:{verb}")
        assert code_of(answer) == (409, "TASK-409-TRANSITION"), (id, verb, answer.text)
        assert (answer.json()["from"], answer.json()["to"]) == (was, to)
        assert project.task(id)["status"] == was
    assert {id: (files.folder / "tasks" / f"{id}.md").read_text() for id in texts} == texts


def test_t_a_3_what_waits_for_another_is_blocked(plans: PlanSite) -> None:
    """T-A.3, T-5.1.3, T-5.2.3: refused with the reason and what blocks it."""
    files = plans.project()
    files.task("t1")
    files.task("t2", depends_on=["t1"])
    project = plans.registered(files)
    can = project.get("/tasks/t2/can-execute")
    assert (can["canExecute"], can["blockingTasks"]) == (False, ["t1"]) and can["reason"]
    answer = project.ask("/tasks/t2:execute", {})
    assert code_of(answer) == (409, "TASK-409-BLOCKED")
    assert answer.json()["blockingTasks"] == ["t1"] and answer.json()["reason"]
    assert project.task("t2")["status"] == "pending" and project.executions() == []
    assert project.get("/workflow/next")["task"]["id"] == "t1"


def test_t_a_4_an_agent_does_one_task_at_a_time(plans: PlanSite) -> None:
    """T-A.4, T-2.3.1, T-5.2.4, T-X.10: 409; with queue it begins when the agent is free."""
    files = plans.project()
    files.agent("only", [{"init": True}, files.waits(), {"result": "done"}])
    files.task("t1", assigned_agent="only")
    files.task("t3", assigned_agent="only")
    project = plans.registered(files)
    project.execute("t1")
    assert code_of(project.ask("/tasks/t3:execute", {})) == (409, "AGENT-409-BUSY")
    assert project.task("t3")["status"] == "pending"
    queued = project.execute("t3", queue=True)
    assert queued["status"] == "pending" and project.agent("only")["currentTask"] == "t1"
    files.let_go()
    assert [project.ended(id)["status"] for id in ("t1", "t3")] == ["completed", "completed"]
    first, second = project.executions()
    assert (first["task"], second["task"]) == ("t1", "t3") and first["completedAt"] <= second["startedAt"]


def test_t_a_5_four_attempts_and_then_failed(plans: PlanSite) -> None:
    """T-A.5, T-5.1.11, T-5.1.12, T-X.1, T-X.15, T-3.2.3: three retries, a failure report; retry begins anew."""
    files = plans.project()
    files.task("t1", steps=files.attempts(*[[{"stderr": "no\n"}, {"exit": 1}]] * 4, DONE))
    project = plans.registered(files)
    project.execute("t1")
    task = project.ended("t1")
    assert (task["status"], task["retryCount"]) == ("failed", 3) and task["lastError"]
    executions = project.executions("t1")
    assert [(each["status"], each["exitCode"]) for each in executions] == [("failed", 1)] * 4
    assert all(each["error"] and each["completedAt"] for each in executions)
    agent = project.agent("for-t1")
    assert (agent["status"], agent["currentTask"], agent["failed"]) == ("idle", None, 4) and agent["lastError"]
    report = project.report("failure", "t1")
    assert (report["taskId"], report["success"], report["retryCount"]) == ("t1", False, 3)
    assert project.done("/tasks/t1:retry")["retryCount"] == 0
    project.until("t1", lambda task: task["status"] in ("pending", "in_progress", "completed"))
    if project.task("t1")["status"] == "pending":
        project.execute("t1")
    assert project.ended("t1")["status"] == "completed"


def test_t_a_6_twice_wrong_and_then_right(plans: PlanSite) -> None:
    """T-A.6, T-X.15, T-1.3.6: the same task, counted."""
    files = plans.project()
    files.task("t1", steps=files.attempts([{"exit": 1}], [{"exit": 1}], DONE))
    project = plans.registered(files)
    project.execute("t1")
    task = project.ended("t1")
    assert (task["status"], task["retryCount"]) == ("completed", 2)
    assert [each["status"] for each in project.executions()] == ["failed", "failed", "completed"]
    until(lambda: files.status("t1"), lambda status: status == "completed")
    assert files.front("t1")["retry_count"] == 2


def test_t_a_7_in_doubt_a_person_decides(plans: PlanSite) -> None:
    """T-A.7, T-5.1.8, T-5.2.8, T-X.13, T-X.14: 70 waits for a reviewer with its agent released; rejected it is done
    again with the comment, approved it is completed."""
    files = plans.project()
    said = str(files.folder / "asked")
    again = [{"prompt": said}, *matched(*CRITERIA[:7])]
    files.task("t1", steps=files.attempts(matched(*CRITERIA[:7]), again), success_criteria=CRITERIA)
    project = plans.registered(files)
    with closing(Listener(plans.server.client("viewer@example.com"), f"{project.path}/events")) as listener:
        project.execute("t1")
        task = project.until("t1", lambda task: task["reviewRequired"])
        assert (task["status"], task["confidence"], len(task["matched"])) == ("in_progress", 70, 7)
        assert project.agent("for-t1")["status"] == "idle"
        assert code_of(project.ask("/tasks/t1:review-approve")) == (403, "PS-403-PERMISSION")
        reject = project.ask("/tasks/t1:review-reject", {"comment": "Seven is not ten."}, plans.admin)
        assert reject.status_code == 200 and reject.json()["status"] in ("pending", "in_progress")
        project.until("t1", lambda task: task["attempt"] == 2 or task["status"] == "pending")
        if not Path(said).exists() and project.task("t1")["status"] == "pending":
            project.ask("/tasks/t1:execute", {})
        until(lambda: Path(said).exists(), bool)
        assert "Seven is not ten." in Path(said).read_text()
        project.until("t1", lambda task: task["reviewRequired"] and task["attempt"] == 2)
        task = project.done("/tasks/t1:review-approve", {"comment": "good enough"}, plans.admin)
        assert task["status"] == "completed" and project.report("completion", "t1")["matchedCriteria"] == CRITERIA[:7]
        until(listener.names, lambda names: "task:statusChanged" in names)


def test_t_a_8_eighty_is_enough(plans: PlanSite) -> None:
    """T-A.8, T-X.14."""
    files = plans.project()
    files.task("t1", steps=matched(*CRITERIA[:8]), success_criteria=CRITERIA)
    project = plans.registered(files)
    project.execute("t1")
    task = project.ended("t1")
    assert (task["status"], task["confidence"], task["reviewRequired"]) == ("completed", 80, False)


def test_t_a_9_killed_when_it_was_nearly_done(plans: PlanSite) -> None:
    """T-A.9, T-8.1.1, T-8.1.2, T-8.1.3, T-8.1.6, T-8.1.7, T-X.20: completed with notes; an incident with the log."""
    files = plans.project()
    files.task("t1", steps=[{"init": True}, {"say": "the last words"}, {"progress": 85}, {"hang": True}])
    project = plans.registered(files)
    project.execute("t1")
    (running,) = until(project.executions, lambda found: found and found[0]["pid"] and found[0]["progress"] == 85)
    os.kill(running["pid"], signal.SIGKILL)
    task = project.ended("t1")
    assert (task["status"], task["completedByRecovery"]) == ("completed", True)
    assert "crash" in task["reviewNotes"] and "85" in task["reviewNotes"]
    assert project.agent("for-t1")["status"] == "idle"
    report = project.report("incident", "t1")
    assert report["taskId"] == "t1" and "the last words" in report["log"]


@pytest.mark.parametrize(("progress", "resumes"), [(50, True), (20, True), (5, False)])
def test_t_a_10_killed_half_way(plans: PlanSite, progress: int, resumes: bool) -> None:
    """T-A.10, T-8.1.4, T-8.1.5, T-8.1.8, T-X.21: pending again; the next attempt knows the last from 20 % on."""
    files = plans.project()
    said = str(files.folder / "asked")
    first = [{"init": True}, {"say": "half of it"}, {"progress": progress}, {"die": "KILL"}]
    files.task("t1", steps=files.attempts(first, [{"prompt": said}, *DONE]))
    project = plans.registered(files)
    project.execute("t1")
    task = project.ended("t1")
    assert (task["status"], task["retryCount"]) == ("completed", 1)
    before, after = project.executions()
    assert (before["status"], before["resume"], after["resume"]) == ("failed", False, resumes)
    assert ("half of it" in Path(said).read_text()) is resumes


def test_t_a_11_silent_and_deaf(plans: PlanSite) -> None:
    """T-A.11, T-8.2.1, T-8.2.3, T-8.2.4, T-8.2.5, T-8.2.6, T-X.34: TERM, a wait, KILL; the agent is released."""
    files = plans.project(heartbeat_s=6, term_s=1, kill_s=5, max_retries=0)
    files.task("t1", steps=[{"ignore": ["TERM"]}, {"init": True}, {"hang": True}])
    project = plans.registered(files)
    project.execute("t1")
    task = project.ended("t1")
    assert task["status"] == "failed" and project.agent("for-t1")["status"] == "idle"
    (execution,) = project.executions()
    assert gone(execution["pid"]) and execution["status"] == "failed"
    report = project.report("zombie", "t1")
    assert (report["taskId"], report["agentName"], report["killFailed"]) == ("t1", "for-t1", False)
    told = json.dumps(report["diagnostics"])
    assert "TERM" in told and "KILL" in told


def test_t_a_12_too_long(plans: PlanSite) -> None:
    """T-A.12, T-3.2.4, T-3.3.2, T-X.19: failed with `timeout`, the process gone, an incident."""
    files = plans.project(max_retries=0)
    files.task("t1", steps=[{"init": True}, {"hang": True}], timeout_s=6)
    project = plans.registered(files)
    project.execute("t1")
    assert project.ended("t1")["status"] == "failed"
    (execution,) = project.executions()
    assert execution["status"] == "failed" and "timeout" in execution["error"].lower() and gone(execution["pid"])
    assert project.report("incident", "t1")["kind"] == "timeout"


def test_t_a_13_a_cycle_that_can_be_broken(plans: PlanSite) -> None:
    """T-A.13, T-8.3.1, T-8.3.2, T-8.3.3, T-X.29: the optional edge goes, is recorded, and all complete in order."""
    files = plans.project()
    for id, needs in (("a", ["b"]), ("b", [{"id": "c", "optional": True}]), ("c", ["a"])):
        files.task(id, steps=DONE, depends_on=needs)
    project = plans.registered(files)
    (found,) = project.get("/deadlocks")["items"]
    assert sorted(found["cycle"]) == ["a", "b", "c"] and found["removed"] == ["b", "c"]
    project.done("/workflow:start")
    project.until_state("completed")
    assert [each["task"] for each in project.executions()] == ["b", "a", "c"]
    assert until(lambda: files.status("b"), lambda status: status == "completed")
    assert files.front("b")["removed_dependencies"] == ["c"]
    incident = until(lambda: project.reports("incident"), lambda found: found)[0]["body"]
    assert incident["kind"] == "dependency_removed"


def test_t_a_14_a_cycle_that_cannot(plans: PlanSite) -> None:
    """T-A.14, T-8.3.4, T-8.3.5, T-X.27, T-X.30: paused with the cycle and suggestions; force-complete, resume, done."""
    files = plans.project()
    files.task("a", depends_on=["b"])
    files.task("b", steps=DONE, depends_on=["a"])
    project = plans.registered(files)
    project.done("/workflow:start")
    state = project.until_state("paused")
    assert state["why"] == "deadlock"
    (found,) = project.get("/deadlocks")["items"]
    assert sorted(found["cycle"]) == ["a", "b"] and not found["optional"] and found["suggestions"]
    refused = project.ask("/tasks/a:force-complete", {"reason": "by hand"})
    assert code_of(refused) == (403, "PS-403-PERMISSION")
    forced = project.done("/tasks/a:force-complete", {"reason": "by hand"}, plans.admin)
    assert forced["status"] == "completed"
    project.done("/workflow:resume")
    project.until_state("completed")
    assert project.task("b")["status"] == "completed" and [each["task"] for each in project.executions()] == ["b"]


def test_t_a_15_three_at_a_time(plans: PlanSite) -> None:
    """T-A.15, T-7.1.5, T-7.2.1, T-7.2.2, T-7.2.3, T-7.1.9, T-X.28: never more than three, by priority and creation."""
    files = plans.project(max_concurrent=3)
    marks = files.folder / "marks"
    line = f"echo b >> {marks}; sleep 0.5; echo e >> {marks}"
    for number, id in enumerate(["f", "e", "d", "c", "b", "a"]):
        more = {"priority": number} if number < 2 else {"created": f"2026-01-0{9 - number}T00:00:00Z"}
        files.task(id, steps=[{"shell": line}, {"result": "done"}], **more)
    project = plans.registered(files)
    project.done("/workflow:start")
    project.until_state("completed")
    running, most = 0, 0
    for mark in marks.read_text().split():
        running += 1 if mark == "b" else -1
        most = max(most, running)
    assert most == 3 and running == 0
    order = [each["task"] for each in project.executions()]
    assert sorted(order[:3]) == ["a", "e", "f"] and len(order) == 6, order
    summary = project.report("summary")
    assert (summary["counts"], summary["executions"], summary["success"]) == ({"completed": 6}, 6, True)


def test_t_a_16_stop_lets_those_at_work_finish(plans: PlanSite) -> None:
    """T-A.16, T-7.1.10, T-9.1.5, T-X.32, T-X.38: none begins, those at work end, paused; resume goes on."""
    files = plans.project(max_concurrent=2)
    for id in ("a", "b", "c", "d", "e"):
        files.task(id, steps=[{"init": True}, files.waits(), {"result": "done"}])
    project = plans.registered(files)
    project.done("/workflow:start")
    until(lambda: project.state()["running"], lambda running: running == ["a", "b"])
    stopped = project.done("/workflow:stop")
    assert (stopped["status"], stopped["stopping"]) == ("paused", True)
    files.let_go()
    assert [project.ended(id)["status"] for id in ("a", "b")] == ["completed", "completed"]
    state = until(project.state, lambda state: not state["running"])
    assert state["status"] == "paused" and len(project.executions()) == 2
    assert [state["tasks"][id]["status"] for id in ("c", "d", "e")] == ["pending"] * 3
    saved = files.folder / ".workflow-state.json"
    kept = until(
        lambda: json.loads(saved.read_text()) if saved.exists() else {},
        lambda kept: kept.get("status") == "paused" and kept["tasks"]["b"]["status"] == "completed",
    )
    assert kept["tasks"]["c"]["status"] == "pending" and kept["projectPath"] == str(files.folder)
    project.done("/workflow:resume")
    project.until_state("completed")


def test_t_x_32_stop_now_puts_them_back(plans: PlanSite) -> None:
    """T-X.32, T-X.25: ended and pending again; reset leaves what is over."""
    files = plans.project()
    files.task("a", steps=DONE)
    files.task(
        "b",
        steps=files.attempts([{"init": True}, {"hang": True}], [{"init": True}, {"hang": True}], DONE),
        depends_on=["a"],
    )
    project = plans.registered(files)
    project.done("/workflow:start")
    (_, first) = until(project.executions, lambda found: len(found) == 2 and found[1]["pid"])
    files.begun(1, 1)
    project.done("/workflow:stop", {"now": True})
    task = project.until("b", lambda task: task["status"] == "pending")
    assert task["retryCount"] == 0 and until(lambda: gone(first["pid"]), bool)
    project.done("/workflow:resume")
    second = until(project.executions, lambda found: len(found) == 3 and found[2]["pid"])[2]
    files.begun(1, 2)
    assert code_of(project.ask("/workflow:reset")) == (403, "PS-403-PERMISSION")
    project.done("/workflow:reset", None, plans.admin)
    project.until("b", lambda task: task["status"] == "pending")
    assert until(lambda: gone(second["pid"]), bool) and project.task("a")["status"] == "completed"
    assert project.until_state("idle")["tasks"]["b"]["status"] == "pending"
    project.done("/workflow:start")
    project.until_state("completed")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_t_a_17_the_server_is_killed(tmp_path: Path, kind: str) -> None:
    """T-A.17, T-9.2.3, T-9.2.4, T-9.2.5, T-X.22, T-X.24, T-X.25: who lives is watched on, who died is pending."""
    with plan_site(tmp_path, kind) as site:
        files = site.project()
        starts = files.folder / "starts"
        lives = [{"shell": f"echo lives >> {starts}"}, {"init": True}, files.waits(), {"result": "done"}]
        files.task("lives", steps=lives)
        files.task("dies", steps=files.attempts([{"init": True}, {"hang": True}], DONE))
        files.task("waits", steps=DONE, depends_on=["lives"])
        project = site.registered(files)
        project.done("/workflow:start")
        running = until(project.executions, lambda found: len(found) == 2 and all(each["pid"] for each in found))
        pids = {each["task"]: each["pid"] for each in running}
        files.begun(1, 1)
        until(starts.exists, bool)
        site.server.kill()
        os.kill(pids["dies"], signal.SIGKILL)
        assert not gone(pids["lives"])
        site.start()
        state = until(project.state, lambda state: state["tasks"]["dies"]["status"] == "pending")
        assert state["status"] == "paused" and state["prompt"] and state["tasks"]["waits"]["status"] == "pending"
        assert project.agent("for-lives")["currentTask"] == "lives" and project.agent("for-lives")["status"] == "busy"
        assert project.agent("for-dies")["status"] == "idle"
        files.let_go()
        assert project.ended("lives")["status"] == "completed" and starts.read_text() == "lives\n"
        assert project.state()["status"] == "paused" and project.task("waits")["status"] == "pending"
        project.done("/workflow:resume")
        project.until_state("completed")
        assert all(project.task(id)["status"] == "completed" for id in ("lives", "dies", "waits"))
        assert starts.read_text() == "lives\n", "nothing was done twice"


def test_t_a_18_a_saved_state_that_cannot_be_read(plans: PlanSite) -> None:
    """T-A.18, T-9.2.1, T-9.2.2, T-X.26: it is put aside under another name, and everything begins as usual."""
    for text in (
        "{",
        '{"schemaVersion": 99}',
        '{"schemaVersion": 1, "projectPath": "/nowhere", "lastSavedAt": "2999-01-01T00:00:00Z"}',
    ):
        files = plans.project()
        files.task("a", steps=DONE)
        (files.folder / ".workflow-state.json").write_text(text)
        project = plans.registered(files)
        assert project.state()["tasks"]["a"]["status"] == "pending"
        (aside,) = files.folder.glob(".workflow-state.json.invalid-*")
        assert aside.read_text() == text
        project.done("/workflow:start")
        project.until_state("completed")


def test_t_a_19_health_over_http(plans: PlanSite) -> None:
    """T-A.19, T-4.2.3, T-X.31, T-A.20: what is missing is named; ill, it starts by force alone; mended, it is healthy.
    (How the levels follow the clock is shown in tests/app/test_plan_health.py.)"""
    files = plans.project(critical_files=["CLAUDE.md", ".claude/settings.json|settings.json"])
    (files.folder / "settings.json").write_text("{}")
    (files.folder / "CLAUDE.md").write_text("")
    files.task("a", steps=DONE)
    project = plans.registered(files)
    assert project.get("/health")["status"] == "unknown"
    assert project.done(":check")["status"] == "healthy"
    (files.folder / "CLAUDE.md").unlink()
    ill = project.done(":check")
    assert (ill["status"], ill["missing"], ill["score"]) == ("error", ["CLAUDE.md"], 70)
    answer = project.ask("/workflow:start")
    assert code_of(answer) == (409, "PROJECT-409-HEALTH") and "CLAUDE.md" in answer.json()["detail"]
    assert project.task("a")["status"] == "pending"
    forced = project.done("/workflow:start", {"force": True})
    assert "CLAUDE.md" in forced["warning"]
    project.until_state("completed")
    (files.folder / "CLAUDE.md").write_text("")
    assert project.done(":check")["status"] == "healthy" and project.get("/health")["score"] == 100


def test_t_x_31_a_warning_does_not_stop_anybody(plans: PlanSite) -> None:
    """T-X.31, T-7.1.2, T-7.1.3, T-4.2.2: never checked, it is checked first; what is found is told, and it starts."""
    files = plans.project(max_retries=0)
    files.task("a", steps=[{"exit": 1}])
    files.task("b", steps=DONE)
    project = plans.registered(files)
    project.execute("a")
    assert project.ended("a")["status"] == "failed" and project.get()["health"] == "unknown"
    started = project.done("/workflow:start")
    assert "a" in started["warning"] and project.get()["health"] == "warning"
    assert project.ended("b")["status"] == "completed"


def test_t_a_20_reports_of_all_projects(plans: PlanSite) -> None:
    """T-A.20, T-6.1.2, T-6.1.7, T-6.1.8, T-6.1.9, T-6.1.10: two reports, the broken project skipped, an alert."""
    good, ill, broken = (plans.project(critical_files=["CLAUDE.md"]) for _ in range(3))
    for files in (good, ill, broken):
        (files.folder / "CLAUDE.md").write_text("")
        files.task("a", steps=DONE)
    one, two, three = (plans.registered(files) for files in (good, ill, broken))
    one.execute("a")
    one.ended("a")
    for project in (one, two, three):
        project.done(":check")
    broken.folder.rename(broken.folder.with_name("moved"))
    (ill.folder / "CLAUDE.md").unlink()
    with closing(Listener(plans.server.client("viewer@example.com"), "/stream")) as listener:
        answer = plans.operator.post("/reports:collect")
        assert answer.status_code == 200, answer.text
        found = answer.json()
        ours = {report["project"]: report["body"] for report in found["reports"]}
        assert {one.id, two.id} <= ours.keys() and three.id not in ours
        assert [each["why"] for each in found["skipped"] if each["project"] == three.id]
        assert [each["kind"] for each in found["alerts"] if each["project"] == two.id] == ["health"]
        assert [task["id"] for task in ours[one.id]["recent_tasks"]] == ["a"]
        assert [each["status"] for each in ours[one.id]["recent_executions"]] == ["completed"]
        assert ours[one.id]["task_counts"]["completed"] == 1 and ours[two.id]["health"]["status"] == "error"
        until(listener.names, lambda names: names.count("dashboard:update") >= 2)
    assert one.reports("periodic")[0]["body"] == ours[one.id] and one.get()["lastSeenAt"]
    plans.admin.patch(two.path, json={"enabled": False})
    again = plans.operator.post("/reports:collect").json()
    assert two.id not in [report["project"] for report in again["reports"]]
    broken.folder.with_name("moved").rename(broken.folder)


def test_t_a_21_a_subscriber_hears_the_stream(plans: PlanSite) -> None:
    """T-A.21, T-10.2.1, T-10.2.2, T-10.2.3, T-10.2.4, T-10.2.5, T-R.9, T-X.23: in order, and no bad line stops it."""
    files = plans.project()
    steps = [{"init": True}, {"say": "hello"}, {"raw": "this is no JSON\n"}, {"tool": "Edit"}, {"result": "done"}]
    files.task("t1", steps=steps)
    project = plans.registered(files)
    with closing(Listener(plans.server.client("viewer@example.com"), f"{project.path}/events")) as listener:
        project.execute("t1")
        project.ended("t1")
        until(listener.names, lambda names: names.count("task:statusChanged") == 2)
        named = [(name, told["data"]) for name, told in listener.heard if name != "dashboard:update"]
        names = [name for name, data in named if data.get("kind") != "raw"]
        assert names == [
            "task:statusChanged", "claude:started", "claude:stream", "claude:stream", "claude:complete",
            "task:statusChanged",
        ], listener.heard  # fmt: skip
        changes = [(data["taskId"], data["from"], data["to"]) for name, data in named if name == "task:statusChanged"]
        assert changes == [("t1", "pending", "in_progress"), ("t1", "in_progress", "completed")]
        assert all(told["project"] == project.id and told["at"] for _, told in listener.heard)
    (execution,) = project.executions()
    log = project.get(f"/executions/{execution['session']}/log")
    assert [line["kind"] for line in log["lines"] if line["kind"] in ("message", "tool", "result", "raw")] == [
        "message", "raw", "tool", "result",
    ]  # fmt: skip


def test_t_10_2_6_an_error_in_the_stream(plans: PlanSite) -> None:
    """T-10.2.6, T-X.16, T-R.7: the attempt fails, the error is told and reported, and there is another attempt."""
    files = plans.project()
    files.task("t1", steps=files.attempts([{"init": True}, {"error": "out of luck"}, {"exit": 0}], DONE))
    project = plans.registered(files)
    with closing(Listener(plans.server.client("viewer@example.com"), f"{project.path}/events")) as listener:
        project.execute("t1")
        assert project.ended("t1")["status"] == "completed"
        until(listener.names, lambda names: "claude:error" in names and "claude:complete" in names)
    assert "out of luck" in project.report("error", "t1")["message"]


def test_t_x_18_a_fatal_error_pauses_the_workflow(plans: PlanSite) -> None:
    """T-X.18, T-7.1.8, T-X.32: nothing more begins until somebody resumes; stop makes it idle."""
    files = plans.project(max_concurrent=1)
    files.task("a", steps=[{"init": True}, {"error": "broken", "fatal": True}], priority=1)
    files.task("b", steps=DONE, priority=2)
    project = plans.registered(files)
    project.done("/workflow:start")
    state = project.until_state("paused")
    assert state["why"] == "fatal" and project.task("a")["status"] == "failed"
    assert project.task("b")["status"] == "pending"
    assert project.done("/workflow:stop")["status"] == "idle"
    project.done("/workflow:start", {"force": True})
    assert project.ended("b")["status"] == "completed"
