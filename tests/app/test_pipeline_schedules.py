"""Schedules over files: due by the clock of their zone, an execution for each file that fits, each once by its key."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline.background import Consuming
from penstock.app.pipeline.intake.ingest import asset_of
from penstock.app.pipeline.schedules import ScheduleClock, add_schedule, end_schedule, schedules
from penstock.errors import BadInput, DocumentInvalid, ScheduleNotFound
from penstock.host.clock import SystemClock
from penstock.lang.pipeline.messages import messages_of
from tests.app.pipelines import EXAMPLE, a_pipeline, driven, ended, executions, until
from tests.conformance.decision.world import go
from tests.servers.postgres import database

STORES = {"sqlite": lambda: "", "postgresql": database}
CRON = {
    "schedule_name": "nightly", "pipeline_code": "IMG_BASIC", "schedule_type": "CRON", "cron_expression": "30 2 * * *",
}  # fmt: skip
EVERY_MINUTE = {
    "schedule_name": "often", "pipeline_code": "IMG_BASIC", "schedule_type": "INTERVAL", "interval_seconds": 60,
}  # fmt: skip


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def utc(at: int | None) -> str:
    assert at is not None
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%MZ")


class Clock:
    """The engine's clock, set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
        self.at = ms(at)
        monkeypatch.setattr(SystemClock, "now", lambda clock: self.at)

    def set(self, text: str) -> None:
        self.at = ms(text)


def uploaded(door: Penstock, *keys: str, tenant: str = "tnt_demo", **more: Any) -> list[int]:
    """Files that were announced, and that no pipeline has taken."""
    made = []
    for key in keys:
        (message,) = messages_of({**EXAMPLE, "tenantId": tenant, "key": key, **more})
        made += [row.id for row in door.store.put_files([asset_of(message, door.now())])]
    return made


def keys_of(door: Penstock) -> list[str | None]:
    return sorted((line.idempotency_key for line in executions(door, limit=1000)), key=str)


@pytest.mark.parametrize("store", STORES)
def test_f_x_11_one_execution_begins_for_each_file_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    """F-X.11, F-X.33: the window and the filter choose; the parameters of the schedule lie over the definition's; the
    key is the decided one, so firing again begins nothing."""

    async def scene() -> None:
        clock = Clock(monkeypatch, "2026-03-01T09:00:00Z")
        definition = a_pipeline(pipeline_type="SCHEDULED", default_params={"dpi": 72, "gray": False})
        async with driven(tmp_path, definition, store=STORES[store]()) as root:
            door = root.of("tnt_demo")
            uploaded(root, "old.png")
            clock.set("2026-03-01T09:59:30Z")
            fits, _ = uploaded(root, "new.png", "small.png", size=10)[0], uploaded(root, "text.html", mime="text/html")
            uploaded(root, "theirs.png", tenant="other")
            target = {"last": "PT1H", "field": "key", "op": "glob", "value": "[no]*.png"}
            made = add_schedule(door, {**EVERY_MINUTE, "target_filter": target, "execution_params": {"dpi": 300}})
            assert utc(made.next_at) == "2026-03-01T10:00Z" and made.last_at is None
            runner = ScheduleClock(root)
            assert await runner.step() == 0
            clock.set("2026-03-01T10:00:30Z")
            assert await runner.step() == 1
            key = f"schedule#{made.id}#2026-03-01T10:00:30.000Z#{fits}"
            assert keys_of(door) == [key], "one that is older than an hour, another type, another tenant: not they"
            look = await ended(door, executions(door)[0].execution_id)
            assert (look.trigger_type, look.priority, look.status) == ("SCHEDULED", 7, "COMPLETED")
            assert door.input_of(door.row(look.execution_id))["params"] == {"dpi": 300, "gray": False}
            (row,) = schedules(door)
            assert (row.last_at, row.next_at) == (ms("2026-03-01T10:00:30Z"), ms("2026-03-01T10:01:30Z"))
            root.store.file_schedule_fired(row, None, made.next_at, clock.at)  # as if it had died before it was noted
            await runner.step()
            assert keys_of(door) == [key]

    go(scene())


@pytest.mark.parametrize(
    ("target", "fits"),
    [
        ({"last": "PT1H"}, ["edge.png", "new.png"]),
        ({"all": [{"last": "PT1H"}, {"field": "size", "op": "lt", "value": 100}]}, ["edge.png"]),
        ({"any": [{"last": "PT1M"}, {"field": "size", "op": "lt", "value": 100}]}, ["edge.png", "new.png", "old.png"]),
        ({"not": {"last": "PT1H"}}, ["old.png", "older.png"]),
    ],
)
def test_f_x_11_the_age_of_a_file_is_asked_wherever_the_window_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: dict[str, Any], fits: list[str]
) -> None:
    """F-X.11: `last` alone, beside another condition, as one of several, or denied; an hour is an hour, to its end."""

    async def scene() -> None:
        clock = Clock(monkeypatch, "2026-03-01T09:00:00Z")
        async with driven(tmp_path, a_pipeline()) as root:
            door = root.of("tnt_demo")
            for at, key, size in (
                ("2026-03-01T09:00:00Z", "older.png", 500), ("2026-03-01T10:59:59.999Z", "old.png", 10),
                ("2026-03-01T11:00:00Z", "edge.png", 10), ("2026-03-01T11:59:30Z", "new.png", 500),
            ):  # fmt: skip
                clock.set(at)
                uploaded(root, key, size=size)
            clock.set("2026-03-01T11:59:00Z")
            add_schedule(door, {**EVERY_MINUTE, "target_filter": target})
            clock.set("2026-03-01T12:00:00Z")
            assert await ScheduleClock(root).step() == 1
            begun = [door.input_of(door.row(line.execution_id))["key"] for line in executions(door)]
            assert sorted(begun) == fits

    go(scene())


@pytest.mark.parametrize(
    ("cron", "day", "fires"),
    [
        ("30 2 * * *", "2025-03-08T12:00:00-05:00", ["2025-03-09T07:00Z", "2025-03-10T06:30Z"]),
        ("30 1 * * *", "2025-03-08T12:00:00-05:00", ["2025-03-09T06:30Z", "2025-03-10T05:30Z"]),
        ("30 1 * * *", "2025-11-01T12:00:00-04:00", ["2025-11-02T05:30Z", "2025-11-03T06:30Z"]),
        ("30 2 * * *", "2025-11-01T12:00:00-04:00", ["2025-11-02T07:30Z", "2025-11-03T07:30Z"]),
    ],
)
def test_f_a_19_on_the_days_on_which_clocks_are_changed_it_fires_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cron: str, day: str, fires: list[str]
) -> None:
    """F-A.19, F-9.6, F-1.5.12: 02:30 of the gap fires at 03:00, 01:30 of the repeated hour at its first occurrence;
    minute by minute over two days."""

    async def scene() -> None:
        clock = Clock(monkeypatch, day)
        async with driven(tmp_path, a_pipeline()) as root:
            door = root.of("tnt_demo")
            uploaded(root, "a.png")
            add_schedule(door, {**CRON, "cron_expression": cron, "timezone": "America/New_York"})
            runner, fired = ScheduleClock(root), []
            for _ in range(2 * 24 * 4):
                (row,) = schedules(door)
                if await runner.step():
                    fired.append(utc(row.next_at))
                clock.at += 15 * 60_000
            assert fired == fires
            await until(lambda: len(executions(door)) == 2)

    go(scene())


def test_f_x_11_of_missed_times_the_last_fires_if_it_is_younger_than_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        clock = Clock(monkeypatch, "2026-03-01T09:00:00Z")
        async with driven(tmp_path, a_pipeline()) as root:
            door = root.of("tnt_demo")
            uploaded(root, "a.png")
            add_schedule(door, {**CRON, "cron_expression": "0 * * * *"})
            add_schedule(door, {**CRON, "cron_expression": "0 10 * * *"})
            clock.set("2026-03-01T14:20:00Z")
            await ScheduleClock(root).step()
            assert keys_of(door) == ["schedule#1#2026-03-01T14:00:00.000Z#1"]
            assert [(row.last_at and utc(row.last_at), utc(row.next_at)) for row in schedules(door)] == [
                ("2026-03-01T14:00Z", "2026-03-01T15:00Z"), (None, "2026-03-02T10:00Z"),
            ]  # fmt: skip

    go(scene())


def test_f_1_5_5_once_fires_once_and_one_that_is_ended_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-1.5.11, F-X.2"""

    async def scene() -> None:
        clock = Clock(monkeypatch, "2026-03-01T09:00:00Z")
        once = {k: v for k, v in CRON.items() if k != "cron_expression"} | {"schedule_type": "ONCE"}
        async with driven(tmp_path, a_pipeline()) as root:
            door = root.of("tnt_demo")
            uploaded(root, "a.png")
            in_seoul = {**once, "next_execution_at": "2026-03-01T18:05:00", "timezone": "Asia/Seoul"}
            assert utc(add_schedule(door, in_seoul).next_at) == "2026-03-01T09:05Z"
            gone = add_schedule(door, {**once, "next_execution_at": "2026-03-01T09:05:00Z"})
            off = add_schedule(door, {**EVERY_MINUTE, "is_active": 0})
            end_schedule(door, gone.id)
            with pytest.raises(ScheduleNotFound):
                end_schedule(door, gone.id)
            with pytest.raises(ScheduleNotFound):
                end_schedule(root, off.id)
            clock.set("2026-03-01T09:06:00Z")
            runner = ScheduleClock(root)
            assert (await runner.step(), await runner.step()) == (1, 0)
            assert len(executions(door)) == 1
            (row,) = schedules(door)
            assert (utc(row.last_at), row.next_at) == ("2026-03-01T09:05Z", None)
            assert [bool(row.active) for row in schedules(door, inactive=True)] == [True, False, False]

    go(scene())


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({**CRON, "cron_expression": "61 * * * *"}, "bad_duration"),
        ({**CRON, "interval_seconds": 60}, "schedule_times"),
        ({**EVERY_MINUTE, "interval_seconds": 0}, "wrong_type"),
        ({**CRON, "timezone": "Mars/Base"}, "wrong_type"),
        ({**CRON, "target_filter": {"last": "soon"}}, "bad_duration"),
        ({**CRON, "tenant_id": "other"}, "schedule_tenant"),
        ({"schedule_name": "x", "pipeline_code": "IMG_BASIC", "schedule_type": "ONCE",
          "next_execution_at": "2001-01-01T00:00:00Z"}, "schedule_times"),
    ],
)  # fmt: skip
def test_f_x_11_what_is_no_schedule_is_refused_and_nothing_is_kept(
    tmp_path: Path, document: dict[str, Any], rule: str
) -> None:
    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as root:
            with pytest.raises(DocumentInvalid) as refused:
                add_schedule(root.of("tnt_demo"), document)
            assert rule in {finding.rule for finding in refused.value.findings}
            with pytest.raises(BadInput):
                add_schedule(root, {**CRON, "pipeline_code": "NONE"})
            assert schedules(root.of("tnt_demo"), inactive=True) == []

    go(scene())


def test_f_1_5_4_only_files_of_its_organisation_where_it_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        clock = Clock(monkeypatch, "2026-03-01T09:00:00Z")
        async with driven(tmp_path, a_pipeline()) as root:
            door = root.of("tnt_demo")
            mine = uploaded(root, "a.png", organizationId=5)
            uploaded(root, "b.png", organizationId=6)
            made = add_schedule(door, {**EVERY_MINUTE, "organization_id": 5})
            clock.set("2026-03-01T09:01:00Z")
            await ScheduleClock(root).step()
            assert keys_of(door) == [f"schedule#{made.id}#2026-03-01T09:01:00.000Z#{mine[0]}"]

    go(scene())


def test_f_x_5_without_a_file_that_fits_no_execution_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a definition that is not in force any more begins nothing."""

    async def scene() -> None:
        clock = Clock(monkeypatch, "2026-03-01T09:00:00Z")
        async with driven(
            tmp_path, a_pipeline(trigger_conditions={"field": "tenantId", "op": "eq", "value": "x"})
        ) as d:
            uploaded(d, "a.png")
            add_schedule(d.of("tnt_demo"), EVERY_MINUTE)
            clock.set("2026-03-01T09:01:00Z")
            assert await ScheduleClock(d).step() == 1
            assert executions(d.of("tnt_demo")) == []

    go(scene())


def test_f_4_4_that_a_tenant_without_room_is_fired_for_later_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        clock = Clock(monkeypatch, "2026-03-01T09:00:00Z")
        limits = {"limits.open_runs": 2}
        async with driven(tmp_path, a_pipeline(), settings=limits) as root:
            door = root.of("tnt_demo")
            uploaded(root, *(f"{n}.png" for n in range(5)))
            add_schedule(door, EVERY_MINUTE)
            clock.set("2026-03-01T09:01:00Z")
            runner = ScheduleClock(root)
            for _ in range(300):
                if await runner.step():
                    break
                clock.at += 100
                await until(lambda: all(line.status == "COMPLETED" for line in executions(door)))
            assert len(executions(door)) == 5 and schedules(door)[0].last_at == ms("2026-03-01T09:01:00Z")

    go(scene())


def test_f_0_5_whoever_drives_the_store_fires_what_is_due(tmp_path: Path) -> None:
    """By the clock of the machine: an interval of one second."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as root:
            door = root.of("tnt_demo")
            uploaded(root, "a.png")
            beside = Consuming(root)
            beside.open()
            try:
                add_schedule(door, {**EVERY_MINUTE, "interval_seconds": 1})
                await until(lambda: len(executions(door, status="COMPLETED")) >= 2)
                assert {line.pipeline_code for line in executions(door)} == {"IMG_BASIC"}
            finally:
                await beside.close()

    go(scene())


#: F-1.5, in the seed's order
COLUMNS = (
    "id schedule_name pipeline_id tenant_id organization_id schedule_type cron_expression interval_seconds"
    " target_filter execution_params timezone is_active last_execution_at next_execution_at created_at updated_at"
).split()


@pytest.mark.parametrize("store", STORES)
def test_f_1_5_1_f_1_5_3_readers_see_schedules_as_the_seeds_table(tmp_path: Path, store: str) -> None:
    """F-1.5.6, F-1.5.7, F-1.5.8, F-1.5.9, F-1.5.13: the columns of the seed, a number each, the pipeline by its id."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=STORES[store]()) as root:
            door, target = root.of("tnt_demo"), {"last": "PT1H"}
            first = add_schedule(door, {**CRON, "target_filter": target, "execution_params": {"dpi": 300}})
            second = add_schedule(door, EVERY_MINUTE)
            rows = [
                dict(zip(COLUMNS, row, strict=True))
                for row in root.store._read(f"SELECT {','.join(COLUMNS)} FROM pipeline_schedules ORDER BY id")
            ]
            assert [row["id"] for row in rows] == [first.id, second.id] and first.id != second.id
            (pipeline,) = root.store._read("SELECT id FROM pipeline_definitions").fetchall()
            assert {row["pipeline_id"] for row in rows} == {pipeline[0]}
            assert [(row["cron_expression"], row["interval_seconds"]) for row in rows] == [
                ("30 2 * * *", None),
                (None, 60),
            ]
            shown = [row["target_filter"] for row in rows]
            assert [json.loads(each) if isinstance(each, str) else each for each in shown] == [target, None]
            assert "300" in str(rows[0]["execution_params"]) and rows[1]["execution_params"] is None
            assert all(row["created_at"] and row["updated_at"] and row["next_execution_at"] for row in rows)
            assert {(row["tenant_id"], row["timezone"], bool(row["is_active"])) for row in rows} == {
                ("tnt_demo", "UTC", True)
            }

    go(scene())
