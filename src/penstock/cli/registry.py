"""Commands for what a tenant has registered: connections, rule packs, templates, users and more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.app.access import four_eyes
from penstock.app.access.audit import masked
from penstock.app.penstock import Penstock
from penstock.app.registry.artifact_types import TYPES, known_type, read_artifact
from penstock.app.registry.proposals import Proposal, Proposals
from penstock.app.registry.registry import GOVERNED, shown
from penstock.cli.identity import By, identify
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, SelectedTenant, Store, read_source
from penstock.cli.output import (
    DONE,
    TONES,
    finding_json,
    moment,
    print_finding,
    print_json,
    print_list,
    say,
    store_option,
)
from penstock.errors import BadInput
from penstock.store.artifacts import ArtifactRow

Type = Annotated[str, typer.Argument(metavar="TYPE", help=f"One of {', '.join(TYPES)}.")]
OnlyType = Annotated[str | None, typer.Argument(metavar="TYPE", help="Only things of this type.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Its name.")]
PENDING = "pending_approval"


def ls(type: OnlyType = None, json: Json = False, store: Store = STORE) -> int:
    """List what is registered. The values of secrets are never shown."""
    with reading(store) as door:
        rows = door.store.artifacts(door.tenant, known_type(type) if type else None)
    return print_list(rows, json, _json, _print, empty="Nothing is registered.")


def _json(row: ArtifactRow) -> dict[str, object]:
    return {"type": row.type, "id": row.id, "version": row.version, "status": row.status, "at": row.at}


def _print(row: ArtifactRow) -> None:
    say((f"{row.type:12}", "bright_black"), (row.id, "bold"), f"  {row.version}" if row.version else "")


def get(type: Type, id: Id, json: Json = False, store: Store = STORE) -> int:
    """Show one thing as JSON. The value of a secret is not shown."""
    with reading(store) as door:
        rows = [row for row in door.store.artifacts(door.tenant, known_type(type)) if row.id == id]
    if not rows:
        raise BadInput(what=f"{type} «{id}»", why="it is not registered", hint=f"`penstock registry ls {type}`")
    print_json(shown(rows[-1]))
    return DONE


def put(
    type: Type,
    id: Id,
    body: Annotated[
        str, typer.Argument(metavar="BODY", help="Its body: a file (JSON, YAML, or DMN for a rule pack), JSON, or -.")
    ],
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Register a thing, or replace it. It is checked first; what is wrong is not stored. Where four eyes are asked for,
    what decides about runs waits for another person: penstock registry approve."""
    source, name = read_source(body, "the body")
    with _WritableStore(store) as door:
        waits = door.registry.by_two(known_type(type))
        if waits:
            thing, findings = read_artifact(type, id, source, name)
            Proposals(door, type).put(id, thing, _author(door, by))
        else:
            findings = door.registry.put_source(type, id, source, name)
    if json:
        listed = [finding_json(finding) for finding in findings]
        print_json({"type": type, "id": id, "findings": listed} | ({"status": PENDING} if waits else {}))
        return DONE
    for finding in findings:
        print_finding(finding, Path(name or f"{type} «{id}»"), err=True)
    if waits:
        _print_waiting(type, id, store)
    else:
        say(f"{type} «{id}» is registered")
    return DONE


def _author(door: Penstock, by: str | None) -> str:
    who = four_eyes.author_of(door, identify(door, by, "registry.write"))
    assert who is not None, "where four eyes are asked for, nobody acts without a name"
    return who


def _print_waiting(type: str, id: str, store: Path) -> None:
    say((f"{type} «{id}» waits ", TONES["held"]), "for another person")
    say(("  go on with ", "bright_black"), f"penstock registry approve {type} {id}{store_option(store)}")


def proposals(type: OnlyType = None, json: Json = False, store: Store = STORE) -> int:
    """List what was proposed and waits for another person."""
    with _WritableStore(store) as door:
        types = [known_type(type)] if type is not None else list(GOVERNED)
        rows = [proposal for name in types for proposal in Proposals(door, name).each()]
    return print_list(rows, json, _proposal_json, _print_proposal, empty="Nothing waits.")


def _proposal_json(proposal: Proposal) -> dict[str, object]:
    return {"type": proposal.type, "id": proposal.id, "by": proposal.by, "at": proposal.at, "status": PENDING,
            "body": masked(proposal.body)}  # fmt: skip


def _print_proposal(proposal: Proposal) -> None:
    say((f"{proposal.type:12}", "bright_black"), (proposal.id, "bold"), f"  by {proposal.by} {moment(proposal.at)}")


def approve(type: Type, id: Id, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Put what another has proposed in force."""
    with _WritableStore(store) as door:
        who = identify(door, by, "definition.approve")
        if who is None:
            raise BadInput(what="--by", why="nobody is named", hint="Write --by USER, or set PENSTOCK_KEY.")
        Proposals(door, known_type(type)).approve(id, who)
    return _done({"type": type, "id": id, "status": "approved"}, f"{type} «{id}» is in force", json)


def reject(type: Type, id: Id, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Reject what was proposed."""
    with _WritableStore(store) as door:
        identify(door, by, "definition.approve")
        Proposals(door, known_type(type)).drop(id)
    return _done({"type": type, "id": id, "status": "rejected"}, f"the proposal of {type} «{id}» is gone", json)


def _done(body: dict[str, object], text: str, json: bool) -> int:
    if json:
        print_json(body)
    else:
        say(text)
    return DONE


def rm(type: Type, id: Id, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Take a thing out of the registry, all versions of it; where four eyes are asked for, propose to."""
    with _WritableStore(store) as door:
        if door.registry.by_two(known_type(type)):
            Proposals(door, type).put(id, None, _author(door, by))
            if json:
                print_json({"type": type, "id": id, "status": PENDING})
            else:
                _print_waiting(type, id, store)
            return DONE
        gone = door.unregister(known_type(type), id)
    if not gone:
        raise BadInput(what=f"{type} «{id}»", why="it is not registered", hint=f"`penstock registry ls {type}`")
    if json:
        print_json({"type": type, "id": id, "removed": gone})
    else:
        say(f"{type} «{id}» is gone")
    return DONE


class _WritableStore:
    """The store for writing registry rows: they are read anew by whoever drives the store."""

    def __init__(self, store: Path) -> None:
        self.door = Penstock(store, drive=False, tenant=SelectedTenant.tenant)

    def __enter__(self) -> Penstock:
        self.door.open()
        self.door.load_sample()
        return self.door

    def __exit__(self, *_: object) -> None:
        self.door.close()


registry = {
    "ls": ls, "get": get, "put": put, "rm": rm, "proposals": proposals, "approve": approve, "reject": reject,
}  # fmt: skip
