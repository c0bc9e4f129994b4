"""SQS: an object that is put is told by S3, lies in SQS, and becomes an execution; a real server on a real socket."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline.background import Consuming
from penstock.app.pipeline.definitions import define
from penstock.app.pipeline.intake.consumer import QueueConsumer
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.app.pipeline.intake.sqs_consumer import SqsConsumer, SqsQueue
from penstock.errors import StoreBusy, StoreError
from tests.app.pipelines import EXAMPLE, a_pipeline, a_stage, driven, ended, executions, until
from tests.conformance.decision.world import go
from tests.servers.aws import KEYS, aws, ministack


class Aws:
    """A queue, its queue of dead ones, and a bucket that tells the queue of its objects."""

    def __init__(self) -> None:
        self.sqs, self.s3 = aws("sqs"), aws("s3")
        name = f"ff-{uuid.uuid4().hex[:8]}"
        self.url = self.sqs.create_queue(QueueName=name)["QueueUrl"]
        self.dead_url = self.sqs.create_queue(QueueName=f"{name}-dlq")["QueueUrl"]
        self.bucket = f"{name}-bucket"
        self.arn = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]
        self.queue = SqsQueue(self.url, self.dead_url, ministack())

    def notify(self) -> None:
        self.s3.create_bucket(Bucket=self.bucket)
        notified = {"QueueConfigurations": [{"QueueArn": self.arn, "Events": ["s3:ObjectCreated:*"]}]}
        self.s3.put_bucket_notification_configuration(Bucket=self.bucket, NotificationConfiguration=notified)

    def send(self, body: Any) -> None:
        self.sqs.send_message(QueueUrl=self.url, MessageBody=body if isinstance(body, str) else json.dumps(body))

    def left(self, url: str | None = None) -> int:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        held = self.sqs.get_queue_attributes(QueueUrl=url or self.url, AttributeNames=names)["Attributes"]
        return sum(int(held[name]) for name in names)


@pytest.fixture
def cloud() -> Aws:
    ministack()
    for name, value in (("AWS_ACCESS_KEY_ID", "aws_access_key_id"), ("AWS_SECRET_ACCESS_KEY", "aws_secret_access_key")):
        os.environ.setdefault(name, KEYS[value])
    return Aws()


async def taken(door: Penstock, consumer: SqsConsumer, wait_s: int = 1) -> int:
    moved = consumer.step(door.store, wait_s)
    await QueueConsumer(Ingest(door)).step()
    return moved


def test_f_3_1_an_object_that_is_put_becomes_an_execution(tmp_path: Path, cloud: Aws) -> None:
    """F-3.1, F-3.3, F-9.1, F-X.17: S3 → notification → SQS → execution; the tenant is the key's prefix; keys are
    decoded, and the test event of S3 is no file."""

    async def scene() -> None:
        cloud.notify()
        cloud.send({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": cloud.bucket})
        key = "tenants/tnt_demo/orgs/5/in box/한 글.png"
        cloud.s3.put_object(Bucket=cloud.bucket, Key=key, Body=b"png", ContentType="image/png")
        async with driven(tmp_path, a_pipeline()) as door:
            consumer = SqsConsumer(tmp_path / "s.db", cloud.queue)
            while cloud.left():
                await taken(door, consumer)
            (line,) = executions(door.of("tnt_demo"))
            look = await ended(door.of("tnt_demo"), line.execution_id)
            assert look.file is not None and (look.file.key, look.file.size) == (key, 3)
            assert (look.organization_id, look.status, door.store.queue_size(QUEUE)) == (5, "COMPLETED", 0)

    go(scene())


def test_f_a_2_what_sqs_delivers_twice_is_one_execution(tmp_path: Path, cloud: Aws) -> None:
    async def scene() -> None:
        for _ in range(3):
            cloud.send(EXAMPLE)
        async with driven(tmp_path, a_pipeline()) as door:
            consumer = SqsConsumer(tmp_path / "s.db", cloud.queue)
            while cloud.left():
                await taken(door, consumer)
            assert len(executions(door.of("tnt_demo"))) == 1

    go(scene())


def test_f_3_3_nothing_is_deleted_before_it_is_in_the_store(tmp_path: Path, cloud: Aws) -> None:
    async def scene() -> None:
        cloud.send(EXAMPLE)
        async with driven(tmp_path, a_pipeline()):
            consumer = SqsConsumer(tmp_path / "s.db", cloud.queue)

            class Broken:
                def queue_size(self, queue: str) -> int:
                    return 0

                def send_messages(self, *_: Any) -> int:
                    raise StoreError(why="no")

            with pytest.raises(StoreError):
                consumer.step(Broken(), 1)  # type: ignore[arg-type]
            assert cloud.left() == 1

    go(scene())


def test_f_a_3_what_cannot_be_read_is_dead_in_sqs_too_with_its_cause(tmp_path: Path, cloud: Aws) -> None:
    """F-A.3, F-3.5: five receives; code and words are attributes of the dead message, its body is as it was."""

    async def scene() -> None:
        body = {name: value for name, value in EXAMPLE.items() if name != "bucket"}
        cloud.send(body)
        async with driven(tmp_path, a_pipeline()) as door:
            consumer = SqsConsumer(tmp_path / "s.db", cloud.queue)
            shown: list[int] = []
            change = consumer.client.change_message_visibility

            def at_once(**given: Any) -> None:
                shown.append(given.pop("VisibilityTimeout"))
                change(**given, VisibilityTimeout=0)

            consumer.client.change_message_visibility = at_once
            while cloud.left():
                await taken(door, consumer)
            assert (shown, consumer.failed, consumer.dead) == ([2, 4, 8, 16], 5, 1)
            (dead,) = cloud.sqs.receive_message(QueueUrl=cloud.dead_url, MessageAttributeNames=["All"])["Messages"]
            assert json.loads(dead["Body"]) == body
            assert dead["MessageAttributes"]["code"]["StringValue"] == "PP-400-JSON"
            assert executions(door.of("tnt_demo")) == []
            (kept,) = door.store.queued(DEAD_QUEUE)
            assert (kept.code, kept.receives, json.loads(kept.body)) == ("PP-400-JSON", 5, body)

    go(scene())


def bucket(name: str) -> str:
    keys = f"access_key_id={KEYS['aws_access_key_id']}&secret_access_key={KEYS['aws_secret_access_key']}"
    return f"s3://{name}?endpoint={ministack()}&region={KEYS['region_name']}&{keys}"


def test_f_p_1_from_a_put_object_to_an_output_object_and_its_event_over_sockets(tmp_path: Path, cloud: Aws) -> None:
    """F-P.1, F-3.1, F-4.3, F-5.1, F-7.1, F-9.5, F-9.7, F-X.24: S3 → notification → SQS → execution → stages in
    processes of their own → output object → event in an SQS queue; the trace is the same all along."""
    pytest.importorskip("obstore", reason="obstore is not installed")

    async def scene() -> None:
        cloud.notify()
        cloud.s3.create_bucket(Bucket=f"{cloud.bucket}-made")
        events = cloud.sqs.create_queue(QueueName=f"{cloud.bucket}-events")["QueueUrl"]
        settings = {
            f"pipelines.buckets.{cloud.bucket}": bucket(cloud.bucket),
            "pipelines.buckets.ff-artifacts": bucket(f"{cloud.bucket}-made"), "pipelines.sqs.url": cloud.url,
            "pipelines.sqs.dead_url": cloud.dead_url, "pipelines.sqs.endpoint": ministack(),
            "pipelines.events.sqs_url": events, "pipelines.events.endpoint": ministack(),
        }  # fmt: skip
        stages = [
            a_stage("sum", 1, processor_type="Checksum"), a_stage("text", 2, processor_type="TextExtractor"),
        ]  # fmt: skip
        async with Penstock(tmp_path / "s.db", settings=settings) as root:
            define(root, a_pipeline("PAGES", file_type="HTML", stages=stages))
            beside = Consuming(root)
            beside.open()
            try:
                page = b"<html><body><h1>Hello</h1><p>world</p></body></html>"
                key = "tenants/tnt_demo/orgs/5/page one.html"
                cloud.s3.put_object(Bucket=cloud.bucket, Key=key, Body=page, ContentType="text/html")
                door = root.of("tnt_demo")
                await until(lambda: bool(executions(door)))
                look = await ended(door, executions(door)[0].execution_id)
                assert (look.status, look.error) == ("COMPLETED", None)
                made = look.stages[1].output_ref
                assert made is not None and made.startswith(f"tenants/tnt_demo/executions/{look.execution_id}/2-text/")
                text = cloud.s3.get_object(Bucket=f"{cloud.bucket}-made", Key=made)["Body"].read().decode()
                assert "Hello" in text and "world" in text and "<h1>" not in text
                await until(lambda: not root.store.follow_ups_left())
            finally:
                await beside.close()
        (message,) = cloud.sqs.receive_message(QueueUrl=events, MessageAttributeNames=["All"])["Messages"]
        told = json.loads(message["Body"])
        assert (told["type"], told["key"]) == ("extraction.completed", f"{look.execution_id}:text:text")
        assert told["data"]["traceId"] == look.trace_id and look.file is not None
        assert told["data"]["fileId"] == look.file.id and 0 <= told["data"]["confidence"] <= 1
        assert message["MessageAttributes"]["key"]["StringValue"] == told["key"]
        assert cloud.left() == 0

    go(scene())


def test_f_4_4_nothing_is_received_while_enough_lies_in_the_store(tmp_path: Path, cloud: Aws) -> None:
    async def scene() -> None:
        for number in range(15):
            cloud.send({**EXAMPLE, "key": f"{number}.png"})
        async with driven(tmp_path, a_pipeline()) as door:
            consumer = SqsConsumer(tmp_path / "s.db", cloud.queue, most_queued=5)
            while door.store.queue_size(QUEUE) < 5:
                consumer.step(door.store, 1)
            before = door.store.queue_size(QUEUE)
            assert consumer.step(door.store, 0) == 0 and cloud.left() == 15 - before
            while cloud.left():
                await taken(door, consumer, 0)
            assert len(executions(door.of("tnt_demo"), limit=100)) == 15

    go(scene())


def test_f_3_4_messages_stay_invisible_while_the_store_takes_nothing(tmp_path: Path, cloud: Aws) -> None:
    """F-3.4: their time is extended before each try, and they are deleted when they are in the store."""

    async def scene() -> None:
        cloud.send(EXAMPLE)
        async with driven(tmp_path, a_pipeline()) as door:
            consumer = SqsConsumer(tmp_path / "s.db", cloud.queue)
            extended: list[Any] = []
            change = consumer.client.change_message_visibility_batch
            consumer.client.change_message_visibility_batch = lambda **given: extended.append(given) or change(**given)
            consumer.stop.wait = lambda seconds: False  # type: ignore[assignment, method-assign, misc]

            class Busy:
                left = 2

                def queue_size(self, queue: str) -> int:
                    return 0

                def send_messages(self, *given: Any) -> int:
                    self.left -= 1
                    if self.left >= 0:
                        raise StoreBusy
                    return door.store.send_messages(*given)

            assert consumer.step(Busy(), 1) == 1  # type: ignore[arg-type]
            assert [each["Entries"][0]["VisibilityTimeout"] for each in extended] == [300, 300]
            assert (door.store.queue_size(QUEUE), cloud.left()) == (1, 0)

    go(scene())


class LimitedSqs:
    """AWS as its documentation says, where the test server is more patient: a message has at most ten attributes. A
    queue of dead ones that is not there refuses everything."""

    def __init__(self, messages: list[dict[str, Any]], *, dead: bool = True) -> None:
        self.messages, self.has_dead = messages, dead
        self.deleted: list[str] = []
        self.dead: list[dict[str, Any]] = []

    def receive_message(self, **_: Any) -> dict[str, Any]:
        return {"Messages": self.messages}

    def send_message(self, **given: Any) -> None:
        if not self.has_dead or len(given["MessageAttributes"]) > 10:
            raise RuntimeError("InvalidParameterValue")
        self.dead.append(given)

    def delete_message(self, **given: Any) -> None:
        self.deleted.append(given["ReceiptHandle"])

    def delete_message_batch(self, **given: Any) -> None:
        self.deleted += [entry["ReceiptHandle"] for entry in given["Entries"]]


def received(id: str, body: Any, receives: int, attributes: dict[str, str] | None = None) -> dict[str, Any]:
    named = {name: {"DataType": "String", "StringValue": value} for name, value in (attributes or {}).items()}
    return {
        "MessageId": id, "Body": json.dumps(body), "ReceiptHandle": id, "MessageAttributes": named,
        "Attributes": {"ApproximateReceiveCount": str(receives)},
    }  # fmt: skip


def test_f_3_2_messages_with_all_their_attributes_die_with_their_code(tmp_path: Path) -> None:
    """F-3.5, F-7.4: the seed names nine attributes, and SQS has room for ten; addresses of people are masked."""
    names = ("tenantId", "organizationId", "traceId", "bucket", "key", "size", "mime", "eventName", "occurredAt")
    given = dict.fromkeys(names, "7")

    async def scene() -> None:
        async with driven(tmp_path) as door:
            body = {"type": "kim@example.com"}
            client = LimitedSqs([received("m", body, 5, given)])
            consumer = SqsConsumer(tmp_path / "s.db", SqsQueue("q", "dead"), client=client)
            consumer.step(door.store, 0)
            (dead,) = client.dead
            attributes = {name: value["StringValue"] for name, value in dead["MessageAttributes"].items()}
            assert attributes == {**given, "code": "PP-400-JSON"} and client.deleted == ["m"]
            (kept,) = door.store.queued(DEAD_QUEUE)
            assert "type" in (kept.why or "") and "kim@" not in (kept.why or "")

    go(scene())


def test_f_3_5_messages_that_cannot_be_buried_hold_up_no_others(tmp_path: Path) -> None:
    async def scene() -> None:
        async with driven(tmp_path) as door:
            client = LimitedSqs([received("bad", {}, 5), received("good", EXAMPLE, 1)], dead=False)
            consumer = SqsConsumer(tmp_path / "s.db", SqsQueue("q", "dead"), client=client)
            with pytest.raises(RuntimeError):
                consumer.step(door.store, 0)
            assert client.deleted == ["good"] and door.store.queue_size(QUEUE) == 1

    go(scene())


def test_f_7_2_what_waits_in_sqs_and_how_fast_it_is_received_is_known(tmp_path: Path, cloud: Aws) -> None:
    """As SQS counts it; who may not ask for that receives all the same."""

    async def scene() -> None:
        for n in range(13):
            cloud.send({**EXAMPLE, "key": f"{n}.png"})
        async with driven(tmp_path, a_pipeline()) as door:
            consumer = SqsConsumer(tmp_path / "s.db", cloud.queue)
            assert (consumer.state().waiting, consumer.state().per_second) == (None, 0.0)
            moved = await taken(door, consumer)
            consumer.look()
            state = consumer.state()
            assert (state.name, state.consumers, state.moved) == (cloud.url.rpartition("/")[2], 1, moved)
            assert (state.waiting, state.in_flight) == (13 - moved, 0) and state.per_second > 0
            consumer.queue = SqsQueue(cloud.url + "-gone", cloud.dead_url, cloud.queue.endpoint)
            consumer.looked_at = 0.0
            consumer.look()
            assert consumer.state().waiting is None

    go(scene())
