"""Four eyes: the one gate that a change passes before it is in force, whichever way it came."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.access.candidates import Who, id_of
from penstock.app.access.keys import ApiKey, ApiKeys
from penstock.app.access.names import folded
from penstock.app.access.roles import config_of, same_person
from penstock.errors import FourEyes, KeyNeeded

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

#: whoever has one of these may be the second person
APPROVES = ("definition.approve", "process.model.approve")


class Change(msgspec.Struct, frozen=True):
    """What is to come in force. `author` wrote it, `at` that time; `documents` are its own and the one that was in
    force before: each may ask for four eyes (`metadata.four_eyes`). `always`: it takes two whatever the tenant has
    set."""

    what: str
    author: str | None
    at: int
    documents: tuple[Any, ...] = ()
    always: bool = False


def asked(door: Queries, *documents: Any) -> bool:
    """Whether the tenant (`release.four_eyes`) or one of the documents (`metadata.four_eyes`) asks for four eyes."""
    metadata = [document.get("metadata") for document in documents if isinstance(document, Mapping)]
    sections = [config_of(door).get("release"), *metadata]
    return any(isinstance(section, Mapping) and section.get("four_eyes") is True for section in sections)


def author_of(door: Queries, by: Who | None, *documents: Any) -> str | None:
    """The name under which somebody's change is kept. Raises KeyNeeded where four eyes are asked for, and the name is
    only claimed: under a false one its author could be the second person, too."""
    if by is None:
        return None
    if not getattr(by, "proved", True) and asked(door, *documents):
        raise KeyNeeded(user=id_of(by))
    return id_of(by)


def admit(door: Queries, change: Change, *seconds: Who | None) -> None:
    """The gate. Lets a change through where nobody asks for four eyes, or where one of `seconds` is a second person: a
    known one, another than the author under any spelling, who may approve. Raises FourEyes."""
    if not (change.always or asked(door, *change.documents)):
        return
    refusals = {second: _refusal(door, change, second) for second in seconds or (None,)}
    if None in refusals.values():
        return
    named = [second for second in refusals if second is not None]
    second = named[-1] if named else None
    user = "Somebody without a name" if second is None else id_of(second)
    raise FourEyes(user=user, what=change.what, why=refusals[second])


def _refusal(door: Queries, change: Change, second: Who | None) -> str | None:
    """Why somebody is not the second person; None where they are."""
    if change.author is None:
        return "nobody knows who wrote it"
    if second is None:
        return "somebody else must, who is known by name"
    if same_person(door, change.author, id_of(second)):
        return "somebody else must, who has not asked for it"
    if any(same_person(door, maker, id_of(second)) for maker in _could_write_as(door, change.author, change.at)):
        return "the author's key was made by this person, who could have written it"
    if not getattr(second, "proved", True):
        return "it is only a name here, and nobody has shown a key (PENSTOCK_KEY)"
    if not getattr(second, "approves", True):
        return "the key was made by somebody else, and such a key cannot approve"
    permissions = getattr(second, "permissions", None)
    if permissions is not None and not any(permission in permissions for permission in APPROVES):
        return f"that takes «{APPROVES[0]}»"
    return None


def _could_write_as(door: Queries, author: str, at: int) -> frozenset[str]:
    """Who had made a key in the author's name that was valid then, or the key that such a one was made with."""
    made = [key for key in ApiKeys(door).each() if not key.approves and _valid(key, at)]
    names, makers = {folded(author)}, set[str]()
    while more := {key.created_by for key in made if folded(key.user) in names} - makers:
        makers |= more
        names |= {folded(maker) for maker in more}
    return frozenset(makers)


def _valid(key: ApiKey, at: int) -> bool:
    return key.created_at <= at and (key.revoked_at is None or key.revoked_at >= at)
