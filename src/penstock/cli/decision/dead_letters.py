"""Commands about dead letters: runs that ended badly, listed, shown and replayed."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from penstock.app.decision import dead_letters as desk
from penstock.app.penstock import Penstock, Release
from penstock.app.runs.run_view import RunView
from penstock.cli.documents import compile_named
from penstock.cli.drive import Started, drive, driving, go_on, leaving
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, TONES, say, short, store_option, tell_json
from penstock.cli.run import finish
from penstock.errors import StoreBusy

Ended = Annotated[str, typer.Argument(metavar="RUN", help="The run that ended badly: its id, key, or a beginning.")]


def ls(
    name: Annotated[str | None, typer.Option("--name", metavar="ID", help="Only of this document.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 50,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List the runs that ended badly, newest first."""
    with reading(store) as door:
        found = desk.letters(door, name=name, limit=limit)
    if json:
        tell_json([_brief(one) for one in found])
        return DONE
    if not found:
        say("There are no dead letters.")
    for one in found:
        replayed = f", replayed {one.replays} of {one.max_replays}" if one.replays else ""
        where = (one.error or {}).get("node_id")
        say((one.run, "bold"), f"  {one.document}  ", (one.code, TONES["failed"]), f" at «{where}»" if where else "")
        say((f"  {one.status.lower()}, {_moment(one.at)}; kept until {_moment(one.until)}{replayed}", "bright_black"))
    return DONE


def _brief(one: desk.DeadLetter) -> dict[str, object]:
    whole = msgspec.to_builtins(one)
    return {k: v for k, v in whole.items() if k not in ("input", "context_snapshot", "execution_history")}


def show(run: Ended, json: Json = False, store: Store = STORE) -> int:
    """Show what is kept of a run that ended badly: its failure, its input, what it knew and what it had done."""
    with reading(store) as door:
        one = desk.letter(door, run)
    if json:
        tell_json(one)
        return DONE
    error = one.error or {}
    say(("run ", "bright_black"), one.run, f"  {one.document} v{one.version}  ", (one.status.lower(), TONES["failed"]))
    at = f" ({one.category}) at «{error.get('node_id', '')}»"
    say(("  failure ", "bright_black"), (one.code, TONES["failed"]), at)
    if error.get("message"):
        say(f"    {error['message']}")
    if one.input is not None:
        say(("  input ", "bright_black"), short(one.input, 400))
    for name, value in ((one.context_snapshot or {}).get("variables") or {}).items():
        say(("  variable ", "bright_black"), (f"{name} ", "bold"), short(value, 200))
    for line in one.execution_history or []:
        why = f"  {line['error']['code']}" if line.get("error") else ""
        tries = f" in {line['attempt']} tries" if line["attempt"] > 1 else ""
        say((f"  {_moment(line['completed_at'])} ", "bright_black"), f"{line['node_id']} {line['status']}{tries}{why}")
    say(("  kept until ", "bright_black"), _moment(one.until), f"; replayed {one.replays} of {one.max_replays} times")
    if one.replays < one.max_replays:
        say(("  replay it with ", "bright_black"), f"penstock dlq replay {one.run}{store_option(store)}")
    return DONE


def replay(
    run: Ended,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The mended document; without it the same one again.")
    ] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Start it again with the same input, as a new run, and drive that until it ends or waits.

    While another process drives the store, that process runs it, and it is followed from here."""
    compiled = compile_named(file) if file is not None else None
    started = Started()

    def mended(door: Penstock) -> Release | None:
        return door.keep(*compiled) if compiled is not None else None

    async def work() -> RunView:
        try:
            async with driving(store) as door:
                started.run = await desk.replay(door, run, mended(door))
                started.more = {"replay_of": door.row(run).id}
                return await drive(door, started.run, quiet=json, whole=True)
        except StoreBusy:
            if started.run:
                raise
        with leaving(store) as door:
            started.run = await desk.replay(door, run, mended(door))
            started.more = {"replay_of": door.row(run).id}
        return await go_on(store, started.run, started, quiet=json)

    return finish(work(), started, store, json)


def _moment(ms: int) -> str:
    return datetime.datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")


dlq = {"ls": ls, "show": show, "replay": replay}
