"""Commands for schedules: list, pause, resume, fire by hand, fill in what was not fired."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import msgspec
import typer

from penstock.app.access.starters import UNNAMED
from penstock.app.releases.schedules import FiredSchedule, TenantSchedules
from penstock.app.runs.run_view import RunView
from penstock.cli.drive import attached, driving_or_attached, until_done
from penstock.cli.events import at_rest
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import moment, print_list, print_one, say, short, status_text
from penstock.errors import BadInput
from penstock.store.schedules import ScheduleRow

Name = Annotated[str, typer.Argument(metavar="NAME", help="The id of the workflow.")]


def ls(json: Json = False, store: Store = STORE) -> int:
    """List the schedules: what starts when, and with what."""
    with attached(store) as door:
        rows = TenantSchedules(door).each()
    empty = "Nothing starts by the clock. A workflow with a schedule as its trigger does once it is activated."
    return print_list(rows, json, _json, _print, empty=empty)


def _json(row: ScheduleRow) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(row)
    return {**fields, "inputs": msgspec.msgpack.decode(row.inputs), "paused": bool(row.paused)}


def _print(row: ScheduleRow) -> None:
    when = "paused" if row.paused else f"next {moment(row.next_at)}" if row.next_at is not None else "never again"
    before = f", last {moment(row.last_at)}" if row.last_at is not None else ""
    say((row.name, "bold"), f" v{row.version}  {row.cron}  {row.zone}  {when}{before}")
    say(f"  with {short(msgspec.msgpack.decode(row.inputs))}; overlap {row.overlap}, missed times: {row.catch_up}")


def pause(name: Name, json: Json = False, store: Store = STORE) -> int:
    """Let a schedule fire no more until it is resumed."""
    return _change(store, json, lambda table: table.pause(name))


def resume(name: Name, json: Json = False, store: Store = STORE) -> int:
    """Let a paused schedule fire again, from now on."""
    return _change(store, json, lambda table: table.resume(name))


def _change(store: Path, json: bool, change: Callable[[TenantSchedules], ScheduleRow]) -> int:
    with attached(store) as door:
        return print_one(change(TenantSchedules(door)), json, _json, _print)


By = Annotated[
    str | None, typer.Option("--by", metavar="USER", help="Who does it, where the document says who may start it.")
]


def fire(name: Name, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Fire a schedule now, whatever the clock says, and drive its runs until they end or wait."""

    async def fire_now(table: TenantSchedules) -> list[FiredSchedule]:
        return [await table.fire(name, by=by or UNNAMED)]

    return _fire(store, json, fire_now)


def backfill(
    name: Name,
    first: Annotated[str, typer.Option("--from", metavar="TIME", help="The first time: 2025-01-31T08:00.")],
    last: Annotated[str, typer.Option("--to", metavar="TIME", help="The last time, included.")],
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Fire every time of a schedule between two moments that has not been fired, and drive the runs.

    A time without a zone is one of the schedule's own."""

    async def fire_all(table: TenantSchedules) -> list[FiredSchedule]:
        zone = table.get(name).zone
        since, until = _time(first, "--from", zone), _time(last, "--to", zone)
        return await table.backfill(name, since, until, by=by or UNNAMED)

    return _fire(store, json, fire_all)


def _time(text: str, what: str, zone: str) -> int:
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(what=what, why=f"«{text}» is no time", hint="Write 2025-01-31T08:00.") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=ZoneInfo(zone))
    return round(time.timestamp() * 1000)


def _fire(store: Path, json: bool, work: Callable[[TenantSchedules], Awaitable[list[FiredSchedule]]]) -> int:
    async def go() -> tuple[list[FiredSchedule], list[RunView]]:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store)
            fired = await work(TenantSchedules(door))
            runs = [run for firing in fired for run in firing.runs]
            return fired, await at_rest(door, runs) if door.drives else [door.view(run) for run in runs]

    fired, looks = until_done(go())

    def print_fired(firing: FiredSchedule) -> None:
        say((moment(firing.at), "bold"))
        for look in (look for look in looks if look.run_id in firing.runs):
            why = f"  {look.failure.get('code', '')}" if look.failure else ""
            say(f"  {look.run_id}  ", status_text(look.status), why)

    return print_list(fired, json, msgspec.to_builtins, print_fired, empty="There is no time of it between them.")


schedules = {"ls": ls, "pause": pause, "resume": resume, "fire": fire, "backfill": backfill}
