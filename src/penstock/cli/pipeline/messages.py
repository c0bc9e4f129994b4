"""Commands about messages and definitions: define, ingest, and the queue of dead messages."""

from __future__ import annotations

import asyncio
import signal
import threading
import uuid
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import define as define_pipeline
from penstock.app.pipeline.intake.consumer import queues_of
from penstock.app.pipeline.intake.dead_messages import DeadCause, DeadMessage, dead_page
from penstock.app.pipeline.intake.dead_messages import redrive as send_again
from penstock.app.pipeline.intake.dead_queue import QUEUE
from penstock.app.pipeline.intake.sqs_consumer import SqsConsumer, SqsQueue
from penstock.cli.drive import attached
from penstock.cli.identity import By, identify
from penstock.cli.options import INPUT_LIMIT, STORE, Json, Limit, Profile, SelectedTenant, Store, read_source
from penstock.cli.output import DONE, TONES, moment, print_finding, print_json, print_list, say, short
from penstock.cli.settings import read_settings
from penstock.errors import BadInput
from penstock.store.address import driver_of

_NO_ATTRIBUTES = msgspec.msgpack.encode({})


def define(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The definition with its stages, JSON or YAML.")],
    by: By = None,
    profile: Profile = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Check a pipeline, keep it as the next version of its code, and put it in force.

    The same again changes nothing."""
    settings, drives = read_settings(store), driver_of(store) is None and not store.exists()
    door = Penstock(store, drive=drives, settings=settings, tenant=SelectedTenant.tenant, profile=profile).open()
    try:
        submission = define_pipeline(door, file, by=identify(door, by, "pipeline.admin"))
    finally:
        door.close()
    row = submission.release
    if json:
        print_json({"code": row.name, "version": row.version, "status": row.status, "new": submission.new})
        return DONE
    for finding in submission.findings:
        print_finding(finding, file, err=True)
    say((row.name, "bold"), f" v{row.version} {row.status}", "" if submission.new else "  as it was")
    return DONE


def ingest(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE|-", help="Messages: a JSON object, a list, or one per line.")
    ] = None,
    queue: Annotated[str, typer.Option("--queue", metavar="NAME", help="The queue of this store.")] = QUEUE,
    sqs: Annotated[bool, typer.Option("--sqs", help="Take them from SQS until stopped; see [pipelines.sqs].")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Put messages about files on a queue of this store. Whoever drives it takes them: serve, work or watch.

    With --sqs this is a consumer in a process of its own: what lies in SQS is moved into the store's queue, and deleted
    there once it is in the store. As many of them may run as you like."""
    if sqs:
        return _from_sqs(store, json)
    if file is None:
        raise BadInput(what="FILE", why="it is missing", hint="Write a file, or - for standard input, or --sqs.")
    queue = queues_of({"pipelines.queues": [queue]})[0]
    data, where = read_source(file if file == "-" else f"@{file.removeprefix('@')}", "the messages")
    rows = [(str(uuid.uuid4()), msgspec.json.encode(body), _NO_ATTRIBUTES) for body in _bodies(data, where)]
    with attached(store) as door:
        door.store.send_messages(queue, rows, door.now())
    if json:
        print_json({"sent": len(rows)})
    else:
        say(f"{len(rows)} message{'' if len(rows) == 1 else 's'} on {queue}")
    return DONE


def _from_sqs(store: Path, json: bool) -> int:
    queue = SqsQueue.of(read_settings(store))
    if queue is None:
        raise BadInput(what="--sqs", why="the settings name no queue", hint="Set `url` under [pipelines.sqs].")
    with attached(store) as door:
        path = door.path
    consumer, stopped = SqsConsumer(path, queue), threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    consumer.open()
    if not json:
        say(f"taking messages from {queue.url}")
    stopped.wait()
    consumer.close()
    if json:
        print_json({"moved": consumer.moved, "failed": consumer.failed, "dead": consumer.dead})
    else:
        say(f"{consumer.moved} messages moved, {consumer.dead} dead")
    return DONE


def _bodies(data: bytes, where: str) -> list[Any]:
    """What is no JSON is refused here; what is no message is for the consumer to say."""
    if len(data) > INPUT_LIMIT:
        raise BadInput(what="the messages", why=f"they have more than {INPUT_LIMIT} bytes", where=where)
    try:
        value = msgspec.json.decode(data)
        return value if isinstance(value, list) else [value]
    except (msgspec.DecodeError, RecursionError):
        pass
    bodies = []
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                bodies.append(msgspec.json.decode(line))
            except (msgspec.DecodeError, RecursionError) as error:
                why = f"line {number} is not JSON: {error}"
                raise BadInput(what="the messages", why=why, where=where) from error
    return bodies


def dlq(
    redrive: Annotated[
        list[str] | None,
        typer.Option("--redrive", metavar="ID", help="Send this one again, as it was; or several."),
    ] = None,
    all: Annotated[bool, typer.Option("--redrive-all", help="Send all of them again, or those with --code.")] = False,
    code: Annotated[str | None, typer.Option("--code", metavar="CODE", help="Only those with this cause.")] = None,
    causes: Annotated[bool, typer.Option("--causes", help="Count them by cause, with a sample of each.")] = False,
    limit: Limit = 20,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Look at messages that could not be taken, and send them again: one, those of a cause, or all.

    What was sent again and had begun an execution before begins no second one; one message is sent again three times
    at most."""
    with attached(store) as door:
        if not redrive and not all:
            page = asyncio.run(dead_page(door, code=code, size=limit))
            if causes:
                shown = [cause for cause in page.causes if code in (None, cause.code)]
                return print_list(shown, json, msgspec.to_builtins, _print_cause, empty=_NO_DEAD)
            return print_list(page.items, json, msgspec.to_builtins, _print, empty=_NO_DEAD)
        answer = asyncio.run(send_again(door, ids=redrive or None, code=code))
    if json:
        print_json(msgspec.to_builtins(answer))
    else:
        known = f", of which {answer.duplicate} begin nothing new" if answer.duplicate else ""
        say(f"{answer.sent} messages sent again{known}", f"; {answer.failed} were not" if answer.failed else "")
    return DONE


_NO_DEAD = "There are no dead messages."


def _print(message: DeadMessage) -> None:
    say((message.id, "bold"), "  ", (message.code, TONES["failed"]), f"  {message.why}")
    say((f"  {moment(message.sent_at)}, received {message.receives} times  {short(message.body, 120)}", "bright_black"))


def _print_cause(cause: DeadCause) -> None:
    say((f"{cause.count} ", "bold"), (cause.code, TONES["failed"]), f"  {cause.why}")
    for message in cause.sample:
        say((f"  {message.id}  {short(message.body, 100)}", "bright_black"))
