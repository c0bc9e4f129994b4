"""Tokens of the company's own sign-in: JWTs, checked by issuer, audience, time and the issuer's public keys."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
import msgspec

from penstock.app.access.roles import in_our_words
from penstock.errors import BadInput, PenstockError, TokenInvalid

#: with public keys only: a secret that both sides know would let every verifier make tokens
ALGORITHMS = ("RS256", "ES256", "EdDSA")
_KINDS = {"RS256": "RSA", "ES256": "EC", "EdDSA": "OKP"}
_PATIENCE_S = 3.0
_LARGEST = 1_000_000
#: of the issuer's keys: not asked more often than this, and asked anew after an hour
ASK_S, FRESH_S = 60.0, 3600.0
_HERE = ("127.0.0.1", "::1", "localhost")
_LONGEST = 16_384  # characters of a token


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`[jwt]` in settings.toml. A claim may be a path, such as realm_access.roles."""

    issuer: str
    audience: str
    #: a file, or a URL
    jwks: str
    algorithms: tuple[str, ...] = ALGORITHMS
    #: everybody's tenant; else the claim says it
    tenant: str = ""
    tenant_claim: str = "tenant"
    user_claim: str = "sub"
    roles_claim: str = "roles"
    #: the only permissions that the token may use; empty: those of its roles
    permissions_claim: str = ""
    #: the number of the one organisation of the tenant that the token is for; empty: what the registry says
    organization_claim: str = ""
    leeway_s: int = 30


class Claims(msgspec.Struct, frozen=True):
    tenant: str
    user: str
    roles: tuple[str, ...]
    permissions: frozenset[str] | None = None
    #: in milliseconds
    until: int = 0
    organization: int | None = None


def read_settings(settings: Mapping[str, Any], folder: Path | None = None) -> Settings | None:
    """From the machine's settings, `jwt.issuer` and so on; None where there are none. Raises BadInput."""
    values = {name.removeprefix("jwt."): value for name, value in settings.items() if name.startswith("jwt.")}
    if not values:
        return None
    unknown = [name for name in values if name not in Settings.__struct_fields__]
    if unknown:
        raise BadInput(what="[jwt]", why=f"«{unknown[0]}» is not known", hint=", ".join(Settings.__struct_fields__))
    try:
        jwt_settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise BadInput(what="[jwt]", why=str(error), hint="It needs issuer, audience and jwks.") from error
    weak = [name for name in jwt_settings.algorithms if name not in ALGORITHMS]
    if weak or not jwt_settings.algorithms:
        why = f"«{weak[0]}» is not accepted" if weak else "there is none"
        raise BadInput(what="[jwt] algorithms", why=why, hint=f"Choose of {', '.join(ALGORITHMS)}.")
    if not jwt_settings.issuer or not jwt_settings.audience:
        raise BadInput(what="[jwt]", why="issuer and audience may not be empty")
    where = urlsplit(jwt_settings.jwks)
    if "://" in jwt_settings.jwks and where.scheme != "https" and where.hostname not in _HERE:
        raise BadInput(what="[jwt] jwks", why="anybody on the way could change it", hint="Use https, or a file.")
    if folder is not None and "://" not in jwt_settings.jwks:
        jwt_settings = msgspec.structs.replace(jwt_settings, jwks=str(folder / jwt_settings.jwks))
    return jwt_settings


class Keyring:
    """The issuer's public keys, kept; asked for anew when a token names one that is not there, once a minute."""

    def __init__(self, source: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._source, self._clock = source, clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked: float | None = None
        self._lock = threading.Lock()

    def needs_asking(self, kid: str | None) -> bool:
        """Whether the keys may and should be read again before this one is looked up."""
        since = None if self._asked is None else self._clock() - self._asked
        return since is None or since >= FRESH_S or since >= ASK_S and self.find(kid) is None

    def find(self, kid: str | None) -> jwt.PyJWK | None:
        """By its name; a token without one fits only where there is a single key."""
        if kid is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(kid)

    def ask(self) -> None:
        """Reads the keys again, from a file or a server; it blocks. When that fails, the known keys stay."""
        with self._lock:
            if self._asked is not None and self._clock() - self._asked < ASK_S:
                return
            self._asked = self._clock()
            try:
                keys = _keys_in(_load(self._source))
            except (OSError, ValueError, msgspec.DecodeError, PenstockError):
                keys = {}
            self._keys = keys or self._keys


class Tokens:
    def __init__(self, settings: Settings, keyring: Keyring | None = None) -> None:
        self.settings = settings
        self.keyring = keyring or Keyring(settings.jwks)

    def verified(self, token: str) -> Claims:
        """Raises TokenInvalid. It may block for the issuer's keys; in an event loop use `verified_soon`."""
        header = self._header(token)
        if self.keyring.needs_asking(header.get("kid")):
            self.keyring.ask()
        return self._claims(token, header)

    async def verified_soon(self, token: str) -> Claims:
        """The same without blocking the event loop."""
        header = self._header(token)
        if self.keyring.needs_asking(header.get("kid")):
            await asyncio.to_thread(self.keyring.ask)
        return self._claims(token, header)

    def _header(self, token: str) -> dict[str, Any]:
        """The token's header, which is not verified yet."""
        try:
            if len(token) > _LONGEST:
                raise jwt.InvalidTokenError
            header: dict[str, Any] = jwt.get_unverified_header(token)
        except (jwt.InvalidTokenError, ValueError) as error:
            raise TokenInvalid(why="it is no JWT") from error
        if header.get("alg") not in self.settings.algorithms or not isinstance(header.get("kid", ""), str):
            raise TokenInvalid(why="it is signed in a way that is not accepted")
        return header

    def _claims(self, token: str, header: Mapping[str, Any]) -> Claims:
        key, settings, alg = self.keyring.find(header.get("kid")), self.settings, str(header["alg"])
        if key is None or key.algorithm_name != alg:
            raise TokenInvalid(why="its key is not one of the issuer's")
        try:
            claims = jwt.decode(
                token, key.key, algorithms=[alg], issuer=settings.issuer, audience=settings.audience,
                leeway=settings.leeway_s, options={"require": ["exp", "iss", "aud"]},
            )  # fmt: skip
        except jwt.ExpiredSignatureError as error:
            raise TokenInvalid(why="it has expired") from error
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
            raise TokenInvalid(why=_why(error)) from error
        return self._read(claims)

    def _read(self, claims: Mapping[str, Any]) -> Claims:
        """Raises TokenInvalid for a token without a tenant or a user: nothing is guessed."""
        settings = self.settings
        tenant, user = settings.tenant or _at(claims, settings.tenant_claim), _at(claims, settings.user_claim)
        for name, value in ((settings.tenant_claim, tenant), (settings.user_claim, user)):
            if not isinstance(value, str) or not value.strip():
                raise TokenInvalid(why=f"it does not say «{name}»")
        permissions = None
        if settings.permissions_claim:
            permissions = in_our_words(_names(_at(claims, settings.permissions_claim)))
        roles = _names(_at(claims, settings.roles_claim))
        return Claims(str(tenant), str(user), roles, permissions, _millis(claims["exp"]), self._organization(claims))

    def _organization(self, claims: Mapping[str, Any]) -> int | None:
        """F-X.22. A token that should say one and does not is not taken for one of the whole tenant."""
        name = self.settings.organization_claim
        if not name:
            return None
        number = _at(claims, name)
        if isinstance(number, str) and number.isascii() and number.isdecimal() and len(number) < 19:
            return int(number)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**63:
            raise TokenInvalid(why=f"it does not say «{name}»")
        return number


def _millis(seconds: Any) -> int:
    """A time that is too far away for a number is far away."""
    try:
        return min(int(seconds) * 1000, 2**62)
    except OverflowError:
        return 2**62


def _why(error: Exception) -> str:
    named = {
        jwt.InvalidAudienceError: "it is for another audience", jwt.InvalidIssuerError: "it is of another issuer",
        jwt.ImmatureSignatureError: "it is not valid yet", jwt.MissingRequiredClaimError: "a claim is missing",
        jwt.InvalidSignatureError: "its signature is not the issuer's",
    }  # fmt: skip
    return next((text for kind, text in named.items() if isinstance(error, kind)), "it cannot be read")


def _at(claims: Mapping[str, Any], path: str) -> Any:
    """By its whole name first: a claim may be called https://example.com/tenant."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def _load(source: str) -> bytes:
    if "://" not in source:
        return Path(source).read_bytes()
    import httpx2

    try:
        with httpx2.stream("GET", source, timeout=_PATIENCE_S, follow_redirects=False) as response:
            response.raise_for_status()
            body = b""
            for part in response.iter_bytes():
                body += part
                if len(body) > _LARGEST:
                    raise ValueError("the issuer's keys are too large")
            return body
    except httpx2.HTTPError as error:
        raise OSError(str(error)) from error


def _keys_in(body: bytes) -> dict[str, jwt.PyJWK]:
    """Those that sign; one that we cannot use does not keep us from the others."""
    key_set = msgspec.json.decode(body)
    listed = key_set.get("keys") if isinstance(key_set, Mapping) else None
    keys: dict[str, jwt.PyJWK] = {}
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or entry.get("kty") not in _KINDS.values():
            continue
        try:
            key = jwt.PyJWK.from_dict(entry)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
        keys[str(entry.get("kid") or f"#{len(keys)}")] = key
    return keys
