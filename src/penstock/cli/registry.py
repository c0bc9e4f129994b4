"""Commands for what a tenant has registered: connections, rule packs, templates, users and more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.app.penstock import Penstock
from penstock.app.registry.artifact_types import TYPES, known_type
from penstock.app.registry.registry import shown
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, SelectedTenant, Store, read_source
from penstock.cli.output import DONE, finding_json, print_finding, print_json, print_list, say
from penstock.errors import BadInput
from penstock.store.artifacts import ArtifactRow

Type = Annotated[str, typer.Argument(metavar="TYPE", help=f"One of {', '.join(TYPES)}.")]
OnlyType = Annotated[str | None, typer.Argument(metavar="TYPE", help="Only things of this type.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Its name.")]


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
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Register a thing, or replace it. It is checked first; what is wrong is not stored."""
    source, name = read_source(body, "the body")
    with _WritableStore(store) as door:
        findings = door.registry.put_source(known_type(type), id, source, name)
    if json:
        print_json({"type": type, "id": id, "findings": [finding_json(finding) for finding in findings]})
        return DONE
    for finding in findings:
        print_finding(finding, Path(name or f"{type} «{id}»"), err=True)
    say(f"{type} «{id}» is registered")
    return DONE


def rm(type: Type, id: Id, json: Json = False, store: Store = STORE) -> int:
    """Take a thing out of the registry, all versions of it."""
    with _WritableStore(store) as door:
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


registry = {"ls": ls, "get": get, "put": put, "rm": rm}
