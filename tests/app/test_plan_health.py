"""The health of a project: each criterion, the score, and what a check leaves behind (T-4, T-X.4 to T-X.7, T-X.33)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.plan.health import HealthLimits, check, health_of, limits_of, missing_files
from penstock.errors.plan import ProjectNotFound
from penstock.host.clock import ManualClock
from tests.app.plan_rows import HOUR, MINUTE, NOON, Rows, a_door

Scene = Callable[[Penstock, Rows, ManualClock], Awaitable[None]]


def played(folder: Path, scene: Scene, **more: Any) -> None:
    async def main() -> None:
        async with a_door(folder, **more) as (door, clock):
            await scene(door, Rows(door, folder), clock)

    asyncio.run(main())


def test_t_a_19_from_healthy_to_error_and_back(tmp_path: Path) -> None:
    """T-A.19, T-4.1.1, T-4.1.2, T-4.1.4, T-4.1.5, T-4.2.3, T-X.6: none, one and three tasks that do not get on, then a
    file that is missing; mended, it is healthy again."""

    async def scene(door: Penstock, rows: Rows, clock: ManualClock) -> None:
        assert health_of(door, "site").status == "unknown" and health_of(door, "site").score is None
        for id in ("a", "b", "c"):
            rows.task(id, "in_progress", started_at=NOON)
        found = check(door, "site")
        assert (found.status, found.score, found.issues) == ("healthy", 100, [])
        rows.task("b", "in_progress", started_at=NOON + 2 * HOUR)
        rows.task("c", "in_progress", started_at=NOON + 2 * HOUR)
        clock.at = NOON + HOUR
        assert check(door, "site").status == "healthy", "an hour is not more than an hour"
        clock.at += 1
        found = check(door, "site")
        assert (found.status, found.stuck, found.score) == ("warning", ["a"], 90)
        clock.at = NOON + 4 * HOUR
        found = check(door, "site")
        assert (found.status, found.stuck, found.score) == ("error", ["a", "b", "c"], 70)
        for id in ("a", "b", "c"):
            rows.task(id, "completed", started_at=NOON)
        (rows.folder / "CLAUDE.md").unlink()
        found = check(door, "site")
        assert (found.status, found.missing, found.score) == ("error", ["CLAUDE.md"], 70)
        (issue,) = found.issues
        assert (issue.kind, issue.level, issue.subject) == ("missing", "error", "CLAUDE.md")
        assert health_of(door, "site") == found, "as the last check has left it"
        row = door.store.project(door.tenant, "site")
        assert row is not None and (row.health, row.score, row.checked_at) == ("error", 70, clock.at)
        (rows.folder / "CLAUDE.md").write_text("")
        assert check(door, "site").status == "healthy"

    played(tmp_path, scene)


@pytest.mark.parametrize(
    ("stuck", "level", "score"), [(0, "healthy", 100), (1, "warning", 90), (2, "warning", 80), (3, "error", 70)]
)
def test_the_level_by_stuck_tasks(tmp_path: Path, stuck: int, level: str, score: int) -> None:
    """T-4.2.1, T-4.2.2, T-4.2.3, T-X.5: those that wait for a reviewer, or do not run, are not stuck."""

    async def scene(door: Penstock, rows: Rows, clock: ManualClock) -> None:
        for number in range(stuck):
            rows.task(f"t{number}", "in_progress", started_at=NOON - HOUR - 1)
        rows.task("reviewed", "in_progress", started_at=NOON - 2 * HOUR, review_required=1)
        rows.task("over", "completed", started_at=NOON - 2 * HOUR)
        rows.task("waits", "pending", started_at=NOON - 2 * HOUR)
        found = check(door, "site")
        assert (found.status, found.score, len(found.stuck)) == (level, score, stuck)

    played(tmp_path, scene)


@pytest.mark.parametrize(("silent", "level", "score"), [(0, "healthy", 100), (1, "warning", 85), (2, "error", 70)])
def test_the_level_by_zombies(tmp_path: Path, silent: int, level: str, score: int) -> None:
    """T-4.2.1, T-4.2.2, T-4.2.3, T-X.7: busy and silent for 300 s; one that is idle, or has been heard, is none."""

    async def scene(door: Penstock, rows: Rows, clock: ManualClock) -> None:
        for number in range(4):
            name = f"agent-{number}"
            rows.agent(name, "idle" if number == 3 else "busy", current_task="a")
            rows.execution(f"s{number}", "pending", ended=None, agent=name)
            rows.heard(f"s{number}", NOON - 5 * MINUTE + (1 if silent <= number < 3 else 0))
        found = check(door, "site")
        assert (found.status, found.score) == (level, score)
        assert found.zombies == [f"agent-{number}" for number in range(silent)]

    played(tmp_path, scene)


@pytest.mark.parametrize(
    ("newest_first", "level", "score"),
    [
        ("", "healthy", 100),
        ("ccccc", "healthy", 100),
        ("cccccf", "healthy", 100),
        ("f", "warning", 90),
        ("ff", "warning", 80),
        ("fff", "error", 70),
        ("fffcc", "error", 70),
        ("cfffc", "warning", 70),
        ("fcfcf", "warning", 70),
        ("cffff", "warning", 60),
        ("sssss", "healthy", 100),
        ("ffsff", "warning", 60),
    ],
)
def test_the_level_by_executions(tmp_path: Path, newest_first: str, level: str, score: int) -> None:
    """T-4.2.1, T-4.2.2, T-4.2.3, T-X.5: of the last five that finished; the three newest in a row are an error, no
    executions are no failure, nor are those that somebody stopped."""

    async def scene(door: Penstock, rows: Rows, clock: ManualClock) -> None:
        for number, word in enumerate(newest_first):
            status, code = {"f": ("failed", "EXIT_CODE"), "s": ("failed", "STOPPED")}.get(word, ("completed", None))
            rows.execution(f"s{number}", status, ended=NOON - number, error="no", code=code)
        rows.execution("runs", "pending", ended=None)
        found = check(door, "site")
        assert (found.status, found.score) == (level, score)
        assert found.failures == [f"s{number}" for number, word in enumerate(newest_first[:5]) if word == "f"]

    played(tmp_path, scene)


def test_t_x_33_the_score_has_a_floor_and_the_worst_wins(tmp_path: Path) -> None:
    """T-X.33, T-X.4, T-4.1.3: everything at once is 0; from error straight to warning, and back to healthy."""

    async def scene(door: Penstock, rows: Rows, clock: ManualClock) -> None:
        for number in range(5):
            rows.task(f"t{number}", "in_progress", started_at=NOON - 2 * HOUR)
            rows.execution(f"s{number}", "failed", ended=NOON - number)
        (rows.folder / "CLAUDE.md").unlink()
        found = check(door, "site")
        assert (found.status, found.score) == ("error", 0)
        kinds = [issue.kind for issue in found.issues]
        assert kinds == ["stuck"] * 5 + ["failure"] * 5 + ["missing"]
        (rows.folder / "CLAUDE.md").write_text("")
        for number in range(5):
            rows.task(f"t{number}", "pending")
            rows.execution(f"s{number}", "completed" if number else "failed", ended=NOON - number)
        assert check(door, "site").status == "warning"
        rows.execution("s0", "completed")
        assert check(door, "site").status == "healthy"

    played(tmp_path, scene)


def test_t_x_6_critical_files(tmp_path: Path) -> None:
    """T-X.6: `a|b` is either; only below the folder; an empty list switches it off, a folder that is gone does not."""
    folder = tmp_path / "p"
    folder.mkdir()
    wanted = ("CLAUDE.md", ".claude/settings.json|settings.json")
    assert missing_files(folder, wanted) == list(wanted)
    (folder / "settings.json").write_text("{}")
    assert missing_files(folder, wanted) == ["CLAUDE.md"]
    (folder / "settings.json").unlink()
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text("{}")
    (folder / "CLAUDE.md").write_text("")
    assert missing_files(folder, wanted) == [] == missing_files(folder, ())
    (tmp_path / "beside").write_text("")
    outside = ["../beside", str(tmp_path / "beside"), "a/../../beside", "", ".claude", "x\0y"]
    assert missing_files(folder, outside) == outside
    assert missing_files(tmp_path / "gone", ()) == ["."] and missing_files(tmp_path / "gone", wanted) == [*wanted]


def test_t_x_34_a_plan_says_its_own_limits(tmp_path: Path) -> None:
    """T-X.34, T-X.6: what a plan does not say has the default."""
    assert limits_of({}) == HealthLimits(3600, 300, ("CLAUDE.md", ".claude/settings.json|settings.json"))
    assert limits_of({"stuck_s": 2, "heartbeat_s": 1.5, "critical_files": []}) == HealthLimits(2, 1.5, ())

    async def scene(door: Penstock, rows: Rows, clock: ManualClock) -> None:
        with pytest.raises(ProjectNotFound):
            check(door, "another")
        with pytest.raises(ProjectNotFound):
            check(door.of("stranger"), "site")

    played(tmp_path, scene)
