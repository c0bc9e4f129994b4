"""penstock migrate: move a run that goes on to another version of its document, and take that back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from penstock.app.penstock import Penstock
from penstock.app.runs.commands.migration import Migration, Move
from penstock.cli.drive import command_run, until_done
from penstock.cli.options import STORE, Json, Run, Store
from penstock.cli.output import DONE, WRONG, print_json, say
from penstock.errors import BadInput


def migrate(
    run: Run,
    document: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The new version; with --undo none is given.")
    ] = None,
    rename: Annotated[
        list[str] | None, typer.Option("--map", metavar="OLD=NEW", help="A node that has another id now; repeatable.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the newest move back.")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Move a run that goes on to another version of its document: what it has done stays, what works goes on, and what
    is new begins when its turn comes. Refused, with all that stands against it, where that cannot be."""
    if undo == (document is not None):
        raise BadInput(what="migrate", why="it needs the file of the new version, or --undo", hint="Give one of both.")
    if undo and dry_run:
        raise BadInput(what="--dry-run", why="an undo is refused where it cannot be done, and changes nothing then")
    nodes = _renamed(rename or [])
    shown: list[Migration] = []

    async def give(door: Penstock, target: str) -> None:
        if document is None:
            shown.append(await door.undo_migration(target))
            return
        move = Move(to=door.release(document).hash, nodes=nodes)
        shown.append(door.plan_migration(target, move) if dry_run else await door.migrate(target, move))

    until_done(command_run(store, run, give, on=False, quiet=True))
    migration = shown[0]
    print_json(msgspec.to_builtins(migration)) if json else _print(migration)
    return WRONG if migration.obstacles else DONE


def _renamed(pairs: list[str]) -> dict[str, str]:
    nodes = {}
    for pair in pairs:
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            raise BadInput(what=f"--map «{pair}»", why="it is OLD=NEW, two ids of nodes")
        nodes[old] = new
    return nodes


def _print(migration: Migration) -> None:
    what = "moved" if migration.done else "would move" if not migration.obstacles else "cannot move"
    say(f"{what} ", migration.run, (f"  {migration.before[:12]} → {migration.after[:12]}", "bright_black"))
    lines = (
        ("added", migration.added), ("removed", migration.removed),
        ("renamed", [f"{a} → {b}" for a, b in migration.renamed.items()]), ("at work", migration.at_work),
        ("in the way", migration.obstacles),
    )  # fmt: skip
    for name, values in lines:
        if values:
            say((f"  {name:<10} ", "bright_black"), ", ".join(values))
