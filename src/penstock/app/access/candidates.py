"""Who may decide: users, roles and groups against the targets of a work item (C-32)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from penstock.app.access.names import same_user


class Actor(Protocol):
    """Somebody who is known to have these roles and groups, be it from the registry, a key or a token."""

    @property
    def user(self) -> str: ...
    @property
    def roles(self) -> tuple[str, ...]: ...
    @property
    def groups(self) -> tuple[str, ...]: ...


#: A user's id alone has what the registry says.
Who = str | Actor


def id_of(who: Who) -> str:
    return who if isinstance(who, str) else who.user


def is_target(target: str, user: str, body: Mapping[str, Any]) -> bool:
    """Does a target (`user:…`, `role:…`, `group:…`) mean this user? A name alone is a user with @, else a role."""
    kind, colon, name = target.partition(":")
    if not colon:
        kind, name = "user" if "@" in target else "role", target
    if kind == "user":
        email = body.get("email")
        return same_user(name, user) or isinstance(email, str) and same_user(name, email)
    held = body.get({"role": "roles", "group": "groups"}.get(kind, ""))
    return isinstance(held, list | tuple) and name in held


def for_anybody(candidates: Any) -> bool:
    """Whether anybody may decide, because no target is given. An empty list of targets is for nobody (C-34)."""
    return (candidates.get("targets") if isinstance(candidates, Mapping) else candidates) is None


def targets_of(candidates: Any) -> list[str]:
    """Every target of a work item."""
    targets = candidates.get("targets") if isinstance(candidates, Mapping) else candidates
    if isinstance(targets, str):
        return [targets]
    return [str(target) for target in targets] if isinstance(targets, list | tuple) else []


def held_by(candidates: Any, user: str, body: Mapping[str, Any] | None) -> list[str]:
    """The targets that this user can act for."""
    return [target for target in targets_of(candidates) if is_target(target, user, body or {})]


def may_act(candidates: Any, user: str, body: Mapping[str, Any] | None) -> bool:
    return for_anybody(candidates) or bool(held_by(candidates, user, body))


def target_for(candidates: Any, user: str, body: Mapping[str, Any] | None, voted: Mapping[str, Any]) -> str | None:
    """The target that a vote counts for: the first of the user's that nobody has approved for yet."""
    mine = held_by(candidates, user, body)
    taken = {vote.get("target") for vote in voted.values() if vote.get("vote") == "approved"}
    return next((target for target in mine if target not in taken), mine[0] if mine else None)
