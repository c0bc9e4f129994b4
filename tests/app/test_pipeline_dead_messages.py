"""Dead messages: looked at by cause, sent again one by one and together, and never begun twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline.intake import dead_messages
from penstock.app.pipeline.intake.consumer import QueueConsumer
from penstock.app.pipeline.intake.dead_messages import dead_page, redrive, tenant_of
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.errors import DeadMessageNotFound
from penstock.store.queues import Buried, Failed, QueueMessage
from tests.app.pipelines import EXAMPLE, a_pipeline, driven, ended, executions
from tests.app.test_pipeline_ingest import NONE, STORES, sent
from tests.conformance.decision.world import go

BROKEN = {name: value for name, value in EXAMPLE.items() if name != "bucket"}


async def died(door: Penstock, *bodies: Any, code: str = "PP-500-IO") -> list[str]:
    """Messages that were put on the queue and could not be taken five times."""
    sent(door, *bodies)
    messages = door.store.receive_messages(QUEUE, "me", door.now(), door.now() + 1000, 100)
    door.store.messages_failed("me", [Failed(each, DEAD_QUEUE, door.now(), code, "why") for each in messages])
    return [message.id for message in messages]


async def consumed(door: Penstock) -> None:
    consumer = QueueConsumer(Ingest(door))
    while await consumer.step():
        pass


@pytest.mark.parametrize("store", STORES)
def test_f_a_4_sampled_sent_again_one_by_one_and_together(tmp_path: Path, store: str) -> None:
    """F-A.4, F-8.4, F-S.6: the valid one begins its execution once, and repeating it begins nothing."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline(), store=STORES[store]()) as root:
            door = root.of("tnt_demo")
            (valid,) = await died(root, EXAMPLE)
            (wrong,) = await died(root, BROKEN, code="PP-400-JSON")
            page = await dead_page(door)
            assert {(cause.code, cause.count, cause.sample[0].id) for cause in page.causes} == {
                ("PP-500-IO", 1, valid), ("PP-400-JSON", 1, wrong),
            }  # fmt: skip
            assert root.store.queue_size(DEAD_QUEUE) == 2, "looking changes nothing"
            assert (await redrive(door, ids=[valid])).sent == 1
            await consumed(root)
            (line,) = executions(door)
            await ended(door, line.execution_id)
            with pytest.raises(DeadMessageNotFound):
                await redrive(door, ids=[valid])
            again = await died(root, EXAMPLE)
            answer = await redrive(door, code="PP-500-IO")
            assert (answer.sent, answer.duplicate, answer.failed) == (1, 1, 0)
            await consumed(root)
            assert len(executions(door)) == 1 and again != [valid]
            assert (await redrive(door)).sent == 1
            await consumed(root)
            assert len(executions(door)) == 1 and root.store.queued(QUEUE)[0].code == "PP-400-JSON"

    go(scene())


def test_f_x_27_that_a_message_is_sent_again_three_times_at_most(tmp_path: Path) -> None:
    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as root:
            door = root.of("tnt_demo")
            (wrong,) = await died(root, BROKEN, code="PP-400-JSON")
            for _ in range(3):
                assert (await redrive(door, ids=[wrong])).sent == 1
                (message,) = root.store.receive_messages(QUEUE, "me", root.now(), root.now() + 1000, 100)
                root.store.messages_failed("me", [Failed(message, DEAD_QUEUE, root.now(), "PP-400-JSON", "why")])
            answer = await redrive(door)
            assert (answer.sent, answer.failed, root.store.queue_size(DEAD_QUEUE)) == (0, 1, 1)

    go(scene())


def test_f_8_4_many_dead_messages_leave_the_loop_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-8.4: looked at and sent again in slices, those of other tenants too; one that is named is looked up."""
    looked, most = 0, {"page": 0, "redrive": 0, "named": 0}

    def counted(message: QueueMessage) -> str | None:
        nonlocal looked
        looked += 1
        return tenant_of(message)

    monkeypatch.setattr(dead_messages, "tenant_of", counted)

    async def beside(work: Coroutine[Any, Any, Any], name: str) -> Any:
        """How many messages were looked at, at most, before somebody else had the loop."""
        nonlocal looked
        task, looked = asyncio.ensure_future(work), 0
        while not task.done():
            before = looked
            await asyncio.sleep(0)
            most[name] = max(most[name], looked - before)
        return await task

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as root:
            door = root.of("tnt_demo")
            foreign = json.dumps({**EXAMPLE, "tenantId": "other"}).encode()
            bodies = [foreign] * 1000 + [json.dumps(EXAMPLE).encode()] * 1000
            dead = [Buried(f"d{n}", body, NONE, 5, "PP-500-IO", "why") for n, body in enumerate(bodies)]
            root.store.bury_messages(DEAD_QUEUE, dead, root.now())
            assert (await beside(dead_page(door), "page")).total == 1000
            assert (await beside(redrive(door, ids=["d1500", "d1", "nobody"]), "named")).sent == 1
            redriven = await beside(redrive(door, code="PP-500-IO"), "redrive")
            assert (redriven.sent, redriven.failed) == (999, 0)
            assert (root.store.queue_size(QUEUE), root.store.queue_size(DEAD_QUEUE)) == (1000, 1000)
            assert (await redrive(root.of("other"), most=7)).sent == 7

    go(scene())
    assert most["page"] <= 200 and most["redrive"] <= 200 and most["named"] <= 4


def test_f_x_27_dead_runs_and_dead_messages_are_read_as_one_table(tmp_path: Path) -> None:
    """F-X.27: each names its queue, its cause, how often it was replayed and until when it is kept."""

    async def scene() -> None:
        async with driven(tmp_path, a_pipeline()) as root:
            await died(root, BROKEN, code="PP-400-JSON")
            root.store.send_messages(QUEUE, [("alive", b"{}", NONE)], root.now())
            sql = "SELECT queue_name, code, replays, reference FROM dead_letter_queue"
            rows = root.store._read(sql).fetchall()
            assert [tuple(row[:3]) for row in rows] == [(DEAD_QUEUE, "PP-400-JSON", 0)]

    go(scene())
