"""Authentication of webhook calls: an API key or a token, the secret as a bearer token, or a signature made with it.

The secret is the tenant's `webhook_WORKFLOW`, else `webhook`. A signature is that of Standard Webhooks (`webhook-id`,
`webhook-timestamp`, `webhook-signature: v1,BASE64` over ID.TIMESTAMP.BODY) or `x-signature: sha256=HEX` with
`x-timestamp`, over TIMESTAMP.METHOD.PATH.BODY, where the path is as it is sent, with its query. One request that comes
again starts nothing again, at whichever path: an id is known to the whole tenant.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable

import msgspec
from fastapi import Request

from penstock.api.addresses import address_of
from penstock.api.server_state import ServerState
from penstock.app.access.roles import tenant_closed
from penstock.app.releases.triggers import Webhook, active_release, webhook_of, webhooks
from penstock.errors import KeyInvalid, KeyMissing, NotAllowed, RouteMissing, SignatureInvalid
from penstock.store.releases import ReleaseRow

WINDOW_S = 300
TENANT = "x-penstock-tenant"
_SIGNATURES = ("webhook-signature", "x-signature")
_LONGEST = 200


class WebhookCall(msgspec.Struct, frozen=True):
    """An authenticated call. `dedupe_id` is the same when the request is sent again; empty: not known. Without a `hook`
    the workflow has another trigger, which a key may start and a secret may not."""

    tenant: str
    who: str
    row: ReleaseRow
    hook: Webhook | None
    dedupe_id: str = ""


FindWebhook = Callable[[str], tuple[ReleaseRow, Webhook | None] | None]


def has_credentials(request: Request) -> bool:
    """Whether the request has a token or a signature."""
    return any(name in request.headers for name in ("authorization", *_SIGNATURES))


async def authenticate(server: ServerState, request: Request, find: FindWebhook) -> WebhookCall:
    """The call, if it may start the workflow. Raises KeyMissing, KeyInvalid, NotAllowed; RouteMissing only for a
    caller with a key: nobody else learns whether there is such a webhook."""
    signature = next((request.headers[name] for name in _SIGNATURES if name in request.headers), None)
    if signature is not None:
        return _by_signature(server, request, find, signature, await request.body())
    kind, _, token = (request.headers.get("authorization") or "").partition(" ")
    if not kind:
        raise KeyMissing
    if kind.lower() != "bearer" or not token.strip():
        raise KeyInvalid(why="the Authorization header is not «Bearer …»")
    token = token.strip()
    if not token.startswith("ps_"):
        tenant, hook, secret = _secret(server, request, find)
        if hook is not None and secret is not None and hmac.compare_digest(secret.encode(), token.encode()):
            return WebhookCall(tenant, f"webhook:{hook[0].name}", *hook)
    who = await server.identity.bearer(token, address_of(request))
    if "run.start" not in who.permissions:
        raise NotAllowed(user=who.user, permission="run.start")
    target = find(who.tenant)
    if target is None:
        raise RouteMissing
    return WebhookCall(who.tenant, who.user, *target)


def _secret(
    server: ServerState, request: Request, find: FindWebhook
) -> tuple[str, tuple[ReleaseRow, Webhook] | None, str | None]:
    """The tenant, its webhook and that webhook's secret. A key says whose it is; a secret does not: it is that of the
    server's own tenant, or of the tenant in the header. People chose it, so it may be guessed. Raises
    StrangerTooMany."""
    server.auth_throttle.check(request)
    tenant = (request.headers.get(TENANT) or server.door.tenant)[:_LONGEST]
    target = find(tenant)
    if target is None or target[1] is None or tenant != server.door.tenant and tenant_closed(server.door.of(tenant)):
        return tenant, None, None
    registered = server.door.host.tenants(tenant)
    secret = registered.secret(f"webhook_{target[0].name}") or registered.secret("webhook")
    return tenant, (target[0], target[1]), secret or None


def _by_signature(server: ServerState, request: Request, find: FindWebhook, signature: str, body: bytes) -> WebhookCall:
    headers = request.headers
    id = headers.get("webhook-id") or ""
    at = headers.get("webhook-timestamp") or headers.get("x-timestamp") or ""
    if not at.isascii() or not at.isdecimal() or len(at) > 12 or len(id) > _LONGEST or not id.isprintable():
        raise SignatureInvalid(why="its id or its timestamp cannot be read")
    if abs(server.door.now() // 1000 - int(at)) > WINDOW_S:
        raise SignatureInvalid(why="its time is more than five minutes off")
    standard = "webhook-signature" in headers
    if standard and not id:
        raise SignatureInvalid(why="it has no webhook-id")
    signed = (id.encode(), at.encode()) if standard else (at.encode(), request.method.encode(), _target(request))
    tenant, target, secret = _secret(server, request, find)
    digest = hmac.digest((secret or "").encode(), b".".join((*signed, body)), hashlib.sha256)
    if not _matches(signature, digest, standard) or target is None or secret is None:
        raise SignatureInvalid(why="it does not fit the body and the secret")
    dedupe_id = id if standard else hashlib.sha256(digest).hexdigest()
    return WebhookCall(tenant, f"webhook:{target[0].name}", *target, dedupe_id)


def _target(request: Request) -> bytes:
    """The path and the query as they were sent."""
    path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    query: bytes = request.scope["query_string"]
    return path + b"?" + query if query else path


def _matches(signature: str, digest: bytes, standard: bool) -> bool:
    """Several signatures may be sent while a secret is changed; each is compared in full."""
    wanted = f"v1,{base64.b64encode(digest).decode()}" if standard else f"sha256={digest.hex()}"
    matches = False
    for part in signature.split()[:5]:
        matches |= hmac.compare_digest(part.encode(), wanted.encode())
    return matches


def at_path(server: ServerState, method: str, path: str) -> FindWebhook:
    """The active webhook of a tenant at a path."""

    def find(tenant: str) -> tuple[ReleaseRow, Webhook | None] | None:
        store = server.door.of(tenant).store
        hook = next((hook for hook in webhooks(store, tenant) if (hook.method, hook.path) == (method, path)), None)
        row = active_release(store, tenant, hook.name) if hook is not None else None
        return (row, hook) if row is not None else None

    return find


def by_name(server: ServerState, method: str, path: str, name: str) -> FindWebhook:
    """The webhook that is registered at the path; else the active version of a workflow that has another trigger."""

    def find(tenant: str) -> tuple[ReleaseRow, Webhook | None] | None:
        registered = at_path(server, method, path)(tenant)
        row = active_release(server.door.of(tenant).store, tenant, name) if registered is None else None
        return registered if row is None else (row, None) if webhook_of(row) is None else None

    return find
