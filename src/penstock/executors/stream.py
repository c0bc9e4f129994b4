"""stream: the messages that wait at a named source (DATA with source.type stream).

What is acknowledged when: events of the engine's own inbox count as read with the commit that has the answer; none is
lost, and one may come again after a crash. sqs and mqtt messages are acknowledged when the whole answer stands,
transformed and held against its schema, and before it is in the journal. A read that fails, times out or is cancelled
acknowledges nothing: its messages come again (sqs: after the queue's visibility timeout; mqtt: to a connection with a
client_id). So a message may be read twice, and a process that dies between the acknowledgement and the commit loses
what it had read of those. Messages beyond max_messages stay where they are. A NOTIFY is kept by nobody: only who
listens hears it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from penstock.executors.contract import Done, Outcome, Request, Services, StreamBatch, Tenant, failed
from penstock.executors.parts.connections import Connection, connection_of, password_of, tenant_of, tenant_secrets
from penstock.executors.parts.extras import extra_message
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.network.egress_policy import EgressPolicy, egress_policy_of
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.network.http_client import resolve
from penstock.executors.parts.network.pinned_connections import NamedTlsContext, pin_connections
from penstock.executors.parts.network.postgres import connection_parameters
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.secrets import SecretMissing, Secrets
from penstock.executors.parts.sql.rows import Rows, TooManyRows
from penstock.executors.parts.threads import in_thread

MAX_MESSAGES, MAX_WAIT_MS = 100, 1000
MOST_MESSAGES, MOST_WAIT_MS = 10_000, 60_000
TIMEOUT_MS = 30_000
_MQTT_PORTS = (1883, 8883)


class Batch(NamedTuple):
    """What was read, and how its source hears that it has arrived: from here, or from the host with its commit."""

    messages: list[Any]
    acknowledge: Callable[[], Awaitable[None]]
    taken: StreamBatch | None = None


class StreamExecutor:
    """args: connection, name, max_messages (100), max_wait_ms (1000). The answer is a list of messages, oldest first.

    The connection's type says what the name is: an `events` source of the engine's own inbox (also without any
    connection), an `mqtt` topic {url: mqtt://host, secret: password, options: username, client_id, qos}, an `sqs` queue
    {secret: KEY:SECRET, options: region, endpoint_url}, or a `postgresql` NOTIFY channel {url, secret: password}.
    Messages from outside are {"body": JSON or text, …} with what their source tells about them.
    """

    name = "stream"

    async def run(self, request: Request, services: Services) -> Outcome:
        secrets = tenant_secrets(request, services)
        try:
            tenant = tenant_of(request, services)
            reading = _reading(request, services, tenant, secrets)
            async with asyncio.timeout((request.timeout_ms or TIMEOUT_MS) / 1000):
                async with _SOURCES[reading.connection.type](reading) as batch:
                    messages = batch.messages
                    about = {"connection": reading.connection.id, "source": reading.source, "messages": len(messages)}
                    outcome = await finish_output(request, secrets.scrub(messages), about, "object")
                    if isinstance(outcome, Done):
                        await batch.acknowledge()
                        return msgspec.structs.replace(outcome, taken=batch.taken)
                    if batch.taken is not None:
                        batch.taken.give_back()
                    return outcome
        except CallRefused as error:
            return failed(error.code, error.category, secrets.scrub_message(str(error)))
        except SecretMissing as error:
            return failed("SECRET_NOT_FOUND", "authorization", str(error))
        except NotJson as error:
            return failed("STREAM_MESSAGE", "validation", f"A message is no value that JSON can hold: {error}.")
        except TooManyRows as error:
            return failed("STREAM_TOO_LARGE", "permanent", f"The messages are too large: {error}.")
        except TimeoutError:
            return failed("NODE_TIMEOUT", "timeout", "The source did not answer in time.")
        except OSError as error:
            return failed("CONNECTION_LOST", "transient", secrets.scrub_message(str(error)[:300]))


class _Reading(msgspec.Struct, frozen=True, kw_only=True):
    connection: Connection
    tenant: Tenant
    secrets: Secrets
    source: str
    most: int
    wait_ms: int
    egress: EgressPolicy
    ca_file: str | None
    tenant_id: str
    services: Services

    def extra(self, package: str) -> CallRefused:
        return CallRefused("EXTRA_MISSING", "permanent", extra_message("This source needs", package))


def _reading(request: Request, services: Services, tenant: Tenant, secrets: Secrets) -> _Reading:
    args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
    source = args.get("name")
    if not isinstance(source, str) or not source.strip() or len(source) > 500 or not source.isprintable():
        raise CallRefused("INPUT_INVALID", "validation", "«name» must name the source: a topic, a queue or a channel.")
    if not args.get("connection") and tenant.find("connection", "default_stream") is None:
        connection = Connection("default_stream", "events", {})
    else:
        connection = connection_of(args, tenant, "default_stream", tuple(_SOURCES))
    return _Reading(
        connection=connection,
        tenant=tenant,
        secrets=secrets,
        source=source,
        most=_whole_number(args, "max_messages", MAX_MESSAGES, 1, MOST_MESSAGES),
        wait_ms=_whole_number(args, "max_wait_ms", MAX_WAIT_MS, 0, MOST_WAIT_MS),
        egress=egress_policy_of(services.settings, request.tenant),
        ca_file=services.settings.get("http.ca_file"),
        tenant_id=request.tenant,
        services=services,
    )


def _whole_number(args: Mapping[str, Any], name: str, otherwise: int, least: int, most: int) -> int:
    value = args.get(name)
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise CallRefused("INPUT_INVALID", "validation", f"«{name}» must be a whole number from {least} to {most}.")
    return value


def _body(raw: bytes | str) -> Any:
    """JSON if it is JSON, else text."""
    try:
        return json_value(msgspec.json.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, NotJson, RecursionError):
        return raw if isinstance(raw, str) else raw.decode(errors="replace")


async def _nothing() -> None:
    """There is nobody to acknowledge to."""


@contextlib.asynccontextmanager
async def _events(reading: _Reading) -> AsyncIterator[Batch]:
    taken = await reading.tenant.take(reading.source, reading.most, reading.wait_ms)
    if taken is None:
        yield Batch([], _nothing)
        return
    try:
        rows = Rows([], reading.most)
        for event in taken.messages:
            rows.put(json_value(event))
        yield Batch(rows.items, _nothing, taken)
    except BaseException:  # a cancel, too
        taken.give_back()
        raise


# ---- MQTT ------------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _mqtt(reading: _Reading) -> AsyncIterator[Batch]:
    try:
        import aiomqtt
    except ImportError:
        raise reading.extra("mqtt") from None
    client = await _mqtt_client(reading)
    wire = client._client  # the only way to acknowledge what is kept, and nothing else
    wire.manual_ack_set(True)
    qos = 0 if reading.connection.options.get("qos") == 0 else 1
    try:
        async with client:
            await client.subscribe(reading.source, qos=qos)
            rows, taken = await _mqtt_messages(client, reading)

            async def acknowledge() -> None:
                for message in taken:
                    wire.ack(message.mid, message.qos)

            yield Batch(rows.items, acknowledge)
    except aiomqtt.MqttCodeError as error:
        if getattr(error.rc, "value", error.rc) in (4, 5, 134, 135):
            why = f"The broker of «{reading.connection.id}» does not let us in."
            raise CallRefused("MQTT_DENIED", "authorization", why) from None
        raise ConnectionError("the broker refused the connection") from None
    except aiomqtt.MqttError as error:
        raise ConnectionError(f"the connection to the broker failed ({type(error).__name__})") from None


async def _mqtt_messages(client: Any, reading: _Reading) -> tuple[Rows, list[Any]]:
    rows = Rows([], reading.most)
    taken: list[Any] = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(reading.wait_ms / 1000):
            while len(taken) < reading.most:
                message = await anext(client.messages)
                raw = message.payload if isinstance(message.payload, bytes | str) else str(message.payload)
                rows.put({"topic": str(message.topic), "body": _body(raw), "retained": bool(message.retain)})
                taken.append(message)
    return rows, taken


async def _mqtt_client(reading: _Reading) -> Any:
    import aiomqtt

    connection = reading.connection
    place = urlsplit(str(connection.body.get("url") or ""))
    if place.scheme not in ("mqtt", "mqtts") or not place.hostname:
        why = f"The connection «{connection.id}» must have mqtt://host as its url."
        raise CallRefused("HTTP_URL", "validation", why)
    tls = place.scheme == "mqtts"
    port = place.port or (8883 if tls else 1883)
    addresses = await resolve(
        place.hostname, port, EgressPolicy(reading.egress.rules, reading.egress.ports + _MQTT_PORTS)
    )
    password, client_id = password_of(connection, reading.secrets), connection.options.get("client_id")
    return aiomqtt.Client(
        addresses[0],
        port,
        identifier=str(client_id) if client_id else None,
        clean_session=not client_id,
        username=str(connection.options.get("username") or "") if password is not None else None,
        password=password,
        tls_context=NamedTlsContext.to(place.hostname, reading.ca_file) if tls else None,
        timeout=10,
    )


# ---- SQS -------------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _sqs(reading: _Reading) -> AsyncIterator[Batch]:
    try:
        import boto3  # type: ignore[import-untyped, unused-ignore]  # noqa: F401
    except ImportError:
        raise reading.extra("sqs") from None
    secret = password_of(reading.connection, reading.secrets)
    key, colon, word = (secret or "").partition(":")
    if not colon:
        why = f"The connection «{reading.connection.id}» needs a secret of the form KEY:SECRET."
        raise CallRefused("SECRET_NOT_FOUND", "authorization", why)
    if "://" in reading.source:
        raise CallRefused("INPUT_INVALID", "validation", "«name» is the queue's name, not its URL.")
    queue = _Queue(reading, key, word)
    try:
        yield Batch(await in_thread(queue.read), lambda: in_thread(queue.delete))
    finally:
        queue.stopped.set()


class _Queue:
    """An SQS queue, spoken to from threads."""

    def __init__(self, reading: _Reading, key: str, word: str) -> None:
        self.reading, self._key, self._word = reading, key, word
        self.stopped = threading.Event()
        self.taken: list[Any] = []
        self.client: Any = None
        self.url = ""

    def read(self) -> list[Any]:
        with self._as_failures():
            self.client = _sqs_client(self.reading, self._key, self._word)
            self.url = self.client.get_queue_url(QueueName=self.reading.source)["QueueUrl"]
            rows = self._received()
        return rows.items

    def delete(self) -> None:
        with self._as_failures():
            for start in range(0, len(self.taken), 10):
                some = self.taken[start : start + 10]
                entries = [{"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]} for n, message in enumerate(some)]
                self.client.delete_message_batch(QueueUrl=self.url, Entries=entries)

    def _received(self) -> Rows:
        rows, ends = Rows([], self.reading.most), time.monotonic() + self.reading.wait_ms / 1000
        while len(self.taken) < self.reading.most and not self.stopped.is_set():
            left = max(0.0, ends - time.monotonic())
            answer = self.client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=min(10, self.reading.most - len(self.taken)),
                WaitTimeSeconds=0 if self.taken else min(20, round(left)),
                MessageSystemAttributeNames=["SentTimestamp", "ApproximateReceiveCount"],
            )
            messages = answer.get("Messages") or []
            for message in messages:
                about = message.get("Attributes") or {}
                row = {"id": message["MessageId"], "body": _body(message["Body"])}
                rows.put(row | {"sent_at": int(about.get("SentTimestamp") or 0), "received": _count(about)})
                self.taken.append(message)
            if not messages and (self.taken or time.monotonic() >= ends):
                break
        return rows

    @contextlib.contextmanager
    def _as_failures(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped, unused-ignore]

        try:
            yield
        except ClientError as error:
            raise _sqs_failure(error, self.reading) from None
        except BotoCoreError as error:
            inner = error.kwargs.get("error")
            if isinstance(inner, CallRefused):
                raise inner from None
            raise ConnectionError(f"the queue cannot be reached ({type(error).__name__})") from None


def _count(about: Mapping[str, Any]) -> int:
    return int(about.get("ApproximateReceiveCount") or 1)


def _sqs_client(reading: _Reading, key: str, word: str) -> Any:
    import boto3
    from botocore.config import Config  # type: ignore[import-untyped, unused-ignore]

    options = reading.connection.options
    client = boto3.client(
        "sqs",
        region_name=str(options.get("region") or "us-east-1"),
        endpoint_url=options.get("endpoint_url") or None,
        aws_access_key_id=key,
        aws_secret_access_key=word,
        config=Config(connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 1}, proxies={}),
    )
    pin_connections(client, reading.egress)
    return client


def _sqs_failure(error: Any, reading: _Reading) -> Exception:
    details = error.response.get("Error", {})
    code, status = str(details.get("Code", "")), error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    if "NonExistent" in code or "QueueDoesNotExist" in code:
        return CallRefused("STREAM_NOT_FOUND", "permanent", f"There is no queue «{reading.source}».")
    if status in (401, 403):
        return CallRefused("HTTP_401_403", "authorization", f"«{reading.connection.id}» denies it: {code}.")
    if status < 500 and "Throttl" not in code:
        return CallRefused("HTTP_4XX", "permanent", f"«{reading.connection.id}» refuses it: {code}.")
    return ConnectionError(f"the queue answered {code}")


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _notify(reading: _Reading) -> AsyncIterator[Batch]:
    try:
        import psycopg
        from psycopg import sql
    except ImportError:
        raise reading.extra("postgresql") from None
    password, rows = password_of(reading.connection, reading.secrets), Rows([], reading.most)
    url, more = str(reading.connection.body.get("url") or ""), {"connect_timeout": 10, "options": ""}
    given = await connection_parameters(
        url, password, reading.services, reading.tenant_id, reading.connection.id, **more
    )
    try:
        base = await psycopg.AsyncConnection.connect(autocommit=True, **given)
        try:
            await base.execute(sql.SQL("LISTEN {}").format(sql.Identifier(reading.source)))
            heard = base.notifies(timeout=reading.wait_ms / 1000, stop_after=reading.most)
            async for note in heard:
                if len(rows.items) < reading.most:
                    rows.put({"channel": note.channel, "body": _body(note.payload)})
        finally:
            await base.close()
    except psycopg.Error as error:
        raise ConnectionError(
            f"«{reading.connection.id}» cannot be used: {' '.join(str(error).split())[:200]}"
        ) from None
    yield Batch(rows.items, _nothing)


_SOURCES: dict[str, Callable[[_Reading], contextlib.AbstractAsyncContextManager[Batch]]] = {
    "events": _events,
    "mqtt": _mqtt,
    "sqs": _sqs,
    "postgresql": _notify,
}
