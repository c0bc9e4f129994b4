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
from penstock.cli.output import DONE, TONES, moment, print_json, print_list, say
from penstock.errors import BadInput

Name = Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")]
User = Annotated[str, typer.Option("--user", metavar="USER", help="Whom it acts for.")]
Roles = Annotated[
    list[str] | None, typer.Option("--role", metavar="NAME", help="A role besides those of its user; repeatable.")
]
Scopes = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="PERMISSION", help="The only permissions that it may use; repeatable."),
]
Expires = Annotated[
    str | None, typer.Option("--expires", metavar="WHEN", help="After 12h, 30d or 8w, or at 2027-01-01T00:00:00Z.")
]
Rate = Annotated[int | None, typer.Option("--rate", metavar="N", min=1, help="At most so many requests per minute.")]
MayApprove = Annotated[
    bool,
    typer.Option(
        "--may-approve",
        help="It will be in the hands of its user only: they may be the second pair of eyes with it (four eyes).",
    ),
]
_SPAN = re.compile(r"(\d{1,5})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


def ls(json: Json = False, store: Store = STORE) -> int:
    """List the tenant's keys, oldest first. Their secrets are nowhere to be shown."""
    with reading(store) as door:
        listed = ApiKeys(door).each()
    return print_list(
        listed, json, _json, _print, empty="There are no keys. `penstock keys make NAME --user USER` makes one."
    )


def _print(key: ApiKey) -> None:
    word, style = _state(key)
    say((key.id, "bold"), f"  {key.name}  for {key.user}  ", (word, style))
    allowed = "all that its user may" if key.scopes is None else ", ".join(sorted(key.scopes))
    used = f"; used {moment(key.last_used_at)}" if key.last_used_at is not None else "; never used"
    say((f"  {allowed}; made {moment(key.created_at)} by {key.created_by}{used}", "bright_black"))


def make(
    name: Name, user: User, role: Roles = None, scope: Scopes = None, expires: Expires = None, rate: Rate = None,
    may_approve: MayApprove = False, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Make a key, and show it: this once, for the store has only its hash."""
    until = _moment(expires) if expires is not None else None
    with reading(store) as door:
        roles = role or []
        _check(door, user, roles)
        body = {"name": name, "user": user, "roles": roles, "scopes": scope, "expires_at": until, "rate": rate}
        body["may_approve"] = may_approve
        _audit(door, "key.create", f"keys/{name}", body)
        key, token = ApiKeys(door).create(
            name, user=user, by=_me(), roles=roles, scopes=scope or None, expires_at=until, rate=rate,
            approves=may_approve,
        )  # fmt: skip
    if json:
        print_json({**_json(key), "token": token})
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
        _audit(door, "key.revoke", f"keys/{id}", None)
        key = ApiKeys(door).revoke(id)
    if json:
        print_json(_json(key))
    else:
        say(f"The key {key.id} ({key.name}) is revoked")
    return DONE


def _check(door: Queries, user: str, roles: list[str]) -> None:
    """Raises BadInput for a key that could do nothing."""
    known = roles_of(door)
    for role in roles:
        if role not in known:
            hint = f"Known are {', '.join(sorted(known))}."
            raise BadInput(what="--role", why=f"the tenant has no role «{role}»", hint=hint)
    if not person(door, user, roles=roles).permissions:
        hint = "Give it one with --role, such as --role admin, or name somebody who has one."
        raise BadInput(what="--user", why=f"«{user}» has no role, and a key for them could do nothing", hint=hint)


def _audit(door: Queries, action: str, target: str, body: object) -> None:
    """Recorded before it is done, as the server does it."""
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
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        hint = "Write 12h, 30d, 8w or 2027-01-01T00:00:00Z."
        raise BadInput(what="--expires", why=f"«{text}» is neither a span nor a moment", hint=hint) from error


def _state(key: ApiKey) -> tuple[str, str]:
    if key.revoked_at is not None:
        return f"revoked {moment(key.revoked_at)}", TONES["failed"]
    if key.expires_at is None:
        return "good", TONES["done"]
    past = key.expires_at <= time.time() * 1000
    return (f"expired {moment(key.expires_at)}", TONES["failed"]) if past else (
        f"good until {moment(key.expires_at)}", TONES["done"])  # fmt: skip


def _json(key: ApiKey) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(key)
    return {**fields, "scopes": sorted(key.scopes) if key.scopes is not None else None}


keys = {"ls": ls, "make": make, "revoke": revoke}
