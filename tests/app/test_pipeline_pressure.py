"""Consumers under pressure: visibility is extended, nothing more is taken than fits, bad messages hold up nobody."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.app.pipeline.background import Consuming
from penstock.app.pipeline.intake.consumer import VISIBILITY_MS, QueueConsumer
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.errors import BadInput
from penstock.host.clock import SystemClock
from tests.app.pipelines import EXAMPLE, Processor, a_pipeline, driven, executions, until
from tests.app.test_pipeline_ingest import NONE, STORES, sent
from tests.conformance.decision.world import go


def test_f_3_4_what_takes_long_is_not_seen_by_others_meanwhile(tmp_path: Path) -> None:
    """F-3.4: while a consumer works, its messages stay invisible however long it takes."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as root:
            slow, other = QueueConsumer(Ingest(root), visibility_ms=300), QueueConsumer(Ingest(root))
            gate, take = asyncio.Event(), slow.ingest.take
            held: list[int] = []

            async def waits(messages: Any, **more: Any) -> Any:
                await gate.wait()
                return await take(messages, **more)

            def hold(handle: str, numbers: Any, until: int) -> int:
                held.append(until)
                return hold_messages(handle, numbers, until)

            hold_messages, root.store.hold_messages = root.store.hold_messages, hold  # type: ignore[method-assign]
            slow.ingest.take = waits  # type: ignore[method-assign]
            sent(root, EXAMPLE)
            working = asyncio.ensure_future(slow.step())
            await until(lambda: len(held) >= 5)
            assert await other.step() == 0
            gate.set()
            assert await working == 1 and slow.counts.acked == 1
            left = len(held)
            await asyncio.sleep(0.3)
            assert len(held) == left, "who is done holds nothing any more"
            assert len(executions(root.of("tnt_demo"))) == 1

    go(scene())


@pytest.mark.parametrize("store", STORES)
def test_f_x_20_what_is_held_without_room_is_not_received_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    """F-X.20, F-3.4: each new try renews the visibility, for longer than it was at first; who tries no more loses it
    when that is over."""

    async def scene() -> None:
        gate, ahead, real = asyncio.Event(), 0, SystemClock.now
        monkeypatch.setattr(SystemClock, "now", lambda clock: real(clock) + ahead)

        async def wait() -> Any:
            await gate.wait()
            return {"output": {}}

        given = {"processor": Processor({"first": wait}), "store": STORES[store]()}
        async with driven(tmp_path, a_pipeline(), settings={"limits.open_runs": 1}, **given) as root:
            holder, other = QueueConsumer(Ingest(root)), QueueConsumer(Ingest(root))
            sent(root, *({**EXAMPLE, "key": f"{n}.png"} for n in range(3)))
            assert await holder.step() == 3 and len(holder.held) == 2
            for _ in range(3):
                ahead += VISIBILITY_MS * 2 // 3
                assert await holder.step() == 2 and len(holder.held) == 2
                assert await other.step() == 0 and other.counts.received == 0
            assert {row.receives for row in root.store.queued(QUEUE)} == {1}
            ahead += VISIBILITY_MS + 1
            assert await other.step() == 2 and len(other.held) == 2
            gate.set()
            async with asyncio.timeout(30):
                while not other.idle:
                    await other.step()
                    await asyncio.sleep(0.01)
            await until(lambda: len(executions(root.of("tnt_demo"), status="COMPLETED")) == 3)

    go(scene())


@pytest.mark.parametrize("store", STORES)
def test_f_4_4_with_too_many_pending_executions_nothing_more_is_taken(tmp_path: Path, store: str) -> None:
    """F-4.4: the messages stay where they are, and are taken when there is room."""

    async def scene() -> None:
        gate = asyncio.Event()

        async def wait() -> Any:
            await gate.wait()
            return {"output": {}}

        settings = {"pipelines.max_pending": 3, "admission.slots": 1}
        given = {"processor": Processor({"first": wait}), "settings": settings, "store": STORES[store]()}
        async with driven(tmp_path, a_pipeline(), **given) as root:
            door, consumer = root.of("tnt_demo"), QueueConsumer(Ingest(root), at_once=2)
            sent(root, *({**EXAMPLE, "key": f"{n}.png"} for n in range(10)))
            await consumer.step()
            await until(lambda: len(executions(door, status="RUNNING")) == 1)
            for _ in range(5):
                await consumer.step()
            pending = len(executions(door, status="PENDING"))
            assert 3 <= pending <= 4 and root.store.queue_size(QUEUE) == 10 - pending - 1
            assert consumer.counts.received == pending + 1, "what is not taken is not received either"
            gate.set()
            async with asyncio.timeout(30):
                while not consumer.idle:
                    await consumer.step()
                    await asyncio.sleep(0.01)
            await until(lambda: len(executions(door, status="COMPLETED")) == 10)

    go(scene())


def test_f_8_2_each_queue_has_a_consumer_of_its_own(tmp_path: Path) -> None:
    """F-8.2: a tenant without room holds up the queue that it is in, and no other. The first queue is always consumed,
    whatever others are named."""

    async def scene() -> None:
        gate = asyncio.Event()

        async def wait() -> Any:
            await gate.wait()
            return {"output": {}}

        settings = {"pipelines.queues": ["acme"], "limits.open_runs": 1}
        async with driven(tmp_path, a_pipeline(), processor=Processor({"first": wait}), settings=settings) as root:
            beside = Consuming(root)
            beside.open()
            try:
                full = [{**EXAMPLE, "tenantId": "busy", "key": f"{n}"} for n in range(3)]
                sent(root, *full)
                await until(lambda: any(consumer.held for consumer in beside.consumers))
                root.store.send_messages("acme", [("a", _body(tenantId="acme"), NONE)], root.now())
                await until(lambda: len(executions(root.of("acme"))) == 1)
                gate.set()
                await until(lambda: beside.idle and len(executions(root.of("busy"), status="COMPLETED")) == 3)
            finally:
                await beside.close()
        with pytest.raises(BadInput):
            async with driven(tmp_path, settings={"pipelines.queues": "acme"}) as root:
                Consuming(root)

    go(scene())


def _body(**more: Any) -> bytes:
    import json

    return json.dumps({**EXAMPLE, **more}).encode()


BAD = {
    "no JSON": b"{",
    "no map": b"[1]",
    "too large": b'{"key": "' + b"x" * 1024 * 1024 + b'"}',
    "no bucket": _body(bucket=None),
    "two tenants": _body(key="tenants/other/orgs/1/a.png"),
    "no tenant": _body(tenantId=None),
    "a size that is none": _body(size=-1),
    "a time that is none": _body(occurredAt="yesterday"),
    "not UTF-8": b'{"bucket": "\xff"}',
    "too deep": b'{"a":' * 5000 + b"1" + b"}" * 5000,
}


def test_f_x_17_bad_messages_are_dead_with_their_cause_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-X.17, F-3.5, F-10.1: malformed, oversized, of two tenants at once; each five times, none begins anything."""

    async def scene() -> None:
        ahead, real = 0, SystemClock.now
        monkeypatch.setattr(SystemClock, "now", lambda clock: real(clock) + ahead)
        async with driven(tmp_path, a_pipeline()) as root:
            consumer = QueueConsumer(Ingest(root))
            sent(root, *BAD.values(), EXAMPLE)
            while root.store.queue_size(QUEUE):
                await consumer.step()
                ahead += 33_000
            dead = root.store.queued(DEAD_QUEUE)
            assert {message.body for message in dead} == set(BAD.values())
            assert {(message.code, message.receives) for message in dead} == {("PP-400-JSON", 5)}
            assert all(message.why for message in dead)
            assert len(executions(root.of("tnt_demo"))) == 1 and executions(root.of("other")) == []

    go(scene())


def test_f_x_18_messages_out_of_order_begin_each_upload_once(tmp_path: Path) -> None:
    """An older upload that is told of later is an upload all the same, and a repetition of either is none."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as root:
            old, new = ({**EXAMPLE, "sequencer": each, "occurredAt": at} for each, at in (
                ("0055AED6DCD90281E5", "2025-10-22T10:20:30Z"), ("0055AED6DCD90281E6", "2025-10-22T10:20:31Z"),
            ))  # fmt: skip
            consumer = QueueConsumer(Ingest(root))
            sent(root, new, old, new, old)
            await consumer.step()
            assert len(executions(root.of("tnt_demo"))) == 2
            assert (consumer.ingest.counts.duplicate, consumer.counts.acked) == (2, 4)

    go(scene())


def test_f_3_1_the_shape_of_eventbridge_begins_an_execution(tmp_path: Path) -> None:
    """F-3.1, F-X.17: its key is written as it is; the tenant is the key's prefix."""

    async def scene() -> None:
        key = "tenants/tnt_demo/orgs/7/a+b %41.png"
        event = {
            "version": "0", "detail-type": "Object Created", "source": "aws.s3", "time": "2025-10-22T10:20:30Z",
            "detail": {
                "bucket": {"name": "bkt"}, "reason": "CompleteMultipartUpload",
                "object": {"key": key, "size": 5, "etag": "abc", "version-id": "v1", "sequencer": "00"},
            },
        }  # fmt: skip
        async with driven(tmp_path, a_pipeline()) as root:
            consumer = QueueConsumer(Ingest(root))
            sent(root, event, {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "bkt"})
            assert await consumer.step() == 2 and consumer.counts.acked == 2
            (line,) = executions(root.of("tnt_demo"))
            assert line.idempotency_key == f"s3Event#bkt#{key}#IMG_BASIC#v1"

    go(scene())
