"""Commands about dead letters: runs that ended badly, listed, shown and replayed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from penstock.app.decision import dead_letters as desk
from penstock.app.penstock import Penstock, Release
from penstock.app.runs.run_view import RunView
from penstock.cli.documents import compile_named
from penstock.cli.drive import Started, attached, continue_run, drive, driving
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Limit, Store
from penstock.cli.output import DONE, TONES, moment, print_json, print_list, say, short, store_option
from penstock.cli.run import finish
from penstock.errors import StoreBusy

_minute = partial(moment, seconds=False)
Mended = Annotated[
    Path | None, typer.Argument(metavar="[FILE]", help="The mended document; without it the same one again.")
]
OnlyName = Annotated[str | None, typer.Option("--name", metavar="ID", help="Only of this document.")]
Ended = Annotated[str, typer.Argument(metavar="RUN", help="The run that ended badly: its id, key, or a beginning.")]


def ls(
    name: OnlyName = None, limit: Limit = 50, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """List the runs that ended badly, newest first."""
    with reading(store) as door:
        listed = desk.letters(door, name=name, limit=limit)
    return print_list(listed, json, _brief, _print, empty="There are no dead letters.")


def _print(letter: desk.DeadLetter) -> None:
    replayed = f", replayed {letter.replays} of {letter.max_replays}" if letter.replays else ""
    node = (letter.error or {}).get("node_id")
    at = f" at «{node}»" if node else ""
    say((letter.run, "bold"), f"  {letter.document}  ", (letter.code, TONES["failed"]), at)
    when = f"{letter.status.lower()}, {_minute(letter.at)}; kept until {_minute(letter.until)}{replayed}"
    say((f"  {when}", "bright_black"))


def _brief(letter: desk.DeadLetter) -> dict[str, object]:
    fields = msgspec.to_builtins(letter)
    return {k: v for k, v in fields.items() if k not in ("input", "context_snapshot", "execution_history")}


def show(run: Ended, json: Json = False, store: Store = STORE) -> int:
    """Show what is kept of a run that ended badly: its failure, its input, what it knew and what it had done."""
    with reading(store) as door:
        letter = desk.letter(door, run)
    if json:
        print_json(letter)
        return DONE
    error = letter.error or {}
    say(
        ("run ", "bright_black"),
        letter.run,
        f"  {letter.document} v{letter.version}  ",
        (letter.status.lower(), TONES["failed"]),
    )
    at = f" ({letter.category}) at «{error.get('node_id', '')}»"
    say(("  failure ", "bright_black"), (letter.code, TONES["failed"]), at)
    if error.get("message"):
        say(f"    {error['message']}")
    if letter.input is not None:
        say(("  input ", "bright_black"), short(letter.input, 400))
    for name, value in ((letter.context_snapshot or {}).get("variables") or {}).items():
        say(("  variable ", "bright_black"), (f"{name} ", "bold"), short(value, 200))
    for line in letter.execution_history or []:
        why = f"  {line['error']['code']}" if line.get("error") else ""
        tries = f" in {line['attempt']} tries" if line["attempt"] > 1 else ""
        say((f"  {_minute(line['completed_at'])} ", "bright_black"), f"{line['node_id']} {line['status']}{tries}{why}")
    say(
        ("  kept until ", "bright_black"),
        _minute(letter.until),
        f"; replayed {letter.replays} of {letter.max_replays} times",
    )
    if letter.replays < letter.max_replays:
        say(("  replay it with ", "bright_black"), f"penstock dlq replay {letter.run}{store_option(store)}")
    return DONE


def replay(
    run: Ended,
    file: Mended = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Start it again with the same input, as a new run, and drive that until it ends or waits.

    While another process drives the store, that process runs it, and it is followed from here."""
    compiled = compile_named(file, store=store) if file is not None else None
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
        with attached(store) as door:
            started.run = await desk.replay(door, run, mended(door))
            started.more = {"replay_of": door.row(run).id}
        return await continue_run(store, started.run, started, quiet=json)

    return finish(work(), started, store, json)


dlq = {"ls": ls, "show": show, "replay": replay}
