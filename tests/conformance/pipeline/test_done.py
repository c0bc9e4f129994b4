"""The definition of done, section 9: F-9.1 to 9.4 and 9.8. The others are held where metrics and schedules are."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.pipeline import steering
from penstock.app.pipeline.executions import execution, executions
from penstock.app.pipeline.intake.consumer import QUEUE, QueueConsumer
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.errors.pipeline import ExecutionState, PipelineScope
from penstock.executors.contract import failed
from penstock.lang.pipeline.messages import messages_of
from tests.app.pipelines import EXAMPLE, Processor, a_pipeline, a_stage, driven, ended, until
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
        for sql, index in [*((each, "run_pick") for each in picking), (readers, "idx_pipeline_pick")]:
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
