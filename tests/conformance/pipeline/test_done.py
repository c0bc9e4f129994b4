"""The definition of done, section 9: one test for each of its items, F-9.1 to F-9.9."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.pipeline import steering
from penstock.app.pipeline.executions import execution
from penstock.app.pipeline.follow_ups import FollowUpDelivery
from penstock.app.pipeline.intake.consumer import QueueConsumer
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.measures.correlation import correlation
from penstock.app.pipeline.measures.dashboard import PANELS
from penstock.app.pipeline.measures.metrics import metrics
from penstock.app.pipeline.schedules import ScheduleClock, add_schedule, schedules
from penstock.errors.pipeline import ExecutionState, PipelineScope
from penstock.executors.contract import failed
from penstock.lang.pipeline.messages import messages_of
from tests.app.pipelines import EXAMPLE, Processor, a_pipeline, a_stage, driven, ended, executions, until
from tests.app.test_pipeline_schedules import CRON, Clock, ms, uploaded, utc
from tests.conformance.decision.world import go
from tests.servers.places import store_of

BROKEN = failed("IMAGE_BROKEN", "validation", "It is no picture.")
RACES = 40


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> str:
    return store_of(request.param)


async def taken(door: Any, **more: Any) -> str:
    (receipt,) = await Ingest(door).take(messages_of({**EXAMPLE, **more}))
    return receipt.started[0]


def test_f_9_1_two_consumers_upsert_one_execution(tmp_path: Path, store: str) -> None:
    """F-9.1: the same message five times in the queue, two consumers at once."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=store) as door:
            rows = [(f"m{n}", msgspec.json.encode(EXAMPLE), b"\x80") for n in range(5)]
            door.store.send_messages(QUEUE, rows, door.now())
            consumers = [QueueConsumer(Ingest(door)), QueueConsumer(Ingest(door))]
            await asyncio.gather(*(consumer.step() for consumer in consumers))
            assert len(executions(door.of("tnt_demo"))) == 1
            assert door.store.queue_size(QUEUE) == 0

    go(scene())


def test_f_9_2_picking_up_never_scans(tmp_path: Path) -> None:
    """F-9.2, F-4.1, F-8.1: with PENDING executions of mixed priority, each statement that picks up is answered by the
    index of status, priority and time, in its order; so is what readers ask of the seed's table."""
    asked: list[str] = []

    async def scene() -> None:
        documents = [a_pipeline(f"P{n}", priority=n) for n in (30, 10, 20)]
        async with driven(tmp_path, *documents, settings={"pipelines.slots": 1}) as door:
            plain = door.store._read

            def heard(sql: str, values: Any = ()) -> Any:
                asked.append(sql)
                return plain(sql, values)

            door.store._read = heard
            for n in range(20):
                await Ingest(door).take(messages_of({**EXAMPLE, "key": f"{n}.png"}))
            await until(lambda: all(line.status == "COMPLETED" for line in executions(door.of("tnt_demo"), limit=100)))

    go(scene())
    picking = {sql for sql in asked if " FROM run" in sql and "ORDER BY priority" in sql}
    readers = "SELECT id FROM pipeline_executions WHERE status = 'PENDING' ORDER BY priority, created_at LIMIT 10"
    assert picking
    with sqlite3.connect(tmp_path / "s.db") as c:
        for sql, index in [*((each, "run_pending") for each in picking), (readers, "idx_pipeline_pick")]:
            values = (0,) * sql.count("?")
            plan = " / ".join(row[3] for row in c.execute(f"EXPLAIN QUERY PLAN {sql}", values))
            assert index in plan and "SCAN" not in plan and "TEMP B-TREE" not in plan, (sql, plan)


@pytest.mark.parametrize(("max_retries", "failures", "status", "count"), [
    (0, 1, "FAILED", 0), (2, 2, "COMPLETED", 2), (2, 3, "FAILED", 2),
])  # fmt: skip
def test_f_9_3_the_limit_of_retries_is_exact(
    tmp_path: Path, max_retries: int, failures: int, status: str, count: int
) -> None:
    """F-9.3, F-2.5: one attempt below the limit is COMPLETED, one beyond it is FAILED for good."""
    tries: list[int] = []

    async def sometimes() -> Any:
        tries.append(1)
        return BROKEN if len(tries) <= failures else {"output": {}}

    async def scene() -> None:
        document = a_pipeline(max_retries=max_retries, retry_delay_seconds=0, stages=[a_stage("only", 1)])
        async with driven(tmp_path, document, processor=Processor({"only": sometimes})) as door:
            id = await taken(door)
            look = await ended(door.of("tnt_demo"), id)
            assert (look.status, look.retry_count, len(tries)) == (status, count, min(failures + 1, max_retries + 1))

    go(scene())


def test_f_9_4_cancel_and_completion_have_one_winner(tmp_path: Path) -> None:
    """F-9.4, F-S.4: whoever heard that it is accepted finds it CANCELLED, whoever was refused finds it COMPLETED."""

    async def scene() -> None:
        gate = asyncio.Event()

        async def opened() -> Any:
            await gate.wait()
            return {"output": {}}

        processor = Processor({"only": opened})
        async with driven(tmp_path, a_pipeline(stages=[a_stage("only", 1)]), processor=processor) as door:
            mine = door.of("tnt_demo")
            outcomes = set()
            for n in range(RACES):
                gate.clear()
                id = await taken(door, key=f"{n}.png")
                await until(lambda n=n: len(processor.asked) == n + 1)
                gate.set()
                for _ in range(n % 8):
                    await asyncio.sleep(0)
                try:
                    await steering.cancel(mine, id)
                    accepted = True
                except ExecutionState:
                    accepted = False
                look = await ended(mine, id)
                assert look.status == ("CANCELLED" if accepted else "COMPLETED")
                outcomes.add(accepted)
            assert True in outcomes

    go(scene())


def test_f_9_5_one_trace_id_correlates_file_execution_stages_and_extraction(tmp_path: Path, store: str) -> None:
    """F-9.5, F-7.1: the trace of the message is in the rows of all four, and nobody else's is."""
    extraction = {"extractionType": "text", "method": "ocr", "confidence": 0.9}

    async def scene() -> None:
        processor = Processor({"second": {"output": {}, "extraction": extraction}})
        async with driven(tmp_path, a_pipeline(), processor=processor, store=store) as door:
            ids = {trace: await taken(door, key=f"{trace}.png", traceId=trace) for trace in ("a" * 32, "b" * 32)}
            for trace, id in ids.items():
                await ended(door.of("tnt_demo"), id)
                await FollowUpDelivery(door).step()
                told = correlation(door.of("tnt_demo"), trace)
                assert [each.key for each in told.files] == [f"{trace}.png"]
                assert [each.execution_id for each in told.executions] == [id]
                assert [(each.trace_id, each.stage_code) for each in told.extractions] == [(trace, "second")]
                sql = "SELECT stage_code FROM stage_log WHERE trace_id=? ORDER BY started_at,seq"
                assert [row[0] for row in door.store._read(sql, (trace,))] == ["first", "second"]

    go(scene())


@pytest.mark.parametrize(("cron", "zone", "now", "fires"), [
    ("0 0 * * *", "Asia/Seoul", "2026-12-31T14:59:59Z", "2026-12-31T15:00Z"),  # the year ends there first
    ("0 0 1 * *", "Pacific/Kiritimati", "2026-02-28T09:59:59Z", "2026-02-28T10:00Z"),  # fourteen hours ahead
    ("59 23 29 2 *", "UTC", "2027-03-01T00:00:00Z", "2028-02-29T23:59Z"),  # the next leap year
    ("0 3 31 * *", "America/New_York", "2026-03-31T07:00:00Z", "2026-05-31T07:00Z"),  # April has no 31st
])  # fmt: skip
def test_f_9_6_schedules_keep_their_time_zone_and_its_boundaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cron: str, zone: str, now: str, fires: str
) -> None:
    """F-9.6, F-1.5.10: the next time in UTC; a millisecond before it nothing begins, at it one execution does."""

    async def scene() -> None:
        clock = Clock(monkeypatch, now)
        async with driven(tmp_path, a_pipeline()) as root:
            door = root.of("tnt_demo")
            add_schedule(door, {**CRON, "cron_expression": cron, "timezone": zone})
            (row,) = schedules(door)
            assert utc(row.next_at) == fires
            uploaded(root, "a.png")
            clock.at = ms(fires.replace("Z", ":00Z")) - 1
            assert await ScheduleClock(root).step() == 0
            clock.at += 1
            assert await ScheduleClock(root).step() == 1
            await until(lambda: len(executions(door)) == 1)

    go(scene())


def test_f_9_7_large_data_is_in_no_row(tmp_path: Path) -> None:
    """F-9.7, F-7.3, F-X.16: 200 KB of parameters and the results of forty stages; rows hold keys of objects."""
    stages = [a_stage(f"s{n:02d}", n) for n in range(40)]
    answers = {each["stage_code"]: {"output": {}, "output_ref": "tenants/" + "x" * 480, "size": 1} for each in stages}

    async def scene() -> None:
        document = a_pipeline(default_params={"words": ["word"] * 30_000}, stages=stages)
        async with driven(tmp_path, document, processor=Processor(answers)) as door:
            await ended(door.of("tnt_demo"), await taken(door))
            delivery = FollowUpDelivery(door)
            while await delivery.step():
                pass

    go(scene())
    with sqlite3.connect(tmp_path / "s.db") as c:
        for table in ("pipeline_executions", "pipeline_stage_logs"):
            rows = c.execute(f"SELECT * FROM {table}").fetchall()
            assert rows and max(len(value) for row in rows for value in row if isinstance(value, str)) <= 16_384, table
        ((params, results),) = c.execute("SELECT input_params, output_results FROM pipeline_executions").fetchall()
    for text in (params, results):
        key = msgspec.json.decode(text, type=dict[str, str])["$ref"]
        assert (tmp_path / "s.db.artifacts" / key).stat().st_size > 16_384


def test_f_9_8_scopes_are_enforced(tmp_path: Path, store: str) -> None:
    """F-9.8, F-6.6: another tenant's execution is refused to read, to cancel and to retry, and is in no list."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=store) as door:
            id = await taken(door)
            await ended(door.of("tnt_demo"), id)
            other = door.of("somebody_else")
            with pytest.raises(PipelineScope):
                execution(other, id)
            for steer in (steering.cancel, steering.retry):
                with pytest.raises(PipelineScope):
                    await steer(other, id)
            assert executions(other) == [] and len(executions(door.of("tnt_demo"))) == 1

    go(scene())


def test_f_9_9_dashboard_and_alarms_tell_what_the_seed_names(tmp_path: Path, store: str) -> None:
    """F-9.9, F-X.32: success rate, PENDING dwell, top-K failures, retry rate and DLQ have a figure, a panel that asks
    for it, and an alarm that is raised."""

    async def scene() -> None:
        answers = {"second": BROKEN}
        document = a_pipeline(max_retries=1, retry_delay_seconds=0)
        async with driven(tmp_path, document, processor=Processor(answers), store=store) as door:
            await ended(door.of("tnt_demo"), await taken(door))
            told = metrics(door.of("tnt_demo"))
            assert (told.success_rate, told.retry_rate, told.pending.count) == (0, 1, 0)
            assert told.pending.mean_ms is not None
            assert [(each.stage_code, each.failures) for each in told.failing_stages] == [("second", 2)]
            raised = {alarm.metric for alarm in told.alarms if alarm.raised}
            assert raised == {"pipeline_success_rate", "pipeline_retry_rate"}
            door.store.send_messages(DEAD_QUEUE, [("dead", b"{}", b"\x80")], door.now())
            assert [alarm.metric for alarm in metrics(door).alarms if alarm.raised] == ["pipeline_dlq_messages"]
            watched = {alarm.metric for alarm in told.alarms}
            assert watched == {*raised, "pipeline_dlq_messages", "pipeline_pending_oldest_seconds"}
            asks = " ".join(panel.asks for panel in PANELS)
            for metric in (*watched, "pipeline_pending_mean_seconds", "pipeline_stage_failures", "pipeline_dlq_rate"):
                assert metric in asks, metric

    go(scene())
