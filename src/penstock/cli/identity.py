"""Who acts at the command line: whom --by names, or whose key PENSTOCK_KEY is."""

from __future__ import annotations

import os
from typing import Annotated

import msgspec
import typer

from penstock.app.access import four_eyes
from penstock.app.access.candidates import Who
from penstock.app.access.keys import ApiKeys
from penstock.app.access.roles import person, same_person
from penstock.app.runs.queries import Queries
from penstock.errors import BadInput, KeyInvalid, KeyNeeded, NotAllowed

KEY = "PENSTOCK_KEY"
By = Annotated[
    str | None, typer.Option("--by", metavar="USER", envvar="PENSTOCK_USER", help=f"Who does it; else whose {KEY} is.")
]


class Claimed(msgspec.Struct, frozen=True):
    """A name that nobody has proved: good enough where one person will do."""

    user: str
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    approves: bool = False
    proved: bool = False


def identify(door: Queries, by: str | None, permission: str) -> Who | None:
    """Whoever the key in the environment is for, with what that key may do; else who is named. Raises KeyInvalid and
    its like, NotAllowed, BadInput where the two differ."""
    token = os.environ.get(KEY, "").strip()
    if not token:
        if not by and four_eyes.asked(door):
            raise KeyNeeded(user="Somebody")
        return Claimed(by) if by else None
    key = ApiKeys(door).verified(token)
    if key.tenant != door.tenant:
        raise KeyInvalid(why="it is of another tenant", id=key.id)
    who = person(door, key.user, roles=key.roles, scopes=key.scopes, approves=key.approves)
    if by and not same_person(door, by, who.user):
        raise BadInput(what="--by", why=f"{KEY} is a key of «{who.user}»", hint="Leave --by out.")
    if permission not in who.permissions:
        raise NotAllowed(user=who.user, permission=permission)
    return who
