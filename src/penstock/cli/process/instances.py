"""Commands for instances of processes: begun, looked at, ended, undone, and what was told about them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.access.starters import UNNAMED
from penstock.app.penstock import Penstock
from penstock.app.process.events import PublishedEvent, each_event
from penstock.app.process.work_items import WorkItems, instance_body
from penstock.cli.drive import Started, attached, command_run, driving_or_attached, until_done
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, FAILED, TONES, moment, print_json, print_list, say, short, status_text
from penstock.cli.process.items import By, named_run, print_history, print_line, read_object
from penstock.cli.run import finish
from penstock.dialects.process.instance import Instance
from penstock.errors import BadInput
from penstock.net.draw.marks import Tone
from penstock.store.run_store import RunRow

Id = Annotated[str, typer.Argument(metavar="ID", help="The process, by its id.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="The instance: its key, its id, or a unique beginning of it.")]
WithHistory = Annotated[bool, typer.Option("--history", help="With everything that happened, in order.")]
_STEPS: dict[str, Tone] = {
    "EXECUTED": "undone",
    "FAILED": "failed",
    "PENDING": "held",
    "SKIPPED": "idle",
    "CANCELLED": "idle",
}


def start(
    id: Id,
    input: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="What it begins with: JSON, @FILE or -.")
    ] = None,
    by: By = "",
    initiator: Annotated[
        str | None, typer.Option("--initiator", metavar="USER", help="For whom it is begun, if for another.")
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option("--mode", metavar="ACTIVITY=MODE", help="Who does it in this instance; may be repeated."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="KEY", help="Names it: the same key again is the same instance.")
    ] = None,
    version: Annotated[int | None, typer.Option("--version", metavar="N", help="Else the one in force.")] = None,
    start_event: Annotated[
        str | None, typer.Option("--start-event", metavar="ID", help="In which of several ways it begins.")
    ] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Begin an instance of a process, and drive it until it ends or waits."""
    given, modes = read_object(input, "--input"), _modes(mode or [])

    async def begin() -> str:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store)
            return await WorkItems(door).initiate(
                id,
                by=by or UNNAMED,
                initiator=initiator,
                input=given,
                modes=modes,
                version=version,
                key=key,
                start_event=start_event,
            )

    run = until_done(begin())

    async def nothing(door: Penstock, target: str) -> None:
        await door.wake_up(target)

    return finish(command_run(store, run, nothing, on=True, quiet=json), Started(run), store, json)


def _modes(options: list[str]) -> dict[str, str]:
    modes = {}
    for option in options:
        activity, sign, mode = option.rpartition("=")
        if not sign or not activity or not mode:
            hint = "Write --mode review=MANUAL; the modes are MANUAL, SUPERVISED and AUTONOMOUS."
            raise BadInput(what="--mode", why=f"«{option}» is not ACTIVITY=MODE", hint=hint)
        modes[activity] = mode
    return modes


def instance(run: Run, history: WithHistory = False, json: Json = False, store: Store = STORE) -> int:
    """Show an instance: how it stands, its work items, and what was undone, step by step."""
    with attached(store) as door:
        row, process = WorkItems(door).instance(named_run(door, run))
        body = _json(row, process)
    _show(body, json)
    if history and not json:
        print_history(process.history)
    return DONE


def _json(row: RunRow, process: Instance) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.to_builtins(instance_body(row, process))
    return body


def _print(body: dict[str, Any]) -> None:
    undone = f", compensation {body['compensation_status']}" if body["compensation_status"] != "NONE" else ""
    say(("instance ", "bright_black"), f"{body['id']}  ", status_text(body["status"]), undone)
    who = f" by {body['initiator_id']}" if body["initiator_id"] else ""
    version = f"{body['proc_def_id']} v{body['proc_def_version']}"
    say(("  of ", "bright_black"), (version, "bold"), f", begun {moment(body['started_at'])}{who}")
    if body["failed_activity_id"]:
        failed = f"«{body['failed_activity_id']}»"
        say(("  failed at ", "bright_black"), (failed, TONES["failed"]), f": {body['failure_reason']}")
    for item in body["workitems"]:
        print_line(f"  {item['id']}", item["status"], item["agent_mode"], item["activity_name"], item["assignee"])
        if item["error"] or item["cancel_reason"]:
            say(f"    {item['error'] or item['cancel_reason']}")
    if body["compensation"]["steps"]:
        say(("  compensation", "bright_black"))
    for step in body["compensation"]["steps"]:
        by = f" by {step['compensation_action']}" if step["compensation_action"] else ""
        error = f": {step['error']}" if step["error"] else ""
        status = (f"{step['status']:9}", TONES[_STEPS[step["status"]]])
        say(f"  {step['seq']:3}. ", status, f" {step['activity_name']}{by}{error}")


def terminate(run: Run, json: Json = False, store: Store = STORE) -> int:
    """End an instance now, and what it has called with it. Nothing is undone."""
    body = until_done(_move(store, run, lambda work_items, target: work_items.terminate(target), on=False, quiet=json))
    _show(body, json)
    return DONE


def compensate(run: Run, json: Json = False, store: Store = STORE) -> int:
    """Undo what an instance has done, the last first; or go on with what could not be undone. Exit code 0 when all of
    it was undone, 3 when something was not."""
    body = until_done(_move(store, run, lambda work_items, target: work_items.compensate(target), on=True, quiet=json))
    _show(body, json)
    return DONE if body["compensation_status"] == "COMPLETE" else FAILED


async def _move(store: Path, run: str, move: Any, *, on: bool, quiet: bool) -> dict[str, Any]:
    with attached(store) as door:
        id = named_run(door, run)

    async def give(door: Penstock, target: str) -> None:
        await move(WorkItems(door), target)

    await command_run(store, id, give, on=on, quiet=quiet)
    with attached(store) as door:
        return _json(*WorkItems(door).instance(id))


def _show(body: dict[str, Any], json: bool) -> None:
    if json:
        print_json(body)
    else:
        _print(body)


def events(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Only those of this instance.")] = None,
    event: Annotated[
        str | None, typer.Option("--event", metavar="NAME", help="Only these, as PROCESS_STARTED.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many at most.")] = 1000,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List what was told about instances and models, in order per instance."""
    published: list[PublishedEvent] = []
    with attached(store) as door:
        named = named_run(door, run) if run is not None else None
        place: tuple[int, int] | None = (0, 0)
        while place is not None and len(published) < limit:
            page, place = each_event(door, run=named, topic=event, after=place, limit=min(200, limit - len(published)))
            published += page
    return print_list(published, json, msgspec.to_builtins, _print_event)


def _print_event(event: PublishedEvent) -> None:
    say(f"{moment(event.at)}  ", (f"{event.event} ", "bold"), short(event.payload, 200))
