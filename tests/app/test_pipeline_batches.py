"""BATCH: files are collected until there are enough of them or their time is over; nothing is lost meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import define, switch_off
from penstock.app.pipeline.executions import execution
from penstock.app.pipeline.intake.batches import Batches
from penstock.app.pipeline.intake.consumer import QueueConsumer
from penstock.app.pipeline.intake.dead_messages import dead_page, redrive
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.host.clock import SystemClock
from penstock.lang.pipeline.messages import messages_of
from tests.app.pipelines import EXAMPLE, a_pipeline, driven, executions, until
from tests.conformance.decision.world import go
from tests.servers.postgres import database

STORES = {"sqlite": lambda: "", "postgresql": database}


def a_batch(size: int = 3, window: int = 60, **more: Any) -> dict[str, Any]:
    configuration = {"batch_size": size, "batch_window_seconds": window}
    return a_pipeline(pipeline_type="BATCH", configuration=configuration, **more)


def pictures(*keys: str, **more: Any) -> list[Any]:
    return [message for key in keys for message in messages_of({**EXAMPLE, "key": key, **more})]


def files(door: Penstock) -> list[str]:
    looks = [execution(door, line.execution_id) for line in executions(door, limit=1000)]
    return sorted(look.file.key for look in looks if look.file is not None)


@pytest.mark.parametrize("store", STORES)
def test_f_x_15_that_a_batch_begins_when_it_is_full(tmp_path: Path, store: str) -> None:
    """F-X.15, F-1.3.4: an execution is of one file; those of a batch begin together, under the keys of uploads."""

    async def scene() -> None:
        async with driven(tmp_path, a_batch(), store=STORES[store]()) as root:
            door, ingest, batches = root.of("tnt_demo"), Ingest(root), Batches(root)
            receipts = await ingest.take(pictures("a", "b"))
            assert [(receipt.collected, receipt.started) for receipt in receipts] == [(1, [])] * 2
            assert await batches.step() == 0 and executions(door) == [] and not batches.idle
            await ingest.take(pictures("b", "c", "d"))
            assert (ingest.counts.duplicate, ingest.counts.unmatched) == (1, 0)
            assert await batches.step() == 3
            assert files(door) == ["a", "b", "c"]
            await until(lambda: len(executions(door, status="COMPLETED")) == 3)
            look = execution(door, executions(door)[0].execution_id)
            assert look.trigger_type == "UPLOAD" and look.idempotency_key.startswith("s3Event#")  # type: ignore[union-attr]
            await ingest.take(pictures("a"))
            assert (ingest.counts.duplicate, await batches.step()) == (2, 0), "it has run: it is not collected again"

    go(scene())


def test_f_x_15_that_a_batch_begins_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        ahead, real = 0, SystemClock.now
        monkeypatch.setattr(SystemClock, "now", lambda clock: real(clock) + ahead)
        async with driven(tmp_path, a_batch(100, 60), {**a_batch(100, 90), "pipeline_code": "SLOW"}) as root:
            door, batches = root.of("tnt_demo"), Batches(root)
            await Ingest(root).take(pictures("a", "b") + pictures("c", tenantId="other"))
            ahead = 59_000
            assert await batches.step() == 0
            ahead = 60_001
            assert await batches.step() == 3, "each tenant's own"
            assert sorted(line.pipeline_code for line in executions(door)) == ["IMG_BASIC"] * 2
            ahead = 90_001
            assert await batches.step() == 3 and batches.idle
            assert len(executions(door)) == 4 and len(executions(root.of("other"))) == 2

    go(scene())


def test_f_x_15_what_was_collected_survives_whoever_collected_it(tmp_path: Path) -> None:
    """What was begun and not taken away is not begun twice."""

    async def first() -> None:
        async with driven(tmp_path, a_batch(2)) as root:
            await Ingest(root).take(pictures("a"))

    async def second() -> None:
        async with driven(tmp_path) as root:
            door, batches = root.of("tnt_demo"), Batches(root)
            await Ingest(root).take(pictures("b"))
            taken, root.store.take_messages = root.store.take_messages, lambda *_: 0  # type: ignore[method-assign]
            assert await batches.step() == 2
            root.store.take_messages = taken  # type: ignore[method-assign]
            define(root, a_pipeline())
            again = Batches(root, visibility_ms=0)
            for row in root.store.queued("batch#tnt_demo#IMG_BASIC#"):
                root.store.hold_messages(row.handle or "", [row.no], 0)
            assert await again.step() == 0 and again.idle, "the definition collects no more: what is left is begun"
            assert files(door) == ["a", "b"]

    go(first())
    go(second())


@pytest.mark.parametrize("store", STORES)
def test_f_x_15_what_a_pipeline_that_is_switched_off_has_collected_is_dead_and_can_be_sent_again(
    tmp_path: Path, store: str
) -> None:
    """F-X.15, F-X.2, F-S.6: it begins nothing any more, and nothing is lost or waits for ever; the same files begin
    once when it is on again."""

    async def scene() -> None:
        async with driven(tmp_path, a_batch(3), a_pipeline("OTHER"), store=STORES[store]()) as root:
            door, batches = root.of("tnt_demo"), Batches(root)
            await Ingest(root).take(pictures("a", "b", etag='"1f"', versionId="v1"))
            keys = [line.execution_id for line in executions(door)]
            assert len(keys) == 2 and not batches.idle
            switch_off(root, "IMG_BASIC")
            assert await batches.step() == 2 and batches.idle
            page = await dead_page(door)
            assert [(cause.code, cause.count) for cause in page.causes] == [("PP-409-OFF", 2)]
            assert "IMG_BASIC" in page.causes[0].why and page.causes[0].curable
            define(root, a_batch(3))
            assert (await redrive(door)).sent == 2
            consumer = QueueConsumer(Ingest(root))
            assert await consumer.step() == 2 and consumer.idle and not batches.idle
            await Ingest(root).take(pictures("a", etag='"1f"', versionId="v1"))
            await Ingest(root).take(pictures("c"))
            assert await batches.step() == 3 and batches.idle
            assert files(door) == ["a", "a", "b", "b", "c", "c"], "each once by either pipeline"
            assert root.store.queue_size(DEAD_QUEUE) == 0

    go(scene())


def test_f_x_15_without_room_the_rest_of_a_batch_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        ahead, real = 0, SystemClock.now
        monkeypatch.setattr(SystemClock, "now", lambda clock: real(clock) + ahead)
        async with driven(tmp_path, a_batch(5, 60), settings={"limits.open_runs": 2}) as root:
            door, batches = root.of("tnt_demo"), Batches(root)
            await Ingest(root).take(pictures(*"abcde"))
            for _ in range(200):
                await batches.step()
                if batches.idle:
                    break
                await until(lambda: all(line.status == "COMPLETED" for line in executions(door)))
                ahead += 61_000
            assert files(door) == list("abcde")

    go(scene())
