"""Commands about API keys: list them, make one, revoke one. They work on the store itself and need no server."""

from __future__ import annotations

import getpass
import re
import time
from datetime import datetime
from typing import Annotated

import msgspec
import typer

from penstock.app.access.audit import AuditLog
from penstock.app.access.keys import ApiKey, ApiKeys
from penstock.app.access.roles import person, roles_of
from penstock.app.runs.queries import Queries
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, TONES, moment, say, tell_json
from penstock.errors import BadInput

_SPAN = re.compile(r"(\d{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


def ls(json: Json = False, store: Store = STORE) -> int:
    """List the tenant's keys, oldest first. Their secrets are nowhere to be shown."""
    with reading(store) as door:
        found = ApiKeys(door).each()
    if json:
        tell_json([_told(one) for one in found])
        return DONE
    if not found:
        say("There are no keys. `penstock keys make NAME --user USER` makes one.")
    for one in found:
        word, style = _state(one)
        say((one.id, "bold"), f"  {one.name}  for {one.user}  ", (word, style))
        allowed = "all that its user may" if one.scopes is None else ", ".join(sorted(one.scopes))
        used = f"; used {moment(one.last_used_at)}" if one.last_used_at is not None else "; never used"
        say((f"  {allowed}; made {moment(one.created_at)} by {one.created_by}{used}", "bright_black"))
    return DONE


def make(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    user: Annotated[str, typer.Option("--user", metavar="USER", help="Whom it acts for.")],
    role: Annotated[
        list[str] | None, typer.Option("--role", metavar="NAME", help="A role besides those of its user; repeatable.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="PERMISSION", help="The only permissions that it may use; repeatable."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="WHEN", help="After 12h, 30d or 8w, or at 2027-01-01T00:00:00Z.")
    ] = None,
    rate: Annotated[
        int | None, typer.Option("--rate", metavar="N", min=1, help="At most so many requests per minute.")
    ] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Make a key, and show it: this once, for the store has only its hash."""
    until = _moment(expires) if expires is not None else None
    with reading(store) as door:
        roles = role or []
        _good(door, user, roles)
        said = {"name": name, "user": user, "roles": roles, "scopes": scope, "expires_at": until, "rate": rate}
        _recorded(door, "key.create", f"keys/{name}", said)
        key, token = ApiKeys(door).create(
            name, user=user, by=_me(), roles=roles, scopes=scope or None, expires_at=until, rate=rate
        )
    if json:
        tell_json({**_told(key), "token": token})
        return DONE
    print(token)
    ends = f" until {moment(until)}" if until is not None else ""
    say((f"The key {key.id} is good{ends}. It is shown this once: keep it.", "bright_black"), err=True)
    return DONE


def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="The key's id: the middle part of ps_ID_SECRET.")],
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Revoke a key: from now on nobody gets in with it."""
    with reading(store) as door:
        _recorded(door, "key.revoke", f"keys/{id}", None)
        key = ApiKeys(door).revoke(id)
    if json:
        tell_json(_told(key))
    else:
        say(f"The key {key.id} ({key.name}) is revoked")
    return DONE


def _good(door: Queries, user: str, roles: list[str]) -> None:
    """A key that would be good for nothing is a mistake."""
    known = roles_of(door)
    for one in roles:
        if one not in known:
            hint = f"Known are {', '.join(sorted(known))}."
            raise BadInput(what="--role", why=f"the tenant has no role «{one}»", hint=hint)
    if not person(door, user, roles=roles).permissions:
        hint = "Give it one with --role, such as --role admin, or name somebody who has one."
        raise BadInput(what="--user", why=f"«{user}» has no role, and a key for them could do nothing", hint=hint)


def _recorded(door: Queries, action: str, target: str, body: object) -> None:
    """Before it is done, as the server does it."""
    AuditLog(door.store).record(door.tenant, _me(), action, target, body)


def _me() -> str:
    try:
        return f"{getpass.getuser()} (command line)"
    except (OSError, KeyError, ImportError):  # a user without a name
        return "command line"


def _moment(text: str) -> int:
    span = _SPAN.fullmatch(text)
    if span is not None:
        return int(time.time() * 1000) + int(span[1]) * _HOURS[span[2]] * 3_600_000
    try:
        found = datetime.fromisoformat(text)
        return int(found.timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        hint = "Write 12h, 30d, 8w or 2027-01-01T00:00:00Z."
        raise BadInput(what="--expires", why=f"«{text}» is neither a span nor a moment", hint=hint) from error


def _state(one: ApiKey) -> tuple[str, str]:
    if one.revoked_at is not None:
        return f"revoked {moment(one.revoked_at)}", TONES["failed"]
    if one.expires_at is None:
        return "good", TONES["done"]
    past = one.expires_at <= time.time() * 1000
    return (f"expired {moment(one.expires_at)}", TONES["failed"]) if past else (
        f"good until {moment(one.expires_at)}", TONES["done"])  # fmt: skip


def _told(one: ApiKey) -> dict[str, object]:
    told: dict[str, object] = msgspec.to_builtins(one)
    return {**told, "scopes": sorted(one.scopes) if one.scopes is not None else None}


keys = {"ls": ls, "make": make, "revoke": revoke}
