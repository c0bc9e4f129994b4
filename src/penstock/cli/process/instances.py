"""Commands for instances of processes: begun, looked at, ended, undone, and what was told about them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.penstock import Penstock
from penstock.app.process.events import PublishedEvent, each_event
from penstock.app.process.work_items import WorkItems, whole
from penstock.cli.drive import Started, leaving, reaching, steer, until_done
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, FAILED, TONES, moment, say, short, status_text, tell_json
from penstock.cli.process.items import By, named_run, read_object, tell_history, tell_line
from penstock.cli.run import finish
from penstock.dialects.process.instance import Instance
from penstock.errors import BadInput
from penstock.net.draw.marks import Tone
from penstock.store.contract import RunRow

Id = Annotated[str, typer.Argument(metavar="ID", help="The process, by its id.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="The instance: its key, its id, or a unique beginning of it.")]
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
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Begin an instance of a process, and drive it until it ends or waits."""
    given, modes = read_object(input, "--input"), _modes(mode or [])

    async def begin() -> str:
        async with contextlib.AsyncExitStack() as stack:
            door = await reaching(stack, store)
            return await WorkItems(door).initiate(
                id, by=by or "cli", initiator=initiator, input=given, modes=modes, version=version, key=key
            )

    run = until_done(begin())

    async def nothing(door: Penstock, target: str) -> None:
        await door.wake_up(target)

    return finish(steer(store, run, nothing, on=True, quiet=json), Started(run), store, json)


def _modes(given: list[str]) -> dict[str, str]:
    found = {}
    for one in given:
        activity, sign, mode = one.rpartition("=")
        if not sign or not activity or not mode:
            hint = "Write --mode review=MANUAL; the modes are MANUAL, SUPERVISED and AUTONOMOUS."
            raise BadInput(what="--mode", why=f"«{one}» is not ACTIVITY=MODE", hint=hint)
        found[activity] = mode
    return found


def instance(
    run: Run,
    history: Annotated[bool, typer.Option("--history", help="With everything that happened, in order.")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Show an instance: how it stands, its work items, and what was undone, step by step."""
    with leaving(store) as door:
        row, found = WorkItems(door).instance(named_run(door, run))
        told = _told(row, found)
    _show(told, json)
    if history and not json:
        tell_history(found.history, of_all=True)
    return DONE


def _told(row: RunRow, found: Instance) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(whole(row, found))
    return told


def _tell(told: dict[str, Any]) -> None:
    undone = f", compensation {told['compensation_status']}" if told["compensation_status"] != "NONE" else ""
    say(("instance ", "bright_black"), f"{told['id']}  ", status_text(told["status"]), undone)
    who = f" by {told['initiator_id']}" if told["initiator_id"] else ""
    version = f"{told['proc_def_id']} v{told['proc_def_version']}"
    say(("  of ", "bright_black"), (version, "bold"), f", begun {moment(told['started_at'])}{who}")
    if told["failed_activity_id"]:
        failed = f"«{told['failed_activity_id']}»"
        say(("  failed at ", "bright_black"), (failed, TONES["failed"]), f": {told['failure_reason']}")
    for one in told["workitems"]:
        tell_line(f"  {one['id']}", one["status"], one["agent_mode"], one["activity_name"], one["assignee"])
        if one["error"] or one["cancel_reason"]:
            say(f"    {one['error'] or one['cancel_reason']}")
    if told["compensation"]["steps"]:
        say(("  compensation", "bright_black"))
    for one in told["compensation"]["steps"]:
        by = f" by {one['compensation_action']}" if one["compensation_action"] else ""
        error = f": {one['error']}" if one["error"] else ""
        status = (f"{one['status']:9}", TONES[_STEPS[one["status"]]])
        say(f"  {one['seq']:3}. ", status, f" {one['activity_name']}{by}{error}")


def terminate(run: Run, json: Json = False, store: Store = STORE) -> int:
    """End an instance now, and what it has called with it. Nothing is undone."""
    told = until_done(_moved(store, run, lambda held, one: held.terminate(one), on=False, quiet=json))
    _show(told, json)
    return DONE


def compensate(run: Run, json: Json = False, store: Store = STORE) -> int:
    """Undo what an instance has done, the last first; or go on with what could not be undone. Exit code 0 when all of
    it was undone, 3 when something was not."""
    told = until_done(_moved(store, run, lambda held, one: held.compensate(one), on=True, quiet=json))
    _show(told, json)
    return DONE if told["compensation_status"] == "COMPLETE" else FAILED


async def _moved(store: Path, run: str, move: Any, *, on: bool, quiet: bool) -> dict[str, Any]:
    with leaving(store) as door:
        id = named_run(door, run)

    async def give(door: Penstock, target: str) -> None:
        await move(WorkItems(door), target)

    await steer(store, id, give, on=on, quiet=quiet)
    with leaving(store) as door:
        return _told(*WorkItems(door).instance(id))


def _show(told: dict[str, Any], json: bool) -> None:
    if json:
        tell_json(told)
    else:
        _tell(told)


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
    found: list[PublishedEvent] = []
    with leaving(store) as door:
        named = named_run(door, run) if run is not None else None
        place: tuple[int, int] | None = (0, 0)
        while place is not None and len(found) < limit:
            page, place = each_event(door, run=named, topic=event, after=place, limit=min(200, limit - len(found)))
            found += page
    if json:
        tell_json(msgspec.to_builtins(found))
        return DONE
    for one in found:
        say(f"{moment(one.at)}  ", (f"{one.event} ", "bold"), short(one.payload, 200))
    return DONE
