"""Who may call: keys, tokens, permissions, tenants and rate limits."""

from __future__ import annotations

from penstock.errors.base import PenstockError


class KeyMissing(PenstockError):
    """This needs to know who calls."""

    code, http = "PS-401-WHO", 401
    hint = "Send the header «Authorization: Bearer ps_…» with a key, or sign in to the console."


class KeyInvalid(PenstockError):
    """The key is not accepted: {why}."""

    code, http = "PS-401-KEY", 401
    hint = "Give a key as it was shown when it was made; an administrator can make another one."


class KeyExpired(KeyInvalid):
    """The key «{id}» has expired."""

    code = "PS-401-KEY-EXPIRED"
    hint = "Ask an administrator for a new one."


class KeyRevoked(KeyInvalid):
    """The key «{id}» was revoked."""

    code = "PS-401-KEY-REVOKED"
    hint = "Ask an administrator for a new one."


class TokenInvalid(KeyInvalid):
    """The token is not accepted: {why}."""

    code = "PS-401-TOKEN"
    hint = "Sign in again; issuer, audience and keys are those of the settings [jwt]."


class SignatureInvalid(KeyInvalid):
    """The signature is not good: {why}."""

    code = "PS-401-SIGNATURE"
    hint = "Sign ID.TIMESTAMP.BODY with the secret by HMAC-SHA256; the clocks must agree within five minutes."


class TooMany(PenstockError):
    """{what} has used up its {rate} requests per minute."""

    code, http = "PS-429-RATE", 429
    hint = "Wait as long as Retry-After says, or ask for a higher rate."


class StrangerTooMany(TooMany):
    """More than {rate} calls in a minute from this address were not let in."""

    hint = "Wait as long as Retry-After says, and call with a key that is good."


class HookTooMany(TooMany):
    """The webhook of «{name}» takes {requests} requests in {seconds} s, and they are used up."""

    hint = "Wait as long as Retry-After says."


class NotAllowed(PenstockError):
    """{user} may not do this: it needs the permission «{permission}»."""

    code, http = "PS-403-PERMISSION", 403
    hint = "`GET /api/v1/me` lists what you may do; an administrator can give you a role that may."


class NotOurPage(PenstockError):
    """A change with a session's cookie comes from the console alone."""

    code, http = "PS-403-PAGE", 403
    hint = "Programs send a key: «Authorization: Bearer ps_…». The console sends the header «X-Penstock: 1»."


class TenantConflict(PenstockError):
    """«{name}» belongs to the tenant «{named}» (/tenant_id), and this is «{tenant}»."""

    code, http = "PS-403-TENANT", 403
    hint = "Leave `tenant_id` out: the document is then for whoever releases it. Or release it for that tenant."


class TenantUnknown(PenstockError):
    """There is no tenant «{tenant}» here, or it is not active."""

    code, http = "PS-403-TENANT", 403
    hint = "The server's administrator makes tenants: POST /api/v1/tenants."


class TenantExists(PenstockError):
    """There is a tenant «{tenant}» already."""

    code, http = "PS-409-TENANT", 409
    hint = "`GET /api/v1/tenants` lists them."


class NotYours(PenstockError):
    """{user} may not give what they do not have: «{permission}»."""

    code, http = "PS-403-GIVE", 403
    hint = "Nobody can give rights that go beyond their own; ask an administrator."


class KeyNotFound(PenstockError):
    """There is no key «{id}»."""

    code, http = "PS-404-KEY", 404
    hint = "The list of keys has their ids; a key is ps_ID_SECRET."


class UserNotFound(PenstockError):
    """There is no user «{user}»."""

    code, http = "PS-404-USER", 404
    hint = "`penstock registry ls user` lists them."
