"""Commands about judgments: listed, imported from elsewhere, and labelled by people."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated, Literal

import typer

from penstock.app.access.candidates import Who, id_of
from penstock.app.decision import past_judgments as desk
from penstock.app.decision.judgments import Judgment
from penstock.app.decision.judgments import judgments as judgments_of
from penstock.cli.drive import attached
from penstock.cli.identity import By, identify
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Limit, Store, read_source
from penstock.cli.output import DONE, moment, print_json, print_list, say

File = Annotated[Path, typer.Argument(metavar="FILE", help="JSON, JSON lines or CSV.")]
Which = Annotated[str, typer.Argument(metavar="JUDGMENT", help="RUN/NUMBER, or the id of an imported one.")]
Word = Annotated[
    Literal["normal", "warning", "critical", "unknown"], typer.Argument(help="What it should have been.")
]  # fmt: skip
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")]


def ls(limit: Limit = 20, json: Json = False, store: Store = STORE) -> int:
    """List judgments of runs, newest first."""
    with reading(store) as door:
        listed = judgments_of(door.store, door.tenant, limit=limit)
    return print_list(listed, json, lambda item: item, _print, empty="There are no judgments.")


def _print(item: Judgment) -> None:
    say((f"{item.run}/{item.firing}", "bold"), f"  {item.decision}  {item.document} «{item.node}»")
    say((f"  {moment(item.at, seconds=False)}", "bright_black"))


def bring(file: File, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Import judgments that were made elsewhere, so that a simulation has a history to replay.

    Each has rule_pack_id, at, data and decision; a label says what it should have been."""
    body, _ = read_source(f"@{file}", "the file")
    entries = desk.read_entries(body, file.name)
    with attached(store) as door:
        who = [identify(door, by, permission) for permission in desk.permissions_for(entries)]
        imported = desk.import_judgments(door, entries, _name(who[0]), door.now())
    if json:
        print_json(imported)
    else:
        say(f"imported {imported.count} judgments, {imported.labelled} of them labelled")
    return DONE


def label(
    judgment: Which, decision: Word, note: Note = "", by: By = None, json: Json = False, store: Store = STORE
) -> int:  # fmt: skip
    """Say what a judgment should have been; simulations take it for the truth."""
    with attached(store) as door:
        who = _name(identify(door, by, "inbox.decide"))
        kept = desk.label_judgment(door, judgment, decision, who, door.now(), note)
    if json:
        print_json(kept)
    else:
        say(f"labelled {kept.judgment} ", (kept.decision, "bold"))
    return DONE


def _name(who: Who | None) -> str:
    return id_of(who) if who is not None else f"{getpass.getuser()} (command line)"


judgments = {"ls": ls, "import": bring, "label": label}
