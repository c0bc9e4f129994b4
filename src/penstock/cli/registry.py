"""Commands for what a tenant has registered: connections, rule packs, templates, users and more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.app.home import DEFAULT_TENANT
from penstock.app.penstock import Penstock
from penstock.app.registry import TYPES, shown
from penstock.cli.options import STORE, Json, Store, read_value
from penstock.cli.reading import reading
from penstock.cli.speak import DONE, say, tell_json
from penstock.errors import BadInput

Type = Annotated[str, typer.Argument(metavar="TYPE", help=f"One of {', '.join(TYPES)}.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Its name.")]


def ls(
    type: Annotated[str | None, typer.Argument(metavar="TYPE", help="Only things of this type.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List what is registered. The values of secrets are never shown."""
    with reading(store) as door:
        rows = door.store.artifacts(DEFAULT_TENANT, _known(type) if type else None)
    if json:
        tell_json([{"type": r.type, "id": r.id, "version": r.version, "status": r.status, "at": r.at} for r in rows])
        return DONE
    if not rows:
        say("Nothing is registered.")
    for row in rows:
        say((f"{row.type:12}", "bright_black"), (row.id, "bold"), f"  {row.version}" if row.version else "")
    return DONE


def get(type: Type, id: Id, json: Json = False, store: Store = STORE) -> int:
    """Show one thing as JSON. The value of a secret is not shown."""
    with reading(store) as door:
        rows = [row for row in door.store.artifacts(DEFAULT_TENANT, _known(type)) if row.id == id]
    if not rows:
        raise BadInput(what=f"{type} «{id}»", why="it is not registered", hint=f"`penstock registry ls {type}`")
    tell_json(shown(rows[-1]))
    return DONE


def put(
    type: Type,
    id: Id,
    body: Annotated[str, typer.Argument(metavar="JSON", help="Its body: JSON, @FILE, or - for stdin.")],
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Register a thing, or replace it. It is checked first; what is wrong is not stored."""
    value = read_value(body, "the body")
    if not isinstance(value, dict):
        raise BadInput(what="the body", why="it must be an object", hint='Write JSON such as {"type": "sqlite"}.')
    with _Open(store) as door:
        door.register(_known(type), id, value)
    if json:
        tell_json({"type": type, "id": id})
    else:
        say(f"{type} «{id}» is registered")
    return DONE


def rm(type: Type, id: Id, json: Json = False, store: Store = STORE) -> int:
    """Take a thing out of the registry, all versions of it."""
    with _Open(store) as door:
        gone = door.unregister(_known(type), id)
    if not gone:
        raise BadInput(what=f"{type} «{id}»", why="it is not registered", hint=f"`penstock registry ls {type}`")
    if json:
        tell_json({"type": type, "id": id, "removed": gone})
    else:
        say(f"{type} «{id}» is gone")
    return DONE


class _Open:
    """The store for writing registry rows: they are read anew by whoever drives the store."""

    def __init__(self, store: Path) -> None:
        self.door = Penstock(store, drive=False)

    def __enter__(self) -> Penstock:
        self.door.open()
        self.door.furnish()
        return self.door

    def __exit__(self, *_: object) -> None:
        self.door.close()


def _known(type: str) -> str:
    if type not in TYPES:
        raise BadInput(what="TYPE", why=f"«{type}» is none of {', '.join(TYPES)}", hint="Choose one of them.")
    return type


registry = {"ls": ls, "get": get, "put": put, "rm": rm}
