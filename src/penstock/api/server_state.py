"""What all requests of one server share, and how a route gets at it: the door of the caller's tenant, and who calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant

from penstock.api.auth_throttle import AuthThrottle
from penstock.api.identity import Identity
from penstock.api.long_reads import LongReads
from penstock.api.options import Options
from penstock.api.presence import Presence
from penstock.api.request_share import RequestShare
from penstock.api.stream import EventHub
from penstock.api.telemetry import Telemetry
from penstock.api.webhook_rates import WebhookRates
from penstock.app.access.audit import AuditLog
from penstock.app.access.idempotency import IdempotencyKeys
from penstock.app.access.roles import Person
from penstock.app.metrics.home_reads import HomeReads
from penstock.app.penstock import Penstock
from penstock.app.runs.commands.batches import Batches
from penstock.errors import NotAllowed, PenstockError

#: who calls, for which tenant, and what they may do
Caller: TypeAlias = Person


class ServerState:
    """Everything but the door and the options is made when the application starts."""

    def __init__(self, door: Penstock, options: Options) -> None:
        self.door, self.options = door, options
        self.identity: Identity
        self.hub: EventHub
        self.presence: Presence
        self.audit: AuditLog
        self.idempotency: IdempotencyKeys
        self.webhook_rates: WebhookRates
        self.auth_throttle: AuthThrottle
        self.telemetry: Telemetry
        self.home = HomeReads()
        self.batches: Batches
        self.is_reader = False  # its requests come from another server, which has audited them
        self.long_reads: LongReads | None = None  # None in the process that reads them
        self.large_documents: LongReads | None = None  # the same
        self.trials: LongReads | None = None  # the same
        self.request_share: RequestShare
        self.draining = False


def server_of(request: Request) -> ServerState:
    server: ServerState = request.app.state.server
    return server


async def _server(request: Request) -> ServerState:
    """A dependency that is not async would be sent to a pool of threads."""
    return server_of(request)


def needs_server(dependant: Dependant) -> bool:
    """Whether a route asks for more than its door and its caller."""
    return any(part.call is _server or needs_server(part) for part in dependant.dependencies)


async def caller_of(request: Request) -> Caller:
    """Identified once per request. Raises KeyMissing, KeyInvalid and their like."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        server = server_of(request)
        try:
            caller = request.state.caller = await server.identity.caller(request)
        except PenstockError as error:
            raise await server.auth_throttle.refused(request, error) from error
        await server.request_share.admit(caller.tenant)
    return caller


def needs(permission: str) -> Callable[[Request], Awaitable[Caller]]:
    """A dependency that refuses callers without the permission; the error names it."""

    async def allowed(request: Request) -> Caller:
        caller = await caller_of(request)
        if permission not in caller.permissions:
            raise NotAllowed(user=caller.user, permission=permission)
        return caller

    allowed.permission = permission  # type: ignore[attr-defined]
    return allowed


async def door_of(request: Request) -> Penstock:
    """The one place where a request gets its tenant: everything behind it sees only that tenant's."""
    return server_of(request).door.of((await caller_of(request)).tenant)


Server = Annotated[ServerState, Depends(_server)]
Who = Annotated[Caller, Depends(caller_of)]
Door = Annotated[Penstock, Depends(door_of)]


def may(permission: str) -> Any:
    """In a router's `dependencies`, or as the default of a parameter."""
    return Depends(needs(permission))
