"""SQS (extra `sqs`): messages are moved into the built-in queue, and deleted there once they are in the store.

It runs in threads beside the engine, or in a process of its own, with a connection of its own to the store. What cannot
be read is left where it is, longer each time, and after five receives put with its cause into the queue of dead ones
there, and among the dead ones of the store.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from penstock.app.pipeline.intake.consumer import MAX_RECEIVES, VISIBILITY_MS, backoff_s
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE, cause_of
from penstock.app.pipeline.intake.rates import Rate, SqsState
from penstock.errors import BadInput, PenstockError, StoreError
from penstock.host.clock import SystemClock
from penstock.lang.pipeline.messages import messages_of
from penstock.store.address import open_store
from penstock.store.contract import Store
from penstock.store.queues import Buried

_LOG = logging.getLogger(__name__)
#: what SQS gives at most
_AT_ONCE = 10
#: how long a receive waits for messages: closing waits as long
_WAIT_S = 2
_SETTING = "pipelines.sqs."
#: seconds between two looks at how much waits there
_LOOK_S = 5.0
_DEPTH = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
#: messages in the built-in queue that are enough for now
MOST_QUEUED = 10_000
#: bytes of a cause that is sent along
_WHY_MOST = 1000
#: what SQS takes with a message: its own go first, then the code
_MOST_ATTRIBUTES = 10


class SqsQueue(msgspec.Struct, frozen=True):
    """`[pipelines.sqs]` in the settings: the queue's URL, and where the service is if it is not AWS."""

    url: str
    dead_url: str = ""
    endpoint: str = ""
    region: str = "us-east-1"
    threads: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    visibility_s: Annotated[int, msgspec.Meta(ge=1, le=43_200)] = VISIBILITY_MS // 1000

    @staticmethod
    def of(settings: Mapping[str, Any]) -> SqsQueue | None:
        given = {name: settings.get(_SETTING + name) for name in SqsQueue.__struct_fields__}
        if given["url"] is None:
            return None
        try:
            return msgspec.convert({name: value for name, value in given.items() if value is not None}, SqsQueue)
        except msgspec.ValidationError as error:
            raise BadInput(what="the settings [pipelines.sqs]", why=str(error)) from error


def sqs_client(queue: SqsQueue) -> Any:
    try:
        import boto3  # type: ignore[import-untyped, unused-ignore]
        from botocore.config import Config  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        hint = "pip install 'penstock[sqs]'"
        raise BadInput(what="SQS", why="it needs the extra «sqs»", hint=hint) from None
    config = Config(connect_timeout=5, read_timeout=_WAIT_S + 10, retries={"max_attempts": 2})
    more = {"endpoint_url": queue.endpoint} if queue.endpoint else {}
    return boto3.client("sqs", region_name=queue.region, config=config, **more)


class SqsConsumer:
    def __init__(self, store: Path, queue: SqsQueue, *, client: Any = None, most_queued: int = MOST_QUEUED) -> None:
        self.path, self.queue, self.most_queued = store, queue, most_queued
        self.client = client or sqs_client(queue)
        self.stop = threading.Event()
        self.threads: list[threading.Thread] = []
        self.moved = self.failed = self.dead = 0
        self.rate, self.receiving = Rate(), True
        self.depth: tuple[int, int] | None = None
        self.looked_at = 0.0

    def open(self) -> None:
        for number in range(self.queue.threads):
            thread = threading.Thread(target=self.run, name=f"sqs-{number}", daemon=True)
            self.threads.append(thread)
            thread.start()

    def close(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(_WAIT_S + 5)

    def run(self) -> None:
        """Until it is closed; what does not answer is asked again, later each time."""
        store: Store | None = None
        failures = 0
        try:
            while not self.stop.is_set():
                try:
                    store = store or open_store(self.path, engine=False, create=False)
                    self.step(store)
                    self.look()
                    failures, self.receiving = 0, True
                except Exception as error:  # boto3's errors have no common base, and none of them may end the thread
                    failures += 1
                    self.receiving = False
                    _LOG.warning("SQS is not answering as it should: %s", type(error).__name__)
                    self.stop.wait(backoff_s(min(failures, 6)))
        finally:
            if store is not None:
                store.close()

    def step(self, store: Store, wait_s: int = _WAIT_S) -> int:
        """One receive: what can be read goes into the store in one transaction, and only then is deleted. F-4.4: while
        enough lies there that nobody has taken, nothing is received."""
        if store.queue_size(QUEUE) >= self.most_queued:
            self.stop.wait(wait_s)
            return 0
        received = self.client.receive_message(
            QueueUrl=self.queue.url, MaxNumberOfMessages=_AT_ONCE, WaitTimeSeconds=wait_s,
            VisibilityTimeout=self.queue.visibility_s, MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["ApproximateReceiveCount"],
        ).get("Messages", [])  # fmt: skip
        good: list[tuple[dict[str, Any], tuple[str, bytes, bytes]]] = []
        bad: list[tuple[dict[str, Any], dict[str, str], PenstockError]] = []
        for message in received:
            attributes = _attributes(message)
            try:
                messages_of(message["Body"], attributes)
            except PenstockError as error:
                bad.append((message, attributes, error))
                continue
            row = (_id(message), message["Body"].encode(), msgspec.msgpack.encode(attributes))
            good.append((message, row))
        if good:
            self._keep(store, [row for _, row in good], [message for message, _ in good])
            entries = [{"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, (m, _) in enumerate(good)]
            self.client.delete_message_batch(QueueUrl=self.queue.url, Entries=entries)
            self.moved += len(good)
            self.rate.add(len(good))
        for failed in bad:  # last: whatever becomes of them, the others are in the store
            self._failed(store, *failed)
        return len(received)

    def look(self) -> None:
        """How much waits there and is in hand, now and then. Who may not ask receives all the same."""
        if time.monotonic() - self.looked_at < _LOOK_S:
            return
        self.looked_at = time.monotonic()
        try:
            asked = self.client.get_queue_attributes(QueueUrl=self.queue.url, AttributeNames=list(_DEPTH))
        except Exception:  # boto3's errors have no common base
            self.depth = None
            return
        told = asked.get("Attributes", {})
        self.depth = (int(told.get(_DEPTH[0], 0)), int(told.get(_DEPTH[1], 0)))

    def state(self) -> SqsState:
        waiting, in_flight = self.depth or (None, None)
        name = self.queue.url.rpartition("/")[2]
        return SqsState(
            name, self.queue.threads, self.receiving, waiting, in_flight, self.moved, self.rate.per_second
        )  # fmt: skip

    def _keep(self, store: Store, rows: list[tuple[str, bytes, bytes]], messages: list[dict[str, Any]]) -> None:
        """While the store is busy the messages stay invisible to others."""
        for attempt in range(1, MAX_RECEIVES + 1):
            try:
                store.send_messages(QUEUE, rows, SystemClock().now())
                return
            except StoreError as error:
                if not error.passing or attempt == MAX_RECEIVES or self.stop.wait(backoff_s(attempt)):
                    raise
            entries = [
                {"Id": str(n), "ReceiptHandle": m["ReceiptHandle"], "VisibilityTimeout": self.queue.visibility_s}
                for n, m in enumerate(messages)
            ]
            self.client.change_message_visibility_batch(QueueUrl=self.queue.url, Entries=entries)

    def _failed(self, store: Store, message: dict[str, Any], attributes: dict[str, str], error: PenstockError) -> None:
        """F-X.27: a dead one also lies with the store's own, where it can be looked at and sent again."""
        self.failed += 1
        receives = int(message.get("Attributes", {}).get("ApproximateReceiveCount", 1))
        where: dict[str, str] = {"QueueUrl": self.queue.url, "ReceiptHandle": message["ReceiptHandle"]}
        if receives < MAX_RECEIVES:
            self.client.change_message_visibility(**where, VisibilityTimeout=backoff_s(receives))
            return
        code, why = cause_of(error)
        why = why[:_WHY_MOST]
        dead = Buried(_id(message), message["Body"].encode(), msgspec.msgpack.encode(attributes), receives, code, why)
        store.bury_messages(DEAD_QUEUE, [dead], SystemClock().now())
        named = {**message.get("MessageAttributes", {}), "code": _text(code), "why": _text(why)}
        some = dict(list(named.items())[:_MOST_ATTRIBUTES])
        self.client.send_message(QueueUrl=self.dead_url, MessageBody=message["Body"], MessageAttributes=some)
        self.client.delete_message(**where)
        self.dead += 1

    @property
    def dead_url(self) -> str:
        """Named in the settings, else by the queue's own name."""
        above, _, _ = self.queue.url.rpartition("/")
        return self.queue.dead_url or f"{above}/{DEAD_QUEUE}"


def _id(message: Mapping[str, Any]) -> str:
    return f"sqs:{message['MessageId']}"


def _text(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}


def _attributes(message: Mapping[str, Any]) -> dict[str, str]:
    """F-3.2: those that are texts or numbers."""
    given = message.get("MessageAttributes", {})
    return {name: str(value["StringValue"]) for name, value in given.items() if "StringValue" in value}
