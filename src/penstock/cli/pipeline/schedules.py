"""penstock pipeline schedule and schedules: what begins by the clock, for the files that fit."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.app.pipeline.schedules import add_schedule, brief, end_schedule
from penstock.app.pipeline.schedules import schedules as schedules_of
from penstock.app.timestamps import iso
from penstock.cli.drive import attached
from penstock.cli.options import STORE, Json, Store, read_source
from penstock.cli.output import DONE, print_json, print_list, print_one, say
from penstock.store.file_schedules import FileScheduleRow


def schedule(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="The schedule, JSON or YAML.")],
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Let a pipeline begin by the clock: by cron, in intervals, or once, for each file that fits.

    Whoever drives the store fires it: serve, work or watch."""
    data, _ = read_source(file if file == "-" else f"@{file.removeprefix('@')}", "the schedule")
    with attached(store) as door:
        return print_one(add_schedule(door, data), json, brief, _print)


def schedules(
    end: Annotated[int | None, typer.Option("--end", metavar="ID", help="Let this one fire no more.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also those that fire no more.")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List what begins by the clock, or end one of them."""
    with attached(store) as door:
        if end is None:
            empty = "Nothing begins by the clock: `penstock pipeline schedule FILE` makes a schedule."
            return print_list(schedules_of(door, inactive=all), json, brief, _print, empty=empty)
        end_schedule(door, end)
    if json:
        print_json({"id": end, "is_active": False})
    else:
        say(f"{end} fires no more")
    return DONE


def _print(row: FileScheduleRow) -> None:
    when = row.cron or (f"every {row.interval_s} s" if row.interval_s is not None else "once")
    following = "ended" if not row.active else f"next {iso(row.next_at)}" if row.next_at is not None else "never again"
    before = f", last {iso(row.last_at)}" if row.last_at is not None else ""
    parts: list[Any] = [(f"{row.id} {row.name}", "bold"), f"  {row.code}  {when}  {row.zone}  {following}{before}"]
    say(*parts)
