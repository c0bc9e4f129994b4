"""Reports of projects: kept, collected, looked at before they are kept, archived, and alerts (T-6.1, T-R, T-X.33)."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.plan import reports
from penstock.app.plan.events import plan_events
from penstock.app.plan.health import Health
from penstock.app.plan.projects import project_row
from penstock.app.plan.reporting import report_bodies
from penstock.app.plan.reporting.periodic_report import periodic_body, periodic_faults
from penstock.app.plan.views import PlanEvent
from penstock.errors import BadInput
from penstock.errors.plan import ProjectNotFound
from penstock.host.clock import ManualClock
from tests.app.pipelines import until
from tests.app.plan_rows import DAY, HOUR, MINUTE, NOON, Rows, a_door

Scene = Callable[[Penstock, ManualClock], Awaitable[None]]


def played(folder: Path, scene: Scene, **more: Any) -> None:
    async def main() -> None:
        async with a_door(folder, **more) as (door, clock):
            await scene(door, clock)

    asyncio.run(main())


def test_t_a_20_three_projects_of_which_one_is_broken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """T-A.20, T-6.1.2, T-6.1.5, T-6.1.7, T-6.1.8, T-6.1.9, T-6.1.10: two reports, the broken one logged and skipped, a
    disabled one not asked; an alert when health fell."""

    async def scene(door: Penstock, clock: ManualClock) -> None:
        one, two, broken = (Rows(door, tmp_path, id) for id in ("one", "two", "broken"))
        Rows(door, tmp_path, "off", enabled=0)
        shutil.rmtree(broken.folder)
        for number in range(12):
            one.task(f"t{number:02}", "completed", updated_at=NOON + number)
        for number in range(7):
            one.execution(f"s{number}", "completed", ended=NOON + number)
        heard: list[tuple[str, PlanEvent]] = []
        plan_events(door).listeners.append(lambda tenant, told: heard.append((tenant, told)))

        first = await reports.collect(door)
        assert [report.project for report in first.reports] == ["one", "two"] and first.alerts == []
        assert [(each.project, each.why) for each in first.skipped] == [("broken", "its folder is not there")]
        assert "no periodic report of project broken" in caplog.text
        body = first.reports[0].body
        assert [task["id"] for task in body["recent_tasks"]] == [f"t{number:02}" for number in range(11, 1, -1)]
        assert [each["session"] for each in body["recent_executions"]] == ["s6", "s5", "s4", "s3", "s2"]
        assert body["health"] == {"status": "healthy", "score": 100}
        assert [(tenant, told.event, told.project) for tenant, told in heard] == [
            (door.tenant, "dashboard:update", "one"), (door.tenant, "dashboard:update", "two"),
        ]  # fmt: skip
        seen = {row.id: row.last_seen for row in door.store.projects(door.tenant)}
        assert seen == {"one": NOON, "two": NOON, "broken": None, "off": None}

        clock.at += HOUR
        two.execution("bad", "failed", ended=clock.at, error="it broke")
        second = await reports.collect(door)
        (alert,) = second.alerts
        assert (alert.project, alert.kind) == ("two", "health")
        assert "from healthy to warning" in alert.text and "it broke" in alert.text
        assert heard[-1][1].data["alerts"] == [msgspec.to_builtins(alert)]
        assert (await reports.collect(door)).alerts == [], "it did not fall again"
        assert len(reports.reports(door, "periodic", "two")) == 3 == len(reports.reports(door, "periodic", "one"))
        assert reports.reports(door.of("stranger"), "periodic") == []

    with caplog.at_level(logging.ERROR, "penstock"):
        played(tmp_path, scene)


def test_t_6_1_10_people_are_told(tmp_path: Path) -> None:
    """T-6.1.10: zombies, stuck tasks and fallen health are told in the tenant's channels; by a check only the fall."""

    async def scene(door: Penstock, clock: ManualClock) -> None:
        door.register("channel", "slack", {"webhook_url": "outbox:slack"})
        door.register("config", "tenant", {"notification": {"escalation_channels": ["slack"]}})
        rows = Rows(door, tmp_path)
        assert reports.check(door, "site").status == "healthy"
        rows.task("a", "in_progress", started_at=NOON - 2 * HOUR)
        rows.agent("default", "busy", current_task="a")
        rows.execution("s", "pending", ended=None)
        rows.heard("s", NOON - 10 * MINUTE)
        found = await reports.collect(door)
        assert [alert.kind for alert in found.alerts] == ["health", "zombie", "stuck"]
        await until(lambda: len(_messages(door)) == 3)
        assert any("default has said nothing for 300 s" in text for text in _messages(door))
        assert any("a has been in progress for 120 minutes" in text for text in _messages(door))
        (rows.folder / "CLAUDE.md").unlink()
        clock.at += MINUTE
        assert reports.check(door, "site").status == "error"
        await until(lambda: len(_messages(door)) == 4)
        assert "CLAUDE.md is missing" in _messages(door)[-1]

    played(tmp_path, scene)


def _messages(door: Penstock) -> list[str]:
    return [str(msgspec.msgpack.decode(message.body)) for message in door.store.messages(door.tenant)]


def test_t_x_33_what_a_periodic_report_has(tmp_path: Path) -> None:
    """T-X.33, T-6.1.3, T-6.1.4, T-6.1.6, T-X.20, T-X.29: every field, from the rows."""

    async def scene(door: Penstock, clock: ManualClock) -> None:
        rows = Rows(door, tmp_path)
        rows.task("done", "completed", completed_by_recovery=1)
        rows.task("broke", "failed")
        rows.task("free", depends_on='[{"id": "done"}, {"id": "broke", "optional": true}]')
        rows.task("later", depends_on='[{"id": "free"}]')
        rows.task("never", depends_on='[{"id": "done"}, {"id": "broke"}]')
        rows.task("doubt", "in_progress", review_required=1)
        rows.agent("default", done=3, failed=1, last_used=NOON)
        (report,) = (await reports.collect(door)).reports
        body = report.body
        assert body["project_id"] == "site" and body["generated_at"] == "2027-01-15T08:00:00.000Z"
        assert body["task_counts"] == {"pending": 3, "in_progress": 1, "completed": 1, "cancelled": 0, "failed": 1}
        assert body["executable"] == ["free"]
        assert [(each["task"], each["blocking_tasks"], each["reason"]) for each in body["blocked"]] == [
            ("later", ["free"], "dependencies_not_met"), ("never", ["broke"], "dependency_failed"),
        ]  # fmt: skip
        assert body["agent_counts"] == {"idle": 1, "busy": 0}
        assert body["agent_usage"] == {"default": {"done": 3, "failed": 1, "last_used": "2027-01-15T08:00:00.000Z"}}
        assert (body["zombies"], body["issues"], body["recent_executions"]) == ([], [], [])
        assert body["completed_by_recovery"] == ["done"] and body["review_required"] == ["doubt"]
        assert len(body["recent_tasks"]) == 6 and body["health"] == {"status": "healthy", "score": 100}

    played(tmp_path, scene)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"issues": None}, "«issues» is not a list"),
        ({"health": {"status": "healthy", "score": "90"}}, "«health» has no status and score"),
        ({"task_counts": {"pending": -1}}, "«task_counts» counts something else"),
        ({"task_counts": {"done": 1}}, "«task_counts» counts something else"),
        ({"executable": ["nobody"]}, "there is no task «nobody»"),
        ({"blocked": [{"task": "gone", "blocking_tasks": []}]}, "there is no task «gone»"),
        ({"zombies": ["ghost"]}, "there is no agent «ghost»"),
        ({"recent_tasks": [{"id": "a"}] * 11}, "«recent_tasks» has more than 10"),
        ({"recent_executions": [{}] * 6}, "«recent_executions» has more than 5"),
        ({"project_id": "other"}, "it is about «other»"),
    ],
)
def test_t_6_1_7_what_is_not_valid(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    """T-6.1.7, T-X.33: required fields, types, references."""

    async def scene(door: Penstock, clock: ManualClock) -> None:
        rows = Rows(door, tmp_path)
        rows.task("a")
        row = project_row(door, "site")
        good = periodic_body(door, row, Health(project="site", status="healthy", score=100))
        assert periodic_faults(door, row, good) == []
        assert any(fault in found for found in periodic_faults(door, row, {**good, **change}))
        for name in (
            "project_id", "generated_at", "task_counts", "executable", "blocked", "agent_counts", "zombies",
            "recent_tasks", "recent_executions", "health", "issues",
        ):  # fmt: skip
            left = {key: value for key, value in good.items() if key != name}
            assert periodic_faults(door, row, left) == [f"«{name}» is missing"]

    played(tmp_path, scene)


def test_t_6_1_7_an_invalid_one_is_skipped_and_the_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """T-6.1.7: rows that make no valid report, or none at all, keep nobody else from theirs."""

    async def scene(door: Penstock, clock: ManualClock) -> None:
        bad, worse, good = (Rows(door, tmp_path, id) for id in ("bad", "worse", "good"))
        bad.task("a", "pending", depends_on="[")
        worse.task("b", depends_on="7")
        good.task("c")
        found = await reports.collect(door)
        assert [report.project for report in found.reports] == ["good"]
        assert [each.project for each in found.skipped] == ["bad", "worse"] and "project bad" in caplog.text
        assert [row.last_seen for row in door.store.projects(door.tenant)] == [None, NOON, None]

    with caplog.at_level(logging.ERROR, "penstock"):
        played(tmp_path, scene)


def test_t_x_33_old_reports_are_archived(tmp_path: Path) -> None:
    """T-X.33, T-6.1.8: older than 30 days they are put away, and can still be read."""

    async def scene(door: Penstock, clock: ManualClock) -> None:
        Rows(door, tmp_path)
        (old,) = (await reports.collect(door)).reports
        clock.at = NOON + 30 * DAY
        assert (await reports.collect(door)).archived == 0
        clock.at += 1
        found = await reports.collect(door)
        assert found.archived == 1 and old.id not in [each.id for each in reports.reports(door)]
        assert [each.id for each in reports.reports(door, archived=True)] == [old.id]

    played(tmp_path, scene)


def test_reports_are_kept_once_and_found(tmp_path: Path) -> None:
    """T-R.1, T-10.1.5: the newest first, by type and project; an id that is there is not written again."""

    async def scene(door: Penstock, clock: ManualClock) -> None:
        Rows(door, tmp_path)
        one = reports.submit(door, "site", "completion", {"taskId": "a", "success": True}, id="s1/completion")
        clock.at += 1
        again = reports.submit(door, "site", "completion", {"taskId": "b"}, id="s1/completion")
        assert again == one and again.body == {"taskId": "a", "success": True}
        other = reports.submit(door, "site", "progress", {"taskId": "a"})
        assert [each.id for each in reports.reports(door)] == [other.id, "s1/completion"]
        assert reports.reports(door, "completion", "site") == [one] == reports.reports(door, "completion")
        assert reports.reports(door, limit=1) == [other]
        with pytest.raises(BadInput, match="no type «rumour»"):
            reports.submit(door, "site", "rumour", {})
        with pytest.raises(ProjectNotFound):
            reports.reports(door, project="nowhere")

    played(tmp_path, scene)


def test_what_each_kind_of_report_says(tmp_path: Path) -> None:
    """T-R.1, T-R.2, T-R.3, T-R.5, T-R.6, T-R.7, T-R.8, T-X.22: from the rows of a task and its execution."""

    async def scene(door: Penstock, clock: ManualClock) -> None:
        rows = Rows(door, tmp_path)
        rows.task(
            "a", "completed", matched='["x"]', confidence=90, review_notes="well", agent="coder", session="s1",
            retry_count=2, last_error="it broke", completed_by_recovery=1, progress=85,
        )  # fmt: skip
        rows.execution(
            "s1", "failed", agent="coder", exit_code=1, progress=85, log_tail="é" * 4096 + "the end", pid=7,
            kill_failed=1, error="it broke", tokens_in=5, tokens_out=7, cost_micros=1_500_000,
        )  # fmt: skip
        task, execution = door.store.task(rows.run, "a"), door.store.task_execution(door.tenant, "s1")
        assert task is not None and execution is not None
        who = {"taskId": "a", "agentName": "coder", "session": "s1"}
        assert report_bodies.completion(task, execution) == {
            **who, "success": True, "matchedCriteria": ["x"], "confidence": 90, "reviewNotes": "well",
            "completedByRecovery": True,
        }  # fmt: skip
        moved = report_bodies.progress(task, "pending", "in_progress")
        assert moved.items() >= {**who, "from": "pending", "to": "in_progress", "retryCount": 2}.items()
        failed = report_bodies.failure(task, execution)
        assert failed.items() >= {**who, "success": False, "error": "it broke", "exitCode": 1}.items()
        assert failed["log"].endswith("the end") and len(failed["log"].encode()) <= 4096
        crash = report_bodies.incident("crash", "it died", task, execution, signal=9)
        assert crash.items() >= {**who, "kind": "crash", "message": "it died", "progress": 85, "signal": 9}.items()
        assert crash["log"].endswith("the end")
        assert report_bodies.incident("deadlock", "a waits for b") == {"kind": "deadlock", "message": "a waits for b"}
        dead = report_bodies.zombie(task, execution, {"cpu": 0})
        assert dead.items() >= {**who, "pid": 7, "killFailed": True, "diagnostics": {"cpu": 0}}.items()
        assert report_bodies.error(task, execution, "no") == {**who, "message": "no"}
        whole = report_bodies.summary([task], [execution])
        assert whole["counts"] == {"completed": 1} and whole["success"] is True and whole["retries"] == 2
        assert (whole["executions"], whole["failedExecutions"], whole["costUsd"]) == (1, 1, 1.5)
        assert (whole["durationMs"], whole["completedByRecovery"]) == (MINUTE, ["a"])
        assert json.loads(json.dumps(whole)) == whole

    played(tmp_path, scene)
