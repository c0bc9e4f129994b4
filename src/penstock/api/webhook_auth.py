"""Who may call a webhook: an API key or a token, the secret itself as a bearer token, or a signature made with it.

The secret is the tenant's `webhook_WORKFLOW`, else `webhook`. A signature is that of Standard Webhooks (`webhook-id`,
`webhook-timestamp`, `webhook-signature: v1,BASE64` over ID.TIMESTAMP.BODY) or `x-signature: sha256=HEX` with
`x-timestamp`, over TIMESTAMP.METHOD.PATH.BODY, where the path is as it is sent, with its query. One request that comes
again starts nothing again, at whichever path: an id is known to the whole tenant.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections import deque
from collections.abc import Callable

import msgspec
from fastapi import Request

from penstock.api.server_state import ServerState
from penstock.app.access.roles import tenant_closed
from penstock.app.releases.triggers import Webhook, active_release, webhook_of, webhooks
from penstock.errors import HookTooMany, KeyInvalid, KeyMissing, NotAllowed, RouteMissing, SignatureInvalid
from penstock.store.contract import ReleaseRow

WINDOW_S = 300
TENANT = "x-penstock-tenant"
_SIGNATURES = ("webhook-signature", "x-signature")
_LONGEST = 200


class Called(msgspec.Struct, frozen=True):
    """Who calls what, and by what the same request is known again; empty: by nothing. Without a `hook` it is a
    workflow that has another trigger, which a key may start and a secret may not."""

    tenant: str
    who: str
    row: ReleaseRow
    hook: Webhook | None
    again: str = ""


Find = Callable[[str], tuple[ReleaseRow, Webhook | None] | None]


def presented(request: Request) -> bool:
    """Does it bring what opens a webhook: a token or a signature?"""
    return any(one in request.headers for one in ("authorization", *_SIGNATURES))


async def entered(site: ServerState, request: Request, find: Find) -> Called:
    """Raises KeyMissing, KeyInvalid, NotAllowed, and RouteMissing only to those who have a key: nothing tells a
    stranger whether there is such a webhook."""
    said = next((request.headers[one] for one in _SIGNATURES if one in request.headers), None)
    if said is not None:
        return _signed(site, request, find, said, await request.body())
    kind, _, token = (request.headers.get("authorization") or "").partition(" ")
    if not kind:
        raise KeyMissing
    if kind.lower() != "bearer" or not token.strip():
        raise KeyInvalid(why="the Authorization header is not «Bearer …»")
    token = token.strip()
    if not token.startswith("ps_"):
        tenant, hook, held = _secret(site, request, find)
        if hook is not None and held is not None and hmac.compare_digest(held.encode(), token.encode()):
            return Called(tenant, f"webhook:{hook[0].name}", *hook)
    who = await site.identity.bearer(token)
    if "run.start" not in who.permissions:
        raise NotAllowed(user=who.user, permission="run.start")
    found = find(who.tenant)
    if found is None:
        raise RouteMissing
    return Called(who.tenant, who.user, *found)


def _secret(
    site: ServerState, request: Request, find: Find
) -> tuple[str, tuple[ReleaseRow, Webhook] | None, str | None]:
    """A key says whose it is. A secret does not: it is the server's own tenant's, or that of the header's. It was
    chosen by people and may be guessed. Raises StrangerTooMany."""
    site.strangers.patience(request)
    tenant = (request.headers.get(TENANT) or site.door.tenant)[:_LONGEST]
    found = find(tenant)
    if found is None or found[1] is None or tenant != site.door.tenant and tenant_closed(site.door.of(tenant)):
        return tenant, None, None
    kept = site.door.host.tenants(tenant)
    held = kept.secret(f"webhook_{found[0].name}") or kept.secret("webhook")
    return tenant, (found[0], found[1]), held or None


def _signed(site: ServerState, request: Request, find: Find, said: str, body: bytes) -> Called:
    headers = request.headers
    id = headers.get("webhook-id") or ""
    at = headers.get("webhook-timestamp") or headers.get("x-timestamp") or ""
    if not at.isascii() or not at.isdecimal() or len(at) > 12 or len(id) > _LONGEST or not id.isprintable():
        raise SignatureInvalid(why="its id or its timestamp cannot be read")
    if abs(site.door.now() // 1000 - int(at)) > WINDOW_S:
        raise SignatureInvalid(why="its time is more than five minutes off")
    standard = "webhook-signature" in headers
    if standard and not id:
        raise SignatureInvalid(why="it has no webhook-id")
    said_of = (id.encode(), at.encode()) if standard else (at.encode(), request.method.encode(), _asked_for(request))
    text = b".".join((*said_of, body))
    tenant, found, held = _secret(site, request, find)
    made = hmac.digest((held or "").encode(), text, hashlib.sha256)
    if not _equal(said, made, standard) or found is None or held is None:
        raise SignatureInvalid(why="it does not fit the body and the secret")
    again = id if standard else hashlib.sha256(made).hexdigest()
    return Called(tenant, f"webhook:{found[0].name}", *found, again)


def _asked_for(request: Request) -> bytes:
    """The path as it was sent."""
    path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    query: bytes = request.scope["query_string"]
    return path + b"?" + query if query else path


def _equal(said: str, made: bytes, standard: bool) -> bool:
    """Several may be given while a secret is changed; each is compared whole."""
    wanted = f"v1,{base64.b64encode(made).decode()}" if standard else f"sha256={made.hex()}"
    found = False
    for one in said.split()[:5]:
        found |= hmac.compare_digest(one.encode(), wanted.encode())
    return found


def at_path(site: ServerState, method: str, path: str) -> Find:
    """The active webhook of a tenant at a path."""

    def find(tenant: str) -> tuple[ReleaseRow, Webhook | None] | None:
        store = site.door.of(tenant).store
        hook = next((one for one in webhooks(store, tenant) if (one.method, one.path) == (method, path)), None)
        row = active_release(store, tenant, hook.name) if hook is not None else None
        return (row, hook) if row is not None else None

    return find


def by_name(site: ServerState, method: str, path: str, name: str) -> Find:
    """The webhook that is registered at the path; else the active version of a workflow that has another trigger."""

    def find(tenant: str) -> tuple[ReleaseRow, Webhook | None] | None:
        found = at_path(site, method, path)(tenant)
        row = active_release(site.door.of(tenant).store, tenant, name) if found is None else None
        return found if row is None else (row, None) if webhook_of(row) is None else None

    return find


class Windows:
    """W-3.2.4: so many requests in so many seconds, per tenant and workflow, in this process."""

    def __init__(self) -> None:
        self._taken: dict[str, deque[int]] = {}

    def take(self, tenant: str, hook: Webhook, now: int) -> None:
        """Raises HookTooMany, with the seconds after which there is one more."""
        if hook.requests is None or hook.window_sec is None:
            return
        taken, window = self._taken.setdefault(f"{tenant}/{hook.name}", deque()), int(hook.window_sec * 1000)
        while taken and taken[0] <= now - window:
            taken.popleft()
        if len(taken) >= hook.requests:
            wait = max(1, -(-(taken[0] + window - now) // 1000))
            raise HookTooMany(name=hook.name, requests=hook.requests, seconds=f"{hook.window_sec:g}", retry_s=wait)
        taken.append(now)
