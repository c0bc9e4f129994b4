"""Roles: what they allow, who has them, and what the registry says about people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from penstock.app.access.candidates import Who, id_of
from penstock.app.access.names import folded
from penstock.errors import KeyInvalid

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries
    from penstock.store.contract import Store

PERMISSIONS = (
    "run.read", "run.start", "run.steer", "run.edit", "inbox.read", "inbox.decide", "definition.read",
    "definition.write", "definition.approve", "definition.activate", "registry.read", "registry.write", "secret.write",
    "key.write", "key.mint", "user.write", "tenant.write", "audit.read", "ops.read", "ops.write", "events.send",
    "process.work", "process.approve", "process.model.approve", "pipeline.read", "pipeline.cancel", "pipeline.retry",
    "pipeline.trigger", "pipeline.admin", "plan.read", "plan.write", "plan.review", "plan.admin",
    "deploy.read", "deploy.write", "deploy.pause", "deploy.promote", "deploy.rollback", "job.work",
)  # fmt: skip
#: what somebody needs besides, to do what they are allowed to
_WITH = {"process.approve": ("inbox.read", "inbox.decide"), "process.work": ("inbox.read",)}
ADMIN = "admin"
_READS = frozenset(
    {
        "run.read", "inbox.read", "definition.read", "registry.read", "ops.read", "pipeline.read", "plan.read",
        "deploy.read",
    }
)  # fmt: skip
_DECIDES = _READS | {"inbox.decide", "definition.approve", "process.work", "process.approve", "plan.review"}
_STEERS_FILES = frozenset({"pipeline.cancel", "pipeline.retry", "pipeline.trigger"})
_RUNS = (
    _READS | _STEERS_FILES
    | {"run.start", "run.steer", "events.send", "ops.write", "process.work", "plan.write", "deploy.pause", "job.work"}
)  # fmt: skip
#: who answers for what is rolled out begins it and lets it go on; who answers for quality stops it and takes it back
_DEPLOYS = frozenset({"deploy.write", "deploy.pause", "deploy.promote", "deploy.rollback"})
_WRITES = frozenset({"definition.write", "pipeline.admin"})
#: what tells the organisations of a tenant apart: whoever belongs to one may nothing else, for that shows all of them
_OF_ORGANIZATIONS = _STEERS_FILES | {"pipeline.read", "pipeline.admin"}

#: what a role allows unless the tenant has registered it otherwise
ROLES: dict[str, frozenset[str]] = {
    ADMIN: frozenset(PERMISSIONS),
    "quality_manager": _DECIDES | {"run.start", "audit.read", "deploy.pause", "deploy.rollback"},
    "qa_lead": _DECIDES,
    "it_manager": _DECIDES | _RUNS | _DEPLOYS | {"definition.activate", "registry.write", "audit.read", "plan.admin"},
    "approver": _DECIDES,
    "process_owner": _DECIDES | _RUNS | _WRITES | {"process.model.approve"},
    "analyst": _READS | _WRITES | {"process.model.approve"},
    "author": _RUNS | _WRITES | {"registry.write"},
    "operator": _RUNS,
    "viewer": _READS,
    "worker": frozenset({"job.work"}),  # a program outside that does jobs, and nothing else
}


class Standing(NamedTuple):
    """Somebody who acts: what the registry says about them, with the roles and groups that they came with."""

    user: str
    known: Mapping[str, Any]
    inactive: bool


class Directory(msgspec.Struct):
    """The users and roles of a tenant, as the registry had them when it had this number."""

    number: int
    users: dict[str, Mapping[str, Any]]
    roles: dict[str, frozenset[str]]
    config: Mapping[str, Any]
    spelled: dict[str, str] = {}

    def registered_name(self, user: str) -> str:
        """The spelling under which a user is registered; the given one where nobody is."""
        return user if user in self.users else self.spelled.get(folded(user), user)

    def active_user(self, user: str) -> Mapping[str, Any] | None:
        """A registered, active user; None where the user is unknown or deactivated («active»: false)."""
        body = self.users.get(self.registered_name(user))
        return None if body is None or body.get("active") is False else body

    def inactive(self, user: str) -> bool:
        """Whether a registered user is deactivated («active»: false)."""
        return self.users.get(self.registered_name(user), {}).get("active") is False

    def names_of(self, user: str) -> frozenset[str]:
        """Every name, folded, by which somebody may be known: the id and the address of mail."""
        email = self.users.get(self.registered_name(user), {}).get("email")
        return frozenset({folded(user), *([folded(email)] if isinstance(email, str) and email else ())})

    def permissions_of(self, roles: Iterable[str]) -> frozenset[str]:
        """What people with these roles may do. A role that nobody knows allows nothing."""
        return frozenset().union(*(self.roles.get(role, frozenset()) for role in roles))

    def known_of(self, who: Who) -> Mapping[str, Any]:
        """A user's registered data, with the roles and groups that an Actor has besides."""
        body = self.active_user(id_of(who)) or {}
        if isinstance(who, str):
            return body
        return {
            **body,
            "roles": [*(body.get("roles") or ()), *who.roles],
            "groups": [*(body.get("groups") or ()), *who.groups],
        }


def standing(door: Queries, who: Who) -> Standing:
    """One read of the directory for everything that is asked about somebody who decides."""
    people = directory(door)
    user = people.registered_name(id_of(who))
    return Standing(user, people.known_of(who), people.inactive(user))


_directories: WeakKeyDictionary[Store, dict[str, Directory]] = WeakKeyDictionary()


def directory(door: Queries) -> Directory:
    """Asked with every request: one read of the registry's number, and a new directory only when that has changed."""
    store, tenants = door.store, _directories.setdefault(door.store, {})
    number, kept = store.registry_number(), tenants.get(door.tenant)
    if kept is None or kept.number != number:
        users = {row.id: msgspec.msgpack.decode(row.body) for row in store.artifacts(door.tenant, "user")}
        own = {row.id: msgspec.msgpack.decode(row.body) for row in store.artifacts(door.tenant, "role")}
        roles = {name: in_our_words(body.get("permissions") or ()) for name, body in own.items()}
        # nobody can take the administrator's rights away and lock everybody out
        known = {**ROLES, **roles, ADMIN: ROLES[ADMIN]}
        spelled = {folded(id): id for id in sorted(users, reverse=True)}
        kept = tenants[door.tenant] = Directory(number, users, known, _config(door), spelled)
    return kept


def in_our_words(permissions: Iterable[str]) -> frozenset[str]:
    """The known permissions among these, with what they need besides; unknown ones are left out."""
    asked = list(permissions)
    implied = [more for permission in asked for more in _WITH.get(permission, ())]
    return frozenset((*asked, *implied)) & frozenset(PERMISSIONS)


def roles_of(door: Queries) -> dict[str, frozenset[str]]:
    """Every role of the tenant, and what it allows."""
    return dict(directory(door).roles)


def permissions_of(door: Queries, roles: Iterable[str]) -> frozenset[str]:
    """What people with these roles may do. A role that nobody knows allows nothing."""
    return directory(door).permissions_of(roles)


def user_of(door: Queries, user: str) -> Mapping[str, Any] | None:
    """A registered, active user; None where the user is unknown or deactivated («active»: false)."""
    return directory(door).active_user(user)


def inactive(door: Queries, user: str) -> bool:
    """Whether a registered user is deactivated («active»: false)."""
    return directory(door).inactive(user)


def known_of(door: Queries, who: Who) -> Mapping[str, Any]:
    """A user's registered data, with the roles and groups that an Actor has besides."""
    return directory(door).known_of(who)


def each_user(door: Queries) -> list[dict[str, Any]]:
    """Every active user, by id."""
    return [
        {
            "id": id, "name": str(body.get("name") or id), "roles": list(body.get("roles") or ()),
            "groups": list(body.get("groups") or ()),
        }
        for id, body in sorted(directory(door).users.items())
        if body.get("active") is not False
    ]  # fmt: skip


class Person(msgspec.Struct, frozen=True):
    """A caller in one tenant, and what the caller may do. `approves` is false of who came with a key that somebody else
    has made: they are not the second pair of eyes. `organization`: the only one of the tenant that they belong to
    (F-6.6); None: all of it."""

    tenant: str
    user: str
    name: str
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    permissions: frozenset[str]
    approves: bool = True
    organization: int | None = None


def person(
    door: Queries, user: str, *, roles: Iterable[str] = (), scopes: frozenset[str] | None = None, approves: bool = True,
    organization: int | None = None,
) -> Person:  # fmt: skip
    """A user of the door's tenant with the roles that the registry gives, and those that a key or a token gives
    besides; `scopes` can only take away. Raises KeyInvalid for who is not active any more: no key of theirs, whatever
    roles it has of its own, lets them in."""
    people = directory(door)
    user = people.registered_name(user)
    if people.inactive(user):
        hint = "An administrator can make the user active again."
        raise KeyInvalid(why=f"its user «{user}» is not active any more", hint=hint)
    body = people.active_user(user) or {}
    held = tuple(dict.fromkeys((*(body.get("roles") or ()), *roles)))
    allowed = people.permissions_of(held)
    groups = tuple(body.get("groups") or ())
    belongs_to = _organization(body) if organization is None else organization
    if belongs_to is not None:
        allowed &= _OF_ORGANIZATIONS
    return Person(
        door.tenant, user, str(body.get("name") or user), held, groups, allowed if scopes is None else allowed & scopes,
        approves, belongs_to,
    )  # fmt: skip


def _organization(body: Mapping[str, Any]) -> int | None:
    number = body.get("organization_id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def same_person(door: Queries, user: str | None, other: str | None) -> bool:
    """Whether two names mean one person: under any spelling, by id or by address of mail."""
    if user is None or other is None:
        return False
    people = directory(door)
    return bool(people.names_of(user) & people.names_of(other))


def target_exists(door: Queries, target: str) -> bool:
    """Whether `user:…`, `role:…` or `group:…` names at least one registered user."""
    kind, _, name = target.partition(":")
    if kind == "user":
        return user_of(door, name) is not None
    held = {"role": "roles", "group": "groups"}.get(kind)
    return held is not None and any(name in registered[held] for registered in each_user(door))


def locale_of(door: Queries, user: str) -> str:
    """The user's language, else the tenant's."""
    people = directory(door)
    mine = (people.active_user(user) or {}).get("locale") or people.config.get("locale")
    return str(mine) if mine in ("ko", "en") else "ko"


def zone_of(door: Queries) -> str:
    """The tenant's time zone: that of its calendar."""
    rows = [row for row in door.store.artifacts(door.tenant, "calendar") if row.id == "default"]
    calendar_zone = msgspec.msgpack.decode(rows[-1].body).get("timezone") if rows else None
    return str(config_of(door).get("zone") or calendar_zone or "UTC")


def tenant_known(door: Queries) -> bool:
    """Whether a tenant exists: it has settings, a user or a key."""
    people = directory(door)
    if people.config or people.users or door.store.keys(door.tenant):
        return True
    _directories[door.store].pop(door.tenant, None)  # whoever is not there is not remembered
    return False


def tenant_closed(door: Queries) -> bool:
    """Whether the operator has closed the tenant («active»: false)."""
    return directory(door).config.get("active") is False


def config_of(door: Queries) -> Mapping[str, Any]:
    """The tenant's settings."""
    return directory(door).config


def _config(door: Queries) -> Mapping[str, Any]:
    rows = [row for row in door.store.artifacts(door.tenant, "config") if row.id == "tenant"]
    config = msgspec.msgpack.decode(rows[-1].body) if rows else {}
    return config if isinstance(config, Mapping) else {}
