"""stream: messages of the inbox, of a broker, of a queue and of a database, each from a real server."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from penstock.executors.stream import StreamExecutor
from tests.executors.desk import Desk

STREAM = StreamExecutor()


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    made.settings["http.allow"] = ["127.0.0.1"]
    return made


def test_the_inbox_is_the_default(desk):
    """W-4.1.4, C-24: without a connection, events of the engine's own inbox; 100 at most unless it says otherwise."""
    desk.tenant.events["line.alarm"] = [{"n": n} for n in range(150)]
    done = desk.done(STREAM, {"name": "line.alarm"})
    assert done.body == [{"n": n} for n in range(100)]
    assert desk.done(STREAM, {"name": "line.alarm", "max_messages": 7}).body == [{"n": n} for n in range(100, 107)]
    assert desk.done(STREAM, {"name": "nothing"}).body == []


@pytest.mark.parametrize(
    "args",
    [{}, {"name": ""}, {"name": "a\nb"}, {"name": "x", "max_messages": 0}, {"name": "x", "max_messages": True},
     {"name": "x", "max_wait_ms": -1}, {"name": "x", "max_wait_ms": 10**9}, None],
)  # fmt: skip
def test_arguments_of_the_wrong_kind(desk, args):
    failure = desk.failed(STREAM, args)
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")


def test_an_unknown_connection(desk):
    assert desk.failed(STREAM, {"name": "x", "connection": "nope"}).code == "CONNECTION_NOT_FOUND"
    desk.register("connection", "files", type="file", root=".")
    assert desk.failed(STREAM, {"name": "x", "connection": "files"}).code == "CONNECTION_NOT_FOUND"


# ---- MQTT ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broker():
    pytest.importorskip("aiomqtt")
    pytest.importorskip("amqtt")
    from tests.servers.mqtt import MqttBroker

    made = MqttBroker("unheard")
    yield made
    made.close()


def publish(broker, topic, *bodies, qos=1):
    import aiomqtt

    async def send():
        async with aiomqtt.Client("127.0.0.1", broker.port) as client:
            for body in bodies:
                await client.publish(topic, body if isinstance(body, bytes) else json.dumps(body), qos=qos)

    asyncio.run(send())


def test_mqtt_messages_that_come_while_it_listens(desk, broker):
    """C-24: a connection of the type mqtt reads a topic."""
    desk.register("connection", "robots", type="mqtt", url=broker.url)
    over = threading.Event()

    def tell():
        while not over.wait(0.5):  # nobody knows when it listens
            publish(broker, "cells/7", {"n": 1})
            publish(broker, "cells/8", b"plain \xff")

    late = threading.Thread(target=tell)
    late.start()
    done = desk.done(STREAM, {"connection": "robots", "name": "cells/+", "max_messages": 2, "max_wait_ms": 60_000})
    over.set()
    late.join()
    found = {one["topic"]: one["body"] for one in done.body}
    assert found == {"cells/7": {"n": 1}, "cells/8": "plain \ufffd"}
    empty = desk.done(STREAM, {"connection": "robots", "name": "quiet", "max_wait_ms": 300})
    assert empty.body == []


@pytest.fixture
def keeper():
    """A broker that keeps messages for readers it knows by name."""
    pytest.importorskip("aiomqtt")
    broker_of = pytest.importorskip("amqtt.broker").Broker
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    plugins = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": False}}
    config = {"listeners": {"default": {"type": "tcp", "bind": f"127.0.0.1:{port}"}}, "plugins": plugins}

    async def live():
        made = broker_of(config, loop=loop)
        await made.start()
        ready.set()
        await stop.wait()
        await made.shutdown()

    thread = threading.Thread(target=loop.run_until_complete, args=(live(),), daemon=True)
    thread.start()
    assert ready.wait(20)
    yield port
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()


def test_mqtt_with_a_client_id_hears_what_came_between_reads(desk, keeper):
    """What came while nobody listened comes with the next read; what was read does not come again."""
    import aiomqtt

    url, options = f"mqtt://127.0.0.1:{keeper}", {"client_id": "reader-1", "username": "reader"}
    desk.register("connection", "kept", type="mqtt", url=url, options=options, secret="word")
    desk.tenant.secrets["word"] = "password"
    args = {"connection": "kept", "name": "jobs", "max_wait_ms": 1500}
    assert desk.done(STREAM, {**args, "max_wait_ms": 100}).body == []

    async def send():
        async with aiomqtt.Client("127.0.0.1", keeper, username="sender", password="x") as client:
            for n in range(3):
                await client.publish("jobs", str(n), qos=1)

    asyncio.run(send())
    assert [one["body"] for one in desk.done(STREAM, {**args, "max_messages": 3}).body] == [0, 1, 2]
    assert desk.done(STREAM, args).body == []
    desk.register("connection", "kept", type="mqtt", url=url)
    failure = desk.failed(STREAM, args)
    assert (failure.code, failure.category) == ("MQTT_DENIED", "authorization")


def test_mqtt_that_cannot_be_reached(desk, broker):
    desk.register("connection", "gone", type="mqtt", url="mqtt://127.0.0.1:1")
    failure = desk.failed(STREAM, {"connection": "gone", "name": "x"})
    assert (failure.code, failure.category) == ("CONNECTION_LOST", "transient")
    desk.settings["http.allow"] = []
    desk.register("connection", "inside", type="mqtt", url=broker.url)
    assert desk.failed(STREAM, {"connection": "inside", "name": "x"}).code == "HTTP_BLOCKED"
    desk.register("connection", "odd", type="mqtt", url="http://x")
    assert desk.failed(STREAM, {"connection": "odd", "name": "x"}).code == "HTTP_URL"


# ---- SQS -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def queue():
    boto3 = pytest.importorskip("boto3")
    pytest.importorskip("ministack")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {"PATH": os.environ.get("PATH", ""), "GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1"}
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([sys.executable, "-m", "ministack"], env=own, stdout=quiet, stderr=quiet)
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.05)
    url = f"http://127.0.0.1:{port}"
    client = boto3.client(
        "sqs", endpoint_url=url, region_name="us-east-1", aws_access_key_id="KEY", aws_secret_access_key="WORD"
    )
    address = client.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
    yield url, client, address
    server.terminate()
    server.wait(10)


def test_sqs_messages_are_taken_once(desk, queue):
    """C-24: a connection of the type sqs reads a queue; what was answered is deleted there."""
    url, client, address = queue
    for n in range(12):
        client.send_message(QueueUrl=address, MessageBody=json.dumps({"n": n}))
    desk.register("connection", "aws", type="sqs", secret="aws", options={"endpoint_url": url})
    args = {"connection": "aws", "name": "orders"}
    assert desk.failed(STREAM, args).code == "SECRET_NOT_FOUND"
    desk.tenant.secrets["aws"] = "KEY:WORD-1234"
    first = desk.done(STREAM, {**args, "max_messages": 11}).body
    second = desk.done(STREAM, args).body
    assert sorted(one["body"]["n"] for one in first + second) == list(range(12))
    assert (len(first), len(second)) == (11, 1)
    time.sleep(1.2)  # the visibility timeout: nothing was merely hidden
    assert desk.done(STREAM, {**args, "max_wait_ms": 0}).body == []


def test_an_sqs_read_that_fails_takes_nothing(desk, queue):
    """A read without an answer acknowledges nothing."""
    url, client, address = queue
    for _ in range(4):
        client.send_message(QueueUrl=address, MessageBody=json.dumps("x" * 200_000))
    desk.tenant.secrets["aws"] = "KEY:WORD-1234"
    desk.register("connection", "aws", type="sqs", secret="aws", options={"endpoint_url": url})
    args = {"connection": "aws", "name": "orders", "max_wait_ms": 3000}
    failure = desk.failed(STREAM, {**args, "output": {"schema": {"type": "string"}}})
    assert failure.code == "OUTPUT_SCHEMA"
    time.sleep(1.2)  # the visibility timeout
    again = desk.done(STREAM, args).body
    assert len(again) == 4
    assert all(one["received"] > 1 for one in again)
    assert desk.failed(STREAM, {"connection": "aws", "name": "none"}).code == "STREAM_NOT_FOUND"


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


def test_postgresql_notifications(desk):
    """C-24: a connection of the type postgresql listens to a channel; its name is a name, whatever it holds."""
    psycopg = pytest.importorskip("psycopg")
    from tests.servers.postgres import database

    url = database()
    desk.register("connection", "base", type="postgresql", url=url)
    channel = 'ch"; DROP TABLE x; --'

    over = threading.Event()

    def notify():
        with psycopg.connect(url) as base:
            while not over.wait(0.5):  # nobody knows when it listens; three are heard at once or not at all
                for body in ('{"n": 1}', "word", "third"):
                    base.execute("SELECT pg_notify(%s, %s)", (channel, body))
                base.commit()

    late = threading.Thread(target=notify)
    late.start()
    args = {"connection": "base", "name": channel, "max_messages": 2, "max_wait_ms": 60_000}
    done = desk.done(STREAM, args)
    over.set()
    late.join()
    assert [one["body"] for one in done.body] == [{"n": 1}, "word"]
    desk.register("connection", "base", type="postgresql", url="postgresql://u@127.0.0.1:1/x")
    assert desk.failed(STREAM, args).code == "CONNECTION_LOST"
