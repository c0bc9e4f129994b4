"""Commands for events: send one, list those that came."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.penstock import Penstock
from penstock.app.releases.triggers import EventReceipt
from penstock.app.runs.run_view import RunView
from penstock.cli.drive import driving_or_attached, until_done
from penstock.cli.identity import By, identify
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Store, read_value
from penstock.cli.output import DONE, TONES, moment, print_json, print_list, run_json, say, short, status_text
from penstock.kernel.state import COMPLETED, STATUS
from penstock.store.events import EventRow

OnlySource = Annotated[str | None, typer.Option("--source", metavar="SOURCE", help="Only these.")]
Newest = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many, the newest.")]
EventId = Annotated[
    str | None, typer.Option("--id", metavar="ID", help="The sender's id: the same again is the same event.")
]
_AT_REST = (*STATUS[COMPLETED:], "WAITING")


def send(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="What happened, such as lab.result.completed.")],
    payload: Annotated[str | None, typer.Argument(metavar="JSON", help="What it carries: JSON, @FILE or -.")] = None,
    id: EventId = None,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Send an event. It resumes the runs that wait for it, starts the workflows that it triggers, and drives them until
    they end or wait. It is kept for runs that wait for it later."""
    receipt, looks = until_done(_send(store, source, read_value(payload, "the payload"), id, by))
    if json:
        print_json({**msgspec.to_builtins(receipt), "runs": [run_json(look) for look in looks]})
    else:
        _print_receipt(receipt, looks)
    return DONE


async def _send(
    store: Path, source: str, payload: Any, id: str | None, by: str | None
) -> tuple[EventReceipt, list[RunView]]:
    async with contextlib.AsyncExitStack() as stack:
        door = await driving_or_attached(stack, store, create=True)  # it is kept for runs to come
        receipt = await door.send_event(source, payload, id=id, by=identify(door, by, "events.send"))
        runs = [*receipt.resumed, *receipt.started]
        return receipt, await at_rest(door, runs) if door.drives else [door.view(run) for run in runs]


async def at_rest(door: Penstock, runs: list[str]) -> list[RunView]:
    """Until each of them has ended or waits."""
    looks = []
    for run in dict.fromkeys(runs):
        while (look := door.view(run)).internal_status not in _AT_REST:
            door.raise_if_stopped()
            await asyncio.sleep(0.02)
        looks.append(look)
    return looks


def _print_receipt(receipt: EventReceipt, looks: list[RunView]) -> None:
    again = "" if receipt.new else ", which had come before"
    say(("event ", "bright_black"), (receipt.id, "bold"), f"  number {receipt.number}{again}")
    if not receipt.delivered:
        say("  it is kept, and delivered by whoever drives the store next: penstock work")
    elif not receipt.resumed and not receipt.started and not receipt.imported:
        say("  nobody waits for it now, and it starts nothing")
        listens = "a workflow with this trigger is put in force with penstock releases submit, approve, activate"
        say((f"  it is kept for runs that wait for it later; {listens}", "bright_black"))
    for look in looks:
        what = "started" if look.run_id in receipt.started else "resumed"
        say((f"  {what} ", "bright_black"), look.run_id, "  ", status_text(look.status), f"  {look.name}")
    for name in receipt.imported:
        say(("  imported ", "bright_black"), (name, "bold"), "  it waits for an approval: penstock process approve")
    for text in receipt.warnings:
        say(("  warning ", TONES["held"]), text)


def ls(
    source: OnlySource = None, limit: Newest = 50, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """List the events that are kept, oldest first, and whom they have reached."""
    with reading(store) as door:
        rows = door.store.events(door.tenant, source, limit=10**9)[-limit:]
    return print_list(rows, json, _json, _print, empty="No event is kept.")


def _json(row: EventRow) -> dict[str, Any]:
    return {
        "number": row.no, "id": row.id, "source": row.source, "at": row.at,
        "payload": msgspec.msgpack.decode(row.body), "delivered": row.answer is not None,
        **(msgspec.msgpack.decode(row.answer) if row.answer is not None else {}),
    }  # fmt: skip


def _print(row: EventRow) -> None:
    event = _json(row)
    reached = len(event.get("resumed", ())) + len(event.get("started", ()))
    to = f"{reached} runs" if event["delivered"] else "to be delivered"
    say((f"{event['id']} ", "bold"), f" {event['source']}  {moment(event['at'])}  {to}  {short(event['payload'])}")


events = {"send": send, "ls": ls}
