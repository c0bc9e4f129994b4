"""Messages become executions: each file once per matching definition, in the store before the message is acked."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline.background import Consuming
from penstock.app.pipeline.definitions import define
from penstock.app.pipeline.intake.consumer import VISIBILITY_MS, QueueConsumer, backoff_s
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.starts import ExecutionStarts
from penstock.errors import DocumentInvalid, StoreError
from penstock.host.clock import SystemClock
from penstock.lang.pipeline.messages import messages_of
from penstock.store.queues import Failed
from tests.app.pipelines import EXAMPLE, Processor, a_pipeline, a_stage, driven, ended, executions, until
from tests.conformance.decision.world import go
from tests.servers.postgres import database

#: where the store is made, by its name
STORES = {"sqlite": lambda: "", "postgresql": database}
NONE = msgspec.msgpack.encode({})


def sent(door: Penstock, *bodies: Any) -> None:
    """Put on the built-in queue, each under an id of its own."""
    before = door.store.queue_size(QUEUE)
    rows = [
        (f"m{before + n}-{door.now()}-{id(body)}", body if isinstance(body, bytes) else json.dumps(body).encode(), NONE)
        for n, body in enumerate(bodies)
    ]
    assert door.store.send_messages(QUEUE, rows, door.now()) == len(bodies)


def test_f_7_2_what_messages_came_to_is_counted_with_their_ack(tmp_path: Path) -> None:
    """F-7.2, F-S.1: received, kept and acked are three commits, however many are taken; a message whose ack is lost is
    counted once."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            consumer = QueueConsumer(Ingest(door))
            sent(door, EXAMPLE)
            assert await consumer.step() == 1
            sent(door, *[EXAMPLE] * 20, {**EXAMPLE, "mime": "text/plain", "key": "other"})
            statements: list[str] = []
            door.store.c.set_trace_callback(statements.append)  # type: ignore[attr-defined]
            assert await consumer.step() == 21
            door.store.c.set_trace_callback(None)  # type: ignore[attr-defined]
            assert sum(statement == "COMMIT" for statement in statements) == 3
            sent(door, EXAMPLE)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(type(door.store), "take_messages", _lost)
                with pytest.raises(StoreError):
                    await consumer.step()
            (day,) = door.store.ingest_days("tnt_demo")
            assert (day.messages, day.duplicates, day.unmatched) == (22, 20, 1)

    go(scene())


def _lost(*_: Any) -> int:
    raise StoreError(why="the disk is away")


@pytest.mark.parametrize("store", STORES)
def test_f_a_1_the_seeds_message_is_one_execution_with_its_trace_and_priority(tmp_path: Path, store: str) -> None:
    """F-A.1, F-3.3, F-3.7, F-8.1, F-9.1, F-9.5: PENDING, RUNNING, COMPLETED; UPLOAD; the trace is the message's."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=STORES[store]()) as door:
            consumer = QueueConsumer(Ingest(door))
            sent(door, EXAMPLE)
            assert await consumer.step() == 1
            assert (consumer.counts.acked, door.store.queue_size(QUEUE)) == (1, 0)
            (line,) = executions(door.of("tnt_demo"))
            look = await ended(door.of("tnt_demo"), line.execution_id)
            assert (look.status, look.trigger_type, look.priority) == ("COMPLETED", "UPLOAD", 7)
            assert (look.trace_id, look.tenant_id, look.organization_id) == (EXAMPLE["traceId"], "tnt_demo", 123)
            assert [(stage.stage_code, stage.status) for stage in look.stages] == [
                ("first", "COMPLETED"), ("second", "COMPLETED"),
            ]  # fmt: skip
            assert look.idempotency_key and look.idempotency_key.startswith("s3Event#bkt#path/to/object#IMG_BASIC#")
            assert look.file is not None and (look.file.bucket, look.file.key) == ("bkt", "path/to/object")
            assert door.store.file_asset("tnt_demo", look.file.id) is not None
            assert len(look.execution_id) == 36 and executions(door) == [], "it is the other tenant's"

    go(scene())


@pytest.mark.parametrize("store", STORES)
def test_f_a_2_the_same_message_ten_times_is_one_execution(tmp_path: Path, store: str) -> None:
    """F-A.2, F-X.19: nine duplicates are counted, and the queue is empty."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=STORES[store]()) as door:
            consumer = QueueConsumer(Ingest(door))
            sent(door, *[EXAMPLE] * 6)
            await consumer.step()
            sent(door, *[EXAMPLE] * 4)
            others = [QueueConsumer(consumer.ingest) for _ in range(3)]
            await asyncio.gather(*(other.step() for other in others))
            assert len(executions(door.of("tnt_demo"))) == 1
            counts = consumer.ingest.counts
            assert (counts.started, counts.duplicate, door.store.queue_size(QUEUE)) == (1, 9, 0)

    go(scene())


def test_f_a_3_that_a_message_that_cannot_be_read_is_dead_after_five_receives_with_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-A.3, F-3.5, F-3.6, F-10.1: 2, 4, 8, 16 seconds between them; the next message goes on meanwhile."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            consumer = QueueConsumer(Ingest(door))
            ahead, real = 0, SystemClock.now
            monkeypatch.setattr(SystemClock, "now", lambda clock: real(clock) + ahead)
            sent(door, {name: value for name, value in EXAMPLE.items() if name != "bucket"}, EXAMPLE)
            for receives, wait in enumerate((2, 4, 8, 16), 1):
                assert await consumer.step() == (2 if receives == 1 else 1)
                (left,) = door.store.queued(QUEUE)
                assert (left.receives, left.code) == (receives, "PP-400-JSON")
                assert wait * 1000 - 900 < left.visible_at - door.now() <= wait * 1000
                ahead += (wait - 1) * 1000
                assert await consumer.step() == 0, "not before its time"
                ahead += 1000
            assert await consumer.step() == 1 and door.store.queue_size(QUEUE) == 0
            (dead,) = door.store.queued(DEAD_QUEUE)
            assert (dead.receives, dead.code) == (5, "PP-400-JSON") and dead.why
            assert len(executions(door.of("tnt_demo"))) == 1, "only the good one"

    go(scene())


@pytest.mark.parametrize("store", STORES)
def test_f_9_1_of_many_messages_with_duplicates_exactly_the_distinct_ones_begin(tmp_path: Path, store: str) -> None:
    """F-9.1: 30 in a hundred are sent again."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=STORES[store]()) as door:
            consumer = QueueConsumer(Ingest(door))
            distinct = [{**EXAMPLE, "key": f"{n}.png"} for n in range(700)]
            sent(door, *distinct, *distinct[:300])
            while await consumer.step():
                pass
            counts = consumer.ingest.counts
            assert (counts.started, counts.duplicate, consumer.counts.acked) == (700, 300, 1000)
            assert (consumer.counts.failed, door.store.queue_size(QUEUE)) == (0, 0)
            assert len(executions(door.of("tnt_demo"), limit=2000)) == 700

    go(scene())


def test_f_3_6_the_backoff_doubles_up_to_a_minute() -> None:
    assert [backoff_s(n) for n in (1, 2, 3, 4, 5, 6, 60)] == [2, 4, 8, 16, 32, 60, 60]


def test_f_s_1_that_a_crash_before_the_ack_repeats_the_message_and_changes_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            consumer = QueueConsumer(Ingest(door), visibility_ms=0)
            sent(door, EXAMPLE)
            (message,) = door.store.receive_messages(QUEUE, "dead", door.now(), door.now(), 1)
            await consumer.ingest.take(messages_of(message.body))
            assert await consumer.step() == 1
            assert (consumer.ingest.counts.started, consumer.ingest.counts.duplicate) == (1, 1)
            assert len(executions(door.of("tnt_demo"))) == 1

    go(scene())


def test_f_3_5_what_kills_its_consumer_again_and_again_is_dead_at_the_sixth_receive(tmp_path: Path) -> None:
    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            sent(door, EXAMPLE)
            for _ in range(5):
                assert door.store.receive_messages(QUEUE, "dead", door.now(), door.now(), 1)
            assert await QueueConsumer(Ingest(door)).step() == 1
            (dead,) = door.store.queued(DEAD_QUEUE)
            assert (dead.code, dead.receives) == ("PP-500-IO", 6)

    go(scene())


def test_f_3_4_who_drives_the_store_next_goes_on_at_once_with_what_a_dead_engine_had_received(tmp_path: Path) -> None:
    """F-S.1: it would be hidden for five minutes, and nobody is there who could still take it away. What waits after a
    failure waits on, and a batch is collected on, too."""
    hidden = VISIBILITY_MS

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            sent(door, EXAMPLE, {**EXAMPLE, "key": "failed.png"})
            store, now = door.store, door.now()
            received, failed = store.receive_messages(QUEUE, "dead", now, now + hidden, 2)
            store.messages_failed("dead", [Failed(failed, QUEUE, now + hidden, "PP-500-IO", "no bucket")])
            store.send_messages("batch#t#X#", [("b", b"x", b"\x80")], now)
            store.receive_messages("batch#t#X#", "dead", now, now + hidden, 1)
            beside = Consuming(door)
            beside.batches.step = beside.clock.step  # type: ignore[method-assign]
            beside.open()
            try:
                await until(lambda: len(executions(door.of("tnt_demo"))) == 1)
                await until(lambda: store.queue_size(QUEUE) == 1)
            finally:
                await beside.close()
            (left,) = store.queued(QUEUE)
            assert (left.no, left.visible_at, left.receives) == (failed.no, now + hidden, 1)
            (batched,) = store.queued("batch#t#X#")
            assert (batched.handle, batched.receives) == (None, 1) and batched.visible_at < now + hidden
            assert received.no not in {message.no for message in store.queued(QUEUE)}

    go(scene())


@pytest.mark.parametrize(
    ("document", "message", "begun"),
    [
        ({"file_type": "IMAGE"}, {"mime": "image/png"}, True),
        ({"file_type": "PDF"}, {"mime": "image/png"}, False),
        ({"file_type": "ANY"}, {"mime": "application/x-odd"}, True),
        ({"file_type": "ANY", "max_file_size": 100}, {"size": 100}, True),
        ({"file_type": "ANY", "max_file_size": 100}, {"size": 101}, False),
        ({"trigger_conditions": {"field": "tenantId", "op": "eq", "value": "tnt_demo"}}, {}, True),
        ({"trigger_conditions": {"field": "tenantId", "op": "eq", "value": "other"}}, {}, False),
        ({"trigger_conditions": {"field": "key", "op": "glob", "value": "in/*.png"}}, {"key": "in/a.png"}, True),
        ({"is_active": 0}, {}, False),
        ({"pipeline_type": "SCHEDULED"}, {}, False),
    ],
)
def test_f_x_9_only_definitions_in_force_that_match_take_a_file(
    tmp_path: Path, document: dict[str, Any], message: dict[str, Any], begun: bool
) -> None:
    """F-X.9, F-X.15, F-X.31, F-S.1"""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(**document)) as door:
            ingest = Ingest(door)
            (receipt,) = await ingest.take(messages_of({**EXAMPLE, **message}))
            assert (len(receipt.started), ingest.counts.unmatched) == ((1, 0) if begun else (0, 1))
            assert ingest.counts.too_large == ("max_file_size" in document and not begun)

    go(scene())


def test_f_x_18_that_a_new_upload_of_a_key_runs_again_and_two_pipelines_take_one_file(tmp_path: Path) -> None:
    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), a_pipeline("SECOND", priority=1)) as door:
            ingest = Ingest(door)
            first, again = await ingest.take(messages_of({**EXAMPLE, "etag": "a"}) * 2)
            assert (len(first.started), len(again.known), first.file_id) == (2, 2, again.file_id)
            (renewed,) = await ingest.take(messages_of({**EXAMPLE, "etag": "b"}))
            assert len(renewed.started) == 2 and renewed.file_id != first.file_id
            lines = executions(door.of("tnt_demo"))
            assert sorted((line.pipeline_code, line.priority) for line in lines) == [
                ("IMG_BASIC", 7), ("IMG_BASIC", 7), ("SECOND", 1), ("SECOND", 1),
            ]  # fmt: skip

    go(scene())


def test_f_x_4_that_a_definition_is_one_code_with_versions_and_executions_keep_theirs(tmp_path: Path) -> None:
    async def scene() -> None:
        gate = asyncio.Event()

        async def wait() -> Any:
            await gate.wait()
            return {"output": {}}

        processor = Processor({"first": wait})
        async with driven(tmp_path, a_pipeline(), processor=processor) as door:
            (receipt,) = await Ingest(door).take(messages_of(EXAMPLE))
            assert not define(door, a_pipeline()).new
            longer = a_pipeline(stages=[*a_pipeline()["stages"], a_stage("third", 3)])
            assert define(door, longer).release.version == 2
            (second,) = await Ingest(door).take(messages_of({**EXAMPLE, "key": "b"}))
            gate.set()
            looks = [await ended(door.of("tnt_demo"), id) for id in (*receipt.started, *second.started)]
            assert [(look.version, look.total_stages, look.status) for look in looks] == [
                (1, 2, "COMPLETED"), (2, 3, "COMPLETED"),
            ]  # fmt: skip

    go(scene())


def test_f_x_12_pipelines_that_wait_for_each_other_are_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with driven(tmp_path, a_pipeline("A", dependencies={"after": ["B"]})) as door:
            with pytest.raises(DocumentInvalid) as refused:
                define(door, a_pipeline("B", dependencies={"after": ["A"]}))
            assert refused.value.findings[0].rule == "pipeline_cycle"

    go(scene())


def test_f_4_4_that_a_tenant_without_room_waits_and_loses_nothing(tmp_path: Path) -> None:
    """Its messages are held, not counted as failed, and taken when there is room."""

    async def scene() -> None:
        gate = asyncio.Event()

        async def wait() -> Any:
            await gate.wait()
            return {"output": {}}

        processor, limits = Processor({"first": wait}), {"limits.open_runs": 2}
        async with driven(tmp_path, a_pipeline(), processor=processor, settings=limits) as door:
            consumer = QueueConsumer(Ingest(door))
            sent(door, *({**EXAMPLE, "key": f"{n}.png"} for n in range(5)))
            await consumer.step()
            assert (consumer.counts.acked, len(consumer.held)) == (2, 3)
            gate.set()
            async with asyncio.timeout(30):
                while consumer.held or not consumer.idle:
                    await consumer.step()
                    await asyncio.sleep(0.02)
            await until(lambda: len(executions(door.of("tnt_demo"), status="COMPLETED")) == 5)
            assert (consumer.counts.acked, consumer.counts.failed, door.store.queue_size(DEAD_QUEUE)) == (5, 0, 0)

    go(scene())


@pytest.mark.parametrize("begun", [0, 1, 2])
def test_f_s_1_power_that_fails_between_asset_and_executions_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: int
) -> None:
    """F-S.1, F-X.5, F-X.19: the asset is in the store and its executions are not, or only some of them; the message was
    not acked, comes again, and finds the same asset."""

    async def broken() -> None:
        async with driven(tmp_path, a_pipeline("A"), a_pipeline("B")) as door:
            begin, left = ExecutionStarts.begin, [begun]

            def dies(self: ExecutionStarts, *given: Any, **more: Any) -> Any:
                if not left[0]:
                    raise RuntimeError("the power failed")
                left[0] -= 1
                return begin(self, *given, **more)

            monkeypatch.setattr(ExecutionStarts, "begin" if begun < 2 else "heard", dies if begun < 2 else _no_power)
            with pytest.raises(RuntimeError, match="power"):
                await Ingest(door).take(messages_of(EXAMPLE))
            assert len(door.store.file_assets("tnt_demo")) == 1
        monkeypatch.undo()

    async def again() -> None:
        async with driven(tmp_path) as door:
            ingest = Ingest(door)
            (receipt,) = await ingest.take(messages_of(EXAMPLE))
            assert len({*receipt.started, *receipt.known}) == 2
            (asset,) = door.store.file_assets("tnt_demo")
            mine = door.of("tnt_demo")
            lines = executions(mine)
            assert sorted(line.pipeline_code for line in lines) == ["A", "B"] and receipt.file_id == asset.id
            looks = [await ended(mine, line.execution_id) for line in lines]
            assert [(look.status, look.file.id if look.file else 0) for look in looks] == [("COMPLETED", asset.id)] * 2

    go(broken())
    go(again())


async def _no_power(self: ExecutionStarts) -> None:
    raise RuntimeError("the power failed")


def test_f_s_1_messages_that_break_the_consumer_are_logged_and_it_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F-3.3: what nobody has thought of ends no task for good: the operator reads of it, and the next message goes
    on."""
    monkeypatch.setattr("penstock.app.pipeline.background._AFTER_S", 0.01)

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as door:
            beside = Consuming(door)
            (consumer,) = beside.consumers
            steps, step, broken = {"clock": 0}, consumer.step, [RuntimeError("what is this?"), KeyError("key")]

            async def breaks() -> int:
                if broken:
                    raise broken.pop()
                return await step()

            async def clock() -> int:
                steps["clock"] += 1
                raise ValueError("no such hour")

            consumer.step = breaks  # type: ignore[method-assign]
            beside.clock.step = clock  # type: ignore[method-assign]
            beside.open()
            try:
                sent(door, EXAMPLE)
                await until(lambda: len(executions(door.of("tnt_demo"))) == 1 and steps["clock"] > 2)
            finally:
                await beside.close()

    go(scene())
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert sum("QueueConsumer" in line for line in told) == 2 and any("ScheduleClock" in line for line in told)


def test_f_x_31_that_a_tenants_own_pipeline_goes_before_the_products_of_the_same_code(tmp_path: Path) -> None:
    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(priority=7)) as door:
            define(door.of("acme"), a_pipeline(priority=3))
            begun = {}
            for tenant in ("acme", "other"):
                (receipt,) = await Ingest(door).take(messages_of({**EXAMPLE, "tenantId": tenant}))
                begun[tenant] = await ended(door.of(tenant), receipt.started[0])
            assert {tenant: look.priority for tenant, look in begun.items()} == {"acme": 3, "other": 7}

    go(scene())
