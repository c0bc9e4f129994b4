"""What follows executions: events, actions, notices and pipelines that wait for others; at least once, after commit."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.pipeline import steering
from penstock.app.pipeline.background import Consuming
from penstock.app.pipeline.definitions import define
from penstock.app.pipeline.executions import execution
from penstock.app.pipeline.follow_ups import LONGEST_CHAIN, FollowUpDelivery
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.errors import DocumentInvalid
from penstock.executors.contract import failed
from penstock.lang.pipeline.messages import messages_of
from tests.app.pipelines import EXAMPLE, Processor, a_pipeline, a_stage, driven, ended, executions, until
from tests.conformance.decision.world import go
from tests.servers.postgres import database

ROOT = Path(__file__).parents[2]
STORES = {"sqlite": lambda: "", "postgresql": database}
EXTRACTED = {
    "output": {"text": "hello"}, "output_ref": "tenants/t/x",
    "extraction": {"extractionType": "text", "method": "html", "confidence": 0.75},
}  # fmt: skip


class Receiver:
    """Takes what is posted, and answers as it is told."""

    def __init__(self) -> None:
        self.status = 200
        self.posted: list[tuple[str, str | None, dict[str, Any]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.posted.append((self.path, self.headers["Idempotency-Key"], body))
                self.send_response(outer.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


HERE = {"http.allow": ["127.0.0.1"]}


async def begun(door: Penstock, **more: Any) -> str:
    (receipt,) = await Ingest(door).take(messages_of({**EXAMPLE, **more}))
    (id,) = receipt.started
    return id


async def followed(door: Penstock) -> None:
    """Until nothing is left to do."""
    delivery = FollowUpDelivery(door)
    while await delivery.step():
        pass


def told(door: Penstock, name: str) -> list[tuple[str, dict[str, Any]]]:
    events = door.store.events(door.tenant, name)
    return [(event.id, msgspec.msgpack.decode(event.body)) for event in events]


@pytest.mark.parametrize("store", STORES)
def test_f_5_1_an_extraction_is_told_with_its_trace_and_key(tmp_path: Path, store: str) -> None:
    """F-5.1, F-X.24, F-7.1, F-9.5, F-A.1: in the store's own events, once by its key."""

    async def scene() -> None:
        processor = Processor({"first": EXTRACTED})
        async with driven(tmp_path, a_pipeline(), processor=processor, store=STORES[store]()) as root:
            door = root.of("tnt_demo")
            id = await begun(root)
            look = await ended(door, id)
            await followed(root)
            ((key, event),) = told(door, "extraction.completed")
            assert key == f"{id}:first:text" and look.file is not None
            decided = {
                "executionId": id, "fileId": look.file.id, "extractionType": "text", "method": "html",
                "confidence": 0.75, "traceId": EXAMPLE["traceId"],
            }  # fmt: skip
            assert decided.items() <= event.items()
            assert not root.store.follow_ups_left()

    go(scene())


def test_f_5_1_that_an_event_goes_to_the_address_of_the_settings_until_it_is_taken(
    tmp_path: Path, receiver: Receiver
) -> None:
    """F-X.24: at least once, with the same key each time."""

    async def scene() -> None:
        settings = {**HERE, "pipelines.events.url": receiver.url + "/events"}
        async with driven(tmp_path, a_pipeline(), processor=Processor({"first": EXTRACTED}), settings=settings) as root:
            receiver.status = 503
            id = await begun(root)
            await ended(root.of("tnt_demo"), id)
            await followed(root)
            assert len(receiver.posted) == 1 and root.store.follow_ups_left()
            receiver.status = 200
            beside = Consuming(root)
            beside.open()
            try:
                await until(lambda: not root.store.follow_ups_left())
            finally:
                await beside.close()
            first, second = receiver.posted
            assert first == second
            path, key, body = first
            assert (path, key, body["type"]) == ("/events", f"{id}:first:text", "extraction.completed")
            assert body["data"]["traceId"] == EXAMPLE["traceId"]

    go(scene())


def test_f_5_1_that_a_receiver_that_takes_nothing_holds_up_no_pipeline_that_waits(
    tmp_path: Path, receiver: Receiver
) -> None:
    """F-X.12: it is asked once in a round, however many events are there, and what begins goes first."""

    async def scene() -> None:
        settings = {**HERE, "pipelines.events.url": receiver.url + "/events"}
        documents = (a_pipeline("A"), {**waits("B", "A"), "stages": [a_stage("other", 1)]})
        async with driven(tmp_path, *documents, processor=Processor({"first": EXTRACTED}), settings=settings) as root:
            receiver.status, door = 503, root.of("tnt_demo")
            for number in range(5):
                await ended(door, await begun(root, key=f"{number}.png"))
            done = await FollowUpDelivery(root).step()
            assert (done, len(receiver.posted)) == (5, 1)
            assert sum(line.pipeline_code == "B" for line in executions(door)) == 5

    go(scene())


@pytest.mark.parametrize(
    ("answer", "status", "actions"), [(None, "COMPLETED", "success_actions"), ("bad", "FAILED", "failure_actions")]
)
def test_f_x_13_actions_follow_the_end_that_they_are_for(
    tmp_path: Path, receiver: Receiver, answer: str | None, status: str, actions: str
) -> None:
    """F-X.13: an event, a webhook, another pipeline for the same file; the other end's are left alone."""

    async def scene() -> None:
        wanted = [
            {"type": "event", "name": "pictures.done"},
            {"type": "webhook", "url": receiver.url + "/done"},
            {"type": "pipeline", "code": "NEXT"},
        ]
        other = "failure_actions" if actions == "success_actions" else "success_actions"
        definition = a_pipeline(**{actions: wanted, other: [{"type": "event", "name": "never"}]})
        following = a_pipeline("NEXT", pipeline_type="SCHEDULED", stages=[a_stage("only", 1)])
        processor = Processor({"second": failed("BAD", "permanent", "kim@example.com is broken")} if answer else {})
        async with driven(tmp_path, definition, following, processor=processor, settings=HERE) as root:
            door = root.of("tnt_demo")
            id = await begun(root)
            look = await ended(door, id)
            await followed(root)
            await until(lambda: len(receiver.posted) == 1)
            ((_, event),) = told(door, "pictures.done")
            path, key, body = receiver.posted[0]
            assert (look.status, path, body["status"], event["status"]) == (status, "/done", status, status)
            assert key and body["executionId"] == id and body["traceId"] == EXAMPLE["traceId"]
            assert (body.get("error") or {}).get("code") == ("BAD" if answer else None)
            assert "kim@" not in json.dumps(body), "what was in the file is told to nobody"
            assert told(door, "never") == []
            (next_one,) = executions(door, code="NEXT")
            again = await ended(door, next_one.execution_id)
            assert (again.trigger_type, again.parent_execution_id) == ("DEPENDENCY", id)
            assert look.file is not None and again.file is not None and again.file.id == look.file.id
            assert (again.trace_id, execution(door, id).status) == (EXAMPLE["traceId"], status)

    go(scene())


def test_f_x_13_notifications_go_to_log_webhook_and_mail_at_the_ends_that_are_named(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "penstock")

    async def scene() -> None:
        channels = [
            {"type": "log"}, {"type": "webhook", "url": receiver.url + "/told"},
            {"type": "email", "to": "outbox:ops@example.com"},
        ]  # fmt: skip
        definition = a_pipeline(notification_config={"on": ["FAILED"], "channels": channels})
        processor = Processor({"second": failed("BAD", "permanent", "no")})
        async with driven(tmp_path, definition, processor=processor, settings=HERE) as root:
            door = root.of("tnt_demo")
            id = await begun(root)
            await ended(door, id)
            await followed(root)
            await until(lambda: len(receiver.posted) == 1 and len(root.store.messages("tnt_demo")) == 1)
            assert receiver.posted[0][2]["error"] == {"code": "BAD", "stage": "second"}
            (mail,) = root.store.messages("tnt_demo")
            assert (mail.channel, mail.target) == ("email", "outbox:ops@example.com") and id.encode() in mail.body
            assert f"execution {id} pipeline=IMG_BASIC status=FAILED" in caplog.text
            processor.answers = {}
            await ended(door, await begun(root, key="b"))
            await followed(root)
            assert len(receiver.posted) == 1, "COMPLETED is not named"

    go(scene())


def test_f_x_13_that_a_receiver_that_refuses_changes_nothing_of_the_execution(
    tmp_path: Path, receiver: Receiver
) -> None:
    async def scene() -> None:
        receiver.status = 400
        actions = [{"type": "webhook", "url": receiver.url}, {"type": "pipeline", "code": "NONE"}]
        async with driven(tmp_path, a_pipeline(success_actions=actions), settings=HERE) as root:
            id = await begun(root)
            look = await ended(root.of("tnt_demo"), id)
            await followed(root)
            await until(lambda: len(receiver.posted) == 1 and not root.store.notices_left())
            assert (execution(root.of("tnt_demo"), id), root.store.follow_ups_left()) == (look, False)

    go(scene())


def test_f_x_13_what_was_written_and_not_done_before_a_crash_is_done_after_it(tmp_path: Path) -> None:
    """At least once: whoever dies between the end and what follows loses nothing, and a second time changes nothing."""

    async def first() -> str:
        actions = [{"type": "event", "name": "done"}, {"type": "pipeline", "code": "NEXT"}]
        following = a_pipeline("NEXT", pipeline_type="SCHEDULED")
        async with driven(tmp_path, a_pipeline(success_actions=actions), following) as root:
            id = await begun(root)
            await ended(root.of("tnt_demo"), id)
            return id

    async def second() -> None:
        async with driven(tmp_path) as root:
            door = root.of("tnt_demo")
            rows = root.store.follow_ups(root.now(), 100)
            delivery = FollowUpDelivery(root)
            moved, delivery.door.store.outbox_moved = root.store.outbox_moved, lambda *_: None  # type: ignore[method-assign]
            assert await delivery.step() == len(rows) == 3
            root.store.outbox_moved = moved  # type: ignore[method-assign]
            await followed(root)
            assert len(told(door, "done")) == len(executions(door, code="NEXT")) == 1

    go(first())
    go(second())


def waits(code: str, *after: str) -> dict[str, Any]:
    return a_pipeline(code, dependencies={"after": list(after)}, stages=[a_stage("only", 1)])


@pytest.mark.parametrize("store", STORES)
def test_f_x_12_when_all_that_it_waits_for_have_completed_for_a_file_it_begins_once(tmp_path: Path, store: str) -> None:
    """F-X.12: not by the upload, not by the first of them, and not for another file; its key has the parents' ids."""

    async def scene() -> None:
        processor = Processor()
        documents = (a_pipeline("A"), a_pipeline("B", stages=[a_stage("b1", 1)]), waits("AB", "A", "B"))
        async with driven(tmp_path, *documents, processor=processor, store=STORES[store]()) as root:
            door = root.of("tnt_demo")
            processor.answers = {"b1": failed("BAD", "permanent", "no")}
            (receipt,) = await Ingest(root).take(messages_of(EXAMPLE))
            looks = {look.pipeline_code: look for look in [await ended(door, id) for id in receipt.started]}
            await followed(root)
            assert set(looks) == {"A", "B"} and executions(door, code="AB") == []
            processor.answers = {}
            (other,) = await Ingest(root).take(messages_of({**EXAMPLE, "key": "other"}))
            for id in other.started:
                await ended(door, id)
            again = await steering.retry(door, looks["B"].execution_id, "rerun")
            assert again is not None
            await ended(door, again)
            delivery = FollowUpDelivery(root)
            rows = root.store.follow_ups(root.now(), 100)
            moved, root.store.outbox_moved = root.store.outbox_moved, lambda *_: None  # type: ignore[method-assign]
            await delivery.step()
            root.store.outbox_moved = moved  # type: ignore[method-assign]
            await followed(root)
            assert len(rows) == 3
            made = [await ended(door, line.execution_id) for line in executions(door, code="AB")]
            assert [look.trigger_type for look in made] == ["DEPENDENCY"] * 2
            assert {look.file.id for look in made if look.file} == {receipt.file_id, other.file_id}
            (mine,) = [look for look in made if look.file and look.file.id == receipt.file_id]
            parents = ",".join(sorted([looks["A"].execution_id, again]))
            digest = hashlib.sha256(parents.encode()).hexdigest()[:32]
            assert mine.idempotency_key == f"dep#AB#{receipt.file_id}#{digest}"
            assert (mine.status, mine.trace_id) == ("COMPLETED", EXAMPLE["traceId"])

    go(scene())


def test_f_x_12_that_a_chain_goes_on_by_itself_where_the_store_is_driven(tmp_path: Path) -> None:
    async def scene() -> None:
        documents = (a_pipeline("A"), waits("B", "A"), waits("C", "B"), waits("PDFS", "A") | {"file_type": "PDF"})
        async with driven(tmp_path, *documents) as root:
            door, beside = root.of("tnt_demo"), Consuming(root)
            beside.open()
            try:
                await begun(root)
                await until(lambda: len(executions(door, status="COMPLETED")) == 3 and beside.idle)
            finally:
                await beside.close()
            assert sorted(line.pipeline_code for line in executions(door)) == ["A", "B", "C"]

    go(scene())


def test_f_x_12_pipelines_that_begin_each_other_by_actions_are_refused(tmp_path: Path) -> None:
    """A circle of dependencies and actions would never end."""

    async def scene() -> None:
        actions = [{"type": "pipeline", "code": "B"}]
        async with driven(tmp_path, a_pipeline("A", success_actions=actions), waits("B", "A")) as root:
            with pytest.raises(DocumentInvalid) as refused:
                define(root, a_pipeline("B", failure_actions=[{"type": "pipeline", "code": "A"}]))
            assert [(each.rule, each.where.pointer) for each in refused.value.findings] == [
                ("pipeline_cycle", "/failure_actions")
            ]
            with pytest.raises(DocumentInvalid) as refused:
                define(root, waits("A", "B"))
            assert refused.value.findings[0].where.pointer == "/dependencies/after"

    go(scene())


def test_f_x_12_pipelines_of_two_owners_that_begin_each_other_come_to_an_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F-X.13, F-X.31: what one tenant has defined is not looked at when the product's pipelines are kept; a chain of
    executions has a longest length all the same."""

    async def scene() -> None:
        async with driven(tmp_path, processor=Processor()) as door:
            acme = door.of("acme")
            scheduled = {"pipeline_type": "SCHEDULED"}
            define(acme, a_pipeline("SECOND", **scheduled, success_actions=[{"type": "pipeline", "code": "FIRST"}]))
            define(door, a_pipeline("FIRST", success_actions=[{"type": "pipeline", "code": "SECOND"}]))
            await begun(acme, tenantId="acme")
            beside = Consuming(door)
            beside.open()
            try:
                await until(lambda: any("is too long" in record.getMessage() for record in caplog.records))
            finally:
                await beside.close()
            assert len(executions(acme, limit=200)) == LONGEST_CHAIN + 1

    go(scene())


def test_f_5_2_downstream_puts_an_event_there_once_however_often_it_comes(tmp_path: Path) -> None:
    """F-5.2: the example over a socket; the answer to the first delivery is lost, so it comes again."""

    async def scene() -> None:
        port = free_port()
        example = ROOT / "examples/pipeline/downstream.py"
        program = [sys.executable, str(example), str(tmp_path / "d.db"), str(port)]
        process = subprocess.Popen(program, stderr=subprocess.DEVNULL)
        try:
            await until(lambda: answers(port))
            settings = {**HERE, "pipelines.events.url": f"http://127.0.0.1:{port}/"}
            processor = Processor({"first": EXTRACTED})
            async with driven(tmp_path, a_pipeline(), processor=processor, settings=settings) as root:
                id = await begun(root)
                await ended(root.of("tnt_demo"), id)
                moved, root.store.outbox_moved = root.store.outbox_moved, lambda *_: None  # type: ignore[method-assign]
                await FollowUpDelivery(root).step()
                root.store.outbox_moved = moved  # type: ignore[method-assign]
                await followed(root)
                assert not root.store.follow_ups_left()
        finally:
            process.kill()
            process.wait(10)
        with contextlib.closing(sqlite3.connect(tmp_path / "d.db")) as database:
            rows = database.execute("SELECT key, confidence, trace_id FROM extraction").fetchall()
        assert rows == [(f"{id}:first:text", 0.75, EXAMPLE["traceId"])]

    go(scene())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
