"""Who may call: keys, tokens, permissions, tenants and rate limits."""

from __future__ import annotations

from penstock.errors.base import PenstockError


class KeyMissing(PenstockError, code="PS-401-WHO"):
    """This needs to know who calls."""

    hint = "Send the header «Authorization: Bearer ps_…» with a key, or sign in to the console."


class KeyInvalid(PenstockError, code="PS-401-KEY"):
    """The key is not accepted: {why}."""

    hint = "Give a key as it was shown when it was made; an administrator can make another one."


class KeyExpired(KeyInvalid, code="PS-401-KEY-EXPIRED"):
    """The key «{id}» has expired."""

    hint = "Ask an administrator for a new one."


class KeyRevoked(KeyInvalid, code="PS-401-KEY-REVOKED"):
    """The key «{id}» was revoked."""

    hint = "Ask an administrator for a new one."


class TokenInvalid(KeyInvalid, code="PS-401-TOKEN"):
    """The token is not accepted: {why}."""

    hint = "Sign in again; issuer, audience and keys are those of the settings [jwt]."


class SignatureInvalid(KeyInvalid, code="PS-401-SIGNATURE"):
    """The signature is not good: {why}."""

    hint = "Sign ID.TIMESTAMP.BODY with the secret by HMAC-SHA256; the clocks must agree within five minutes."


class TooMany(PenstockError, code="PS-429-RATE"):
    """{what} has used up its {rate} requests per minute."""

    hint = "Wait as long as Retry-After says, or ask for a higher rate."


class StrangerTooMany(TooMany):
    """More than {rate} calls in a minute from this address were not let in."""

    hint = "Wait as long as Retry-After says, and call with a key that is good."


class AccountTooMany(TooMany, code="PS-429-ACCOUNT"):
    """More than {rate} wrong secrets in a minute were given for this key."""

    hint = "Wait as long as Retry-After says, or sign in from where you have signed in before."


class HookTooMany(TooMany):
    """The webhook of «{name}» takes {requests} requests in {seconds} s, and they are used up."""

    hint = "Wait as long as Retry-After says."


class NotAllowed(PenstockError, code="PS-403-PERMISSION"):
    """{user} may not do this: it needs the permission «{permission}»."""

    hint = "`GET /api/v1/me` lists what you may do; an administrator can give you a role that may."


class NotOurPage(PenstockError, code="PS-403-PAGE"):
    """A change with a session's cookie comes from the console alone."""

    hint = "Programs send a key: «Authorization: Bearer ps_…». The console sends the header «X-Penstock: 1»."


class TenantConflict(PenstockError, code="PS-403-TENANT"):
    """«{name}» belongs to the tenant «{named}» (/tenant_id), and this is «{tenant}»."""

    hint = "Leave `tenant_id` out: the document is then for whoever releases it. Or release it for that tenant."


class TenantUnknown(PenstockError, code="PS-403-TENANT"):
    """There is no tenant «{tenant}» here, or it is not active."""

    hint = "The server's administrator makes tenants: POST /api/v1/tenants."


class TenantExists(PenstockError, code="PS-409-TENANT"):
    """There is a tenant «{tenant}» already."""

    hint = "`GET /api/v1/tenants` lists them."


class NotYours(PenstockError, code="PS-403-GIVE"):
    """{user} may not give what they do not have: «{permission}»."""

    hint = "Nobody can give rights that go beyond their own; ask an administrator."


class KeyNeeded(PenstockError, code="PS-401-KEY-NEEDED"):
    """«{user}» is only a name here: where four eyes are asked for, the command line needs a key."""

    hint = "Set PENSTOCK_KEY to a key of yours; `penstock keys make NAME --user USER` makes one."


class KeyNotFound(PenstockError, code="PS-404-KEY"):
    """There is no key «{id}»."""

    hint = "The list of keys has their ids; a key is ps_ID_SECRET."


class UserNotFound(PenstockError, code="PS-404-USER"):
    """There is no user «{user}»."""

    hint = "`penstock registry ls user` lists them."
