"""Idempotency keys: a request that is sent again is done once, and gets the answer that it got."""

from __future__ import annotations

import hashlib
import secrets

import msgspec
from msgspec.structs import replace

from penstock.errors import BadInput, IdempotencyConflict, RequestRunning
from penstock.host.clock import Clock, SystemClock
from penstock.store.access import REQUESTS_KEPT_MS, RequestRow
from penstock.store.contract import Store

_LONGEST = 200
#: after so long without an answer, whoever worked on it is not there any more
LEASE_MS = 60_000
_AGAIN_S = 1
#: how the keys begin that runs get from requests
_MADE = "idem:"


class StoredResponse(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes


class Ticket:
    """A request that is ours to do. One of `done`, `dropped` and `left` is said of it at the end."""

    def __init__(self, store: Store, row: RequestRow, working: set[str]) -> None:
        self._store, self._row, self._working = store, row, working
        working.add(row.holder)

    @property
    def run_key(self) -> str:
        """The key of what it starts: whoever sends it again, after a crash too, finds the same run."""
        row = self._row
        said = msgspec.msgpack.encode([row.tenant, row.key, row.fingerprint])
        return f"{_MADE}{hashlib.sha256(said).hexdigest()[:40]}"

    def done(self, answer: StoredResponse) -> None:
        """Whoever sends it again gets this."""
        kept = replace(
            self._row, status=answer.status, headers=msgspec.msgpack.encode(answer.headers), body=answer.body
        )
        try:
            self._store.answer_request(kept)
        finally:
            self.left()

    def dropped(self) -> None:
        """Certainly nothing came of it: it may be sent again, and is then done."""
        self._store.drop_request(self._row.tenant, self._row.key, self._row.holder)
        self.left()

    def left(self) -> None:
        """Nobody works on it any more, and nobody knows how far it got: only the same request may go on with it."""
        self._working.discard(self._row.holder)


class IdempotencyKeys:
    """`alone`: no other process serves this store, so what another one has left was left by one that is dead."""

    def __init__(self, store: Store, clock: Clock | None = None, *, alone: bool = True) -> None:
        self._store, self._clock, self._alone = store, clock or SystemClock(), alone
        self._working: set[str] = set()

    def begin(self, tenant: str, key: str, print: str) -> StoredResponse | Ticket:
        """The answer that there is, or the ticket to make one. Raises IdempotencyConflict for a key of another
        request, RequestRunning while the same one is worked on. After a crash it may be done a second time: give what
        it starts the ticket's `run_key`."""
        if not 0 < len(key) <= _LONGEST or not key.isascii() or not key.isprintable():
            why = f"it has 1 to {_LONGEST} printable ASCII characters"
            raise BadInput(what="the Idempotency-Key", why=why, hint="A UUID will do.")
        now = self._clock.now()
        mine = RequestRow(tenant, key, print, secrets.token_hex(16), now)
        there = self._store.put_request(mine)
        if there is None:
            return Ticket(self._store, mine, self._working)
        if there.at <= now - REQUESTS_KEPT_MS:  # over, and not tidied yet
            return self._taken(mine, there)
        if there.fingerprint != print:
            raise IdempotencyConflict(key=key)
        if there.status is not None:
            headers = msgspec.msgpack.decode(there.headers or b"\x80", type=dict[str, str])
            return StoredResponse(there.status, headers, there.body or b"")
        dead = self._alone and there.holder not in self._working
        if dead or there.at <= now - LEASE_MS:
            return self._taken(mine, there)
        raise RequestRunning(key=key, retry_s=_AGAIN_S)

    def _taken(self, mine: RequestRow, there: RequestRow) -> Ticket:
        if not self._store.take_request(mine, there):
            raise RequestRunning(key=mine.key, retry_s=_AGAIN_S)
        return Ticket(self._store, mine, self._working)


def shown_key(key: str | None) -> str | None:
    """A run's key for people: one that was made of a request says nothing to them."""
    return None if key is not None and key.startswith(_MADE) else key


def fingerprint(actor: str, method: str, path: str, body: bytes) -> str:
    """Who asks for what: the same key of somebody else is another request, and shows nobody another's answer."""
    parts = msgspec.msgpack.encode([actor, method.upper(), path, hashlib.sha256(body).digest()])
    return hashlib.sha256(parts).hexdigest()
