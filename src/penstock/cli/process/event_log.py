"""`penstock process log`: the event log of a process, for process mining."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.app.penstock import Penstock
from penstock.app.process.event_log import MEDIA, Wanted, following, wanted, written
from penstock.app.process.event_log import Format as EventLogFormat
from penstock.app.timestamps import moment
from penstock.cli.drive import driving_or_attached, until_done
from penstock.cli.open_store import require_store
from penstock.cli.options import STORE, Store
from penstock.cli.output import DONE, say
from penstock.errors import BadInput

Process = Annotated[str, typer.Argument(metavar="ID", help="The process, by its id.")]
Format = Annotated[str, typer.Option("--format", metavar="FORMAT", help="json, xes or csv.")]
Since = Annotated[
    str | None, typer.Option("--since", metavar="CURSOR", help="Only what was done after the export that told it.")
]
First = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Completed at this time or later.")]
Last = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Completed before this time.")]
Full = Annotated[bool, typer.Option("--full", help="Also when work items were started.")]
All = Annotated[bool, typer.Option("--all", help="Also what was undone since.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it here.")]


def log(
    id: Process, format: Format = "json", since: Since = None, first: First = None, last: Last = None,
    full: Full = False, all: All = False, out: Out = None, store: Store = STORE,
) -> int:  # fmt: skip
    """Write what was done in the instances of a process, case by case, for process mining."""
    if format not in MEDIA:
        raise BadInput(what="--format", why="it is json, xes or csv")
    begin = moment(first, "--from") if first else None
    end = moment(last, "--to") if last else None
    require_store(store)

    async def work() -> Wanted:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store)
            asked = await wanted(door, id, begin=begin, end=end, since=since, full=full, undone=all)
            _write(door, asked, format, out)
            return asked

    asked = until_done(work())
    if out is not None:
        say("wrote ", (str(out), "bold"), f"; the next export goes on with --since {following(asked)}")
    return DONE


def _write(door: Penstock, asked: Wanted, format: EventLogFormat, out: Path | None) -> None:
    """Into a file only when it is whole: an export that breaks off leaves the one before."""
    if out is None:
        for piece in written(door, asked, format):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    part = out.with_name(f"{out.name}.part")
    try:
        with part.open("wb") as file:
            file.writelines(written(door, asked, format))
        part.replace(out)
    except OSError as error:
        raise BadInput(what=str(out), why=error.strerror or "it cannot be written") from error
    finally:
        part.unlink(missing_ok=True)
