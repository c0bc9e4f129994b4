"""API keys: ps_ID_SECRET. The secret is shown once, when it is made; the store has only its hash."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from penstock.app.access.names import folded, same_user
from penstock.app.access.roles import ADMIN, in_our_words
from penstock.errors import BadInput, KeyExpired, KeyInvalid, KeyNotFound, KeyRevoked, StoreError, TooMany
from penstock.host.clock import Clock, SystemClock
from penstock.store.access import KeyRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

_FORM = re.compile(r"ps_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_MINUTE = 60_000
_MOST = 10_000  # of those whose rate is known, before those are forgotten who have all of it
_NAME = 200
#: compared with when there is no such key, so that it takes as long
_NOBODY = hashlib.sha256(b"").hexdigest()

_pack = msgspec.msgpack.Encoder().encode


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key. `roles` it has besides those of its user; `scopes` are all that it may use, None: all
    that its roles allow; `rate` is in requests per minute. Only one that `approves` makes its holder the second pair of
    eyes: made by its user, who came with one that does, or vouched for by the operator of this machine."""

    id: str
    tenant: str
    name: str
    user: str
    roles: tuple[str, ...]
    scopes: frozenset[str] | None
    rate: int | None
    created_at: int
    created_by: str
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None
    approves: bool


class ApiKeys:
    """The keys of a store. Making, listing and revoking is for the door's tenant; a token says itself whose it is."""

    def __init__(self, door: Queries, clock: Clock | None = None) -> None:
        self.door, self.clock = door, clock or SystemClock()
        self.rates = RateLimits()

    def create(
        self, name: str, *, user: str, by: str, roles: Iterable[str] = (), scopes: Iterable[str] | None = None,
        expires_at: int | None = None, rate: int | None = None, approves: bool | None = None,
    ) -> tuple[ApiKey, str]:  # fmt: skip
        """A new key, and its token, which cannot be shown again. `approves`: see `ApiKey`; unless it is said, a key
        that somebody made for themselves does."""
        now = self.clock.now()
        allowed = None if scopes is None else _scopes(scopes)
        if not name.strip() or not folded(user) or max(len(name), len(user)) > _NAME:
            raise BadInput(what="the key", why=f"its name and its user have 1 to {_NAME} characters")
        if expires_at is not None and expires_at <= now:
            raise BadInput(what="the key", why="it would have expired already", hint="Give a time that is to come.")
        if rate is not None and rate < 1:
            raise BadInput(what="the key", why="its rate is less than one request per minute")
        id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        row = KeyRow(
            id, self.door.tenant, name, user, _hash(secret), _pack(list(roles)),
            None if allowed is None else _pack(sorted(allowed)), rate, now, by, expires_at,
            approves=int(same_user(user, by) if approves is None else approves),
        )  # fmt: skip
        added = self.door.store.add_key(row)
        assert added, "64 random bits do not come twice"
        return _key(row), f"ps_{id}_{secret}"

    def each(self) -> list[ApiKey]:
        """The keys of the tenant, oldest first."""
        return [_key(row) for row in self.door.store.keys(self.door.tenant)]

    def revoke(self, id: str) -> ApiKey:
        """Make a key invalid from now on. Raises KeyNotFound, also for another tenant's; again changes nothing."""
        store, tenant = self.door.store, self.door.tenant
        store.revoke_key(tenant, id, self.clock.now())
        row = store.key(id)
        if row is None or row.tenant != tenant:
            raise KeyNotFound(id=id)
        return _key(row)

    def revoke_of(self, user: str) -> list[ApiKey]:
        """Revoke every valid key of a user who is removed; the keys that were revoked."""
        return [self.revoke(key.id) for key in self.each() if same_user(key.user, user) and key.revoked_at is None]

    def verified(self, token: str) -> ApiKey:
        """The key of a token. Raises KeyInvalid, KeyExpired, KeyRevoked, TooMany."""
        match = _FORM.fullmatch(token)
        if match is None:
            raise KeyInvalid(why="it does not have the form ps_ID_SECRET")
        row = self.door.store.key(match[1])
        right = hmac.compare_digest(_hash(match[2]), _NOBODY if row is None else row.hash)
        if row is None or not right:
            raise KeyInvalid(why="there is no such key", id="" if row is None else row.id)
        return self._used(row)

    def still(self, id: str) -> ApiKey:
        """The key that a session was opened with. Raises KeyInvalid, KeyExpired, KeyRevoked, TooMany."""
        row = self.door.store.key(id)
        if row is None:
            raise KeyInvalid(why="there is no such key")
        return self._used(row)

    def _used(self, row: KeyRow) -> ApiKey:
        now = self.clock.now()
        if row.revoked_at is not None:
            raise KeyRevoked(id=row.id)
        if row.expires_at is not None and row.expires_at <= now:
            raise KeyExpired(id=row.id)
        if row.rate is not None:
            self.rates.take(f"key:{row.id}", f"The key «{row.name}»", row.rate, now)
        if now - (row.last_used_at or 0) >= _MINUTE:
            with contextlib.suppress(StoreError):  # a full disk keeps nobody out
                self.door.store.key_used(row.id, now, now - _MINUTE + 1)
        return _key(row)


def account_of(token: str) -> str:
    """The id of the key that a token claims to be; empty when it has no such form."""
    match = _FORM.fullmatch(token)
    return match[1] if match is not None else ""


class RateLimits:
    """Limits of requests per minute in this process: one bucket per name, refilled evenly."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, int]] = {}  # what is left, and when that was

    def left(self, name: str, rate: int, now: int) -> int:
        """The number of requests that are left now."""
        return int(self._now(name, rate, now))

    def _now(self, name: str, rate: int, now: int) -> float:
        left, at = self._left.get(name, (float(rate), now))
        return min(float(rate), left + max(0, now - at) * rate / _MINUTE)

    def _tidy(self, now: int) -> None:
        """Drop buckets that are full again after a minute; where all are in use, the oldest tenth."""
        in_use = [(name, bucket) for name, bucket in self._left.items() if now - bucket[1] < _MINUTE]
        self._left = dict(in_use[_MOST // 10 :] if len(in_use) >= _MOST else in_use)

    def take(self, name: str, what: str, rate: int, now: int) -> None:
        """Take one request. Raises TooMany, with the seconds until the next one is allowed."""
        left = self._now(name, rate, now)
        if name not in self._left and len(self._left) >= _MOST:
            self._tidy(now)
        if left < 1:
            self._left[name] = (left, now)
            raise TooMany(what=what, rate=rate, retry_s=max(1, -int(-(1 - left) * 60 // rate)))
        self._left[name] = (left - 1, now)


def first_key(door: Queries, store: Path, clock: Clock | None = None) -> Path | None:
    """The first start makes a key for the administrator; the file that it is in, for its owner's eyes only. None when
    there are keys. The file comes first: a crash in between leaves no key that nobody knows."""
    if door.store.has_keys():
        return None
    now, path = (clock or SystemClock()).now(), store.with_name(f"{store.name}.admin-key")
    id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    _write(path, f"ps_{id}_{secret}\n")
    door.store.add_key(
        KeyRow(
            id, door.tenant, "the first key", ADMIN, _hash(secret), _pack([ADMIN]), None, None, now, ADMIN, approves=1
        )
    )
    return path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f"{path.name}.new")
    half.unlink(missing_ok=True)
    with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)


def _scopes(given: Iterable[str]) -> frozenset[str]:
    asked = list(given)
    unknown = [permission for permission in asked if not in_our_words([permission])]
    if unknown:
        raise BadInput(what="the key", why=f"«{unknown[0]}» is no permission", hint="`GET /api/v1/me` lists yours.")
    return in_our_words(asked)


def _hash(secret: str) -> str:
    """The hash of a secret. A secret has 256 random bits, so a fast hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _key(row: KeyRow) -> ApiKey:
    unpack = msgspec.msgpack.decode
    return ApiKey(
        id=row.id, tenant=row.tenant, name=row.name, user=row.user, roles=tuple(unpack(row.roles)),
        scopes=None if row.scopes is None else frozenset(unpack(row.scopes)), rate=row.rate, created_at=row.created_at,
        created_by=row.created_by, expires_at=row.expires_at, revoked_at=row.revoked_at, last_used_at=row.last_used_at,
        approves=same_user(row.user, row.created_by) if row.approves is None else bool(row.approves),
    )  # fmt: skip
