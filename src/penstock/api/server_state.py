"""What all requests of one server share, and how a route gets at it: the door of the caller's tenant, and who calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from fastapi import Depends, Request

from penstock.app.penstock import Penstock
from penstock.errors import NotAllowed, PenstockError

if TYPE_CHECKING:
    from penstock.api.auth_throttle import Strangers
    from penstock.api.identity import Identity
    from penstock.api.presence import Presence
    from penstock.api.stream import Hub
    from penstock.api.telemetry import Watching
    from penstock.api.webhook_auth import Windows
    from penstock.app.access.audit import AuditLog
    from penstock.app.access.idempotency import IdempotencyKeys


class Options(msgspec.Struct, frozen=True):
    """How a server is set up. `dev` opens the console without a key and lets it choose whom to be."""

    dev: bool = False
    console: bool = True
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    body_limit: int = 8 * 1024 * 1024
    secure: bool = False
    living: bool = False  # runs are started by themselves, so that there is something to see
    folder: str = ""  # of documents that are released as they change


class ServerState:
    def __init__(self, door: Penstock, options: Options) -> None:
        self.door, self.options = door, options
        self.identity: Identity
        self.hub: Hub
        self.presence: Presence
        self.audit: AuditLog
        self.once: IdempotencyKeys
        self.windows: Windows
        self.strangers: Strangers
        self.watching: Watching
        self.draining = False


class Caller(msgspec.Struct, frozen=True):
    """Who calls, for which tenant, and what they may do."""

    tenant: str
    user: str
    name: str
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    permissions: frozenset[str]
    key: str = ""


def site_of(request: Request) -> ServerState:
    found: ServerState = request.app.state.site
    return found


async def _site(request: Request) -> ServerState:
    """A dependency that is not async would be sent to a pool of threads."""
    return site_of(request)


async def caller_of(request: Request) -> Caller:
    """Found once a request. Raises KeyMissing, KeyInvalid and their like."""
    held: Caller | None = getattr(request.state, "caller", None)
    if held is None:
        site = site_of(request)
        try:
            held = request.state.caller = await site.identity.caller(request)
        except PenstockError as error:
            raise await site.strangers.met(request, error) from error
    return held


def needs(permission: str) -> Callable[[Request], Awaitable[Caller]]:
    """A route that asks for a permission. The error names it."""

    async def allowed(request: Request) -> Caller:
        caller = await caller_of(request)
        if permission not in caller.permissions:
            raise NotAllowed(user=caller.user, permission=permission)
        return caller

    allowed.permission = permission  # type: ignore[attr-defined]
    return allowed


async def door_of(request: Request) -> Penstock:
    """The one place where a request gets its tenant: everything behind it sees only that tenant's."""
    return site_of(request).door.of((await caller_of(request)).tenant)


TheSite = Annotated[ServerState, Depends(_site)]
Who = Annotated[Caller, Depends(caller_of)]
Door = Annotated[Penstock, Depends(door_of)]


def may(permission: str) -> Any:
    """In a router's `dependencies`, or as the default of a parameter."""
    return Depends(needs(permission))
