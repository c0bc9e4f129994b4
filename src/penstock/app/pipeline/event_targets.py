"""Where events of pipelines go beside this store: an address that takes them by HTTP, an SQS queue (F-5.1, F-X.24).

Each has the key of the event, which is the same on every delivery: whoever takes it puts it there once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.pipeline.intake.sqs_consumer import SqsQueue, sqs_client
from penstock.dialects.pipeline.follow_ups import FollowUp
from penstock.errors import BadInput
from penstock.errors.pipeline import PipelineStorage
from penstock.executors.contract import Failed, Request

_SETTING = "pipelines.events."


class EventTargets:
    def __init__(self, door: Penstock) -> None:
        self.door = door
        settings = door.settings
        self.url = _text(settings, "url")
        self.queue = _queue(settings)
        self._client: Any = None

    async def tell(self, event: FollowUp) -> None:
        """To everybody; raises where one of them has not taken it."""
        body = {"type": event.name, "key": event.key, "data": event.about}
        for sink in self.door.host.outbox.sinks:
            await sink(event.name, event.about, event.key)
        if self.url:
            await self._post(event, body)
        if self.queue is not None:
            await asyncio.to_thread(self._send, event, body)

    async def _post(self, event: FollowUp, body: dict[str, Any]) -> None:
        services = self.door.host.dispatch.services
        args = {"channel": "webhook", "config": {"url": self.url, "body": body}}
        request = Request(
            key=event.key, tenant=event.tenant, run=event.run, node="", executor="notify", args=args, names={},
            at=self.door.now(),
        )  # fmt: skip
        executor = services.executors["notify"]
        outcome = await executor.run(request, services.of(event.tenant))
        if isinstance(outcome, Failed):
            raise PipelineStorage(why=f"{outcome.failure.code} {outcome.failure.message}")

    def _send(self, event: FollowUp, body: dict[str, Any]) -> None:
        assert self.queue is not None
        self._client = self._client or sqs_client(self.queue)
        named = {"type": event.name, "key": event.key, "tenantId": event.tenant, "traceId": event.about.get("traceId")}
        attributes = {
            name: {"DataType": "String", "StringValue": str(value)} for name, value in named.items() if value
        }  # fmt: skip
        more: dict[str, str] = {}
        if self.queue.url.endswith(".fifo"):
            more = {"MessageGroupId": event.run, "MessageDeduplicationId": event.key[:128]}
        self._client.send_message(
            QueueUrl=self.queue.url, MessageBody=msgspec.json.encode(body).decode(), MessageAttributes=attributes,
            **more,
        )  # fmt: skip


def _text(settings: Mapping[str, Any], name: str) -> str:
    value = settings.get(_SETTING + name)
    if value is not None and not isinstance(value, str):
        raise BadInput(what=f"the setting «{_SETTING}{name}»", why="it is a text")
    return value or ""


def _queue(settings: Mapping[str, Any]) -> SqsQueue | None:
    url = _text(settings, "sqs_url")
    if not url:
        return None
    return SqsQueue(url, endpoint=_text(settings, "endpoint"), region=_text(settings, "region") or "us-east-1")
