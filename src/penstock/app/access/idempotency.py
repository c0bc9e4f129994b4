"""Idempotency keys: a repeated request is executed once and gets the first answer again."""

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
    """A request that this process executes. It ends with one of `done`, `dropped` and `left`."""

    def __init__(self, store: Store, row: RequestRow, working: set[str]) -> None:
        self._store, self._row, self._working = store, row, working
        working.add(row.holder)

    @property
    def run_key(self) -> str:
        """The key of the run it starts: the same request sent again, after a crash too, finds the same run."""
        row = self._row
        identity = msgspec.msgpack.encode([row.tenant, row.key, row.fingerprint])
        return f"{_MADE}{hashlib.sha256(identity).hexdigest()[:40]}"

    def done(self, answer: StoredResponse) -> None:
        """Keep the answer for the same request sent again."""
        kept = replace(
            self._row, status=answer.status, headers=msgspec.msgpack.encode(answer.headers), body=answer.body
        )
        try:
            self._store.answer_request(kept)
        finally:
            self.left()

    def dropped(self) -> None:
        """The request had no effect: sent again, it is executed."""
        self._store.drop_request(self._row.tenant, self._row.key, self._row.holder)
        self.left()

    def left(self) -> None:
        """The request stopped at an unknown point: only the same request may continue it."""
        self._working.discard(self._row.holder)


class IdempotencyKeys:
    """The idempotency keys of a store. `alone`: no other process serves it, so another holder of a request is dead."""

    def __init__(self, store: Store, clock: Clock | None = None, *, alone: bool = True) -> None:
        self._store, self._clock, self._alone = store, clock or SystemClock(), alone
        self._working: set[str] = set()

    def begin(self, tenant: str, key: str, print: str) -> StoredResponse | Ticket:
        """The stored answer, or a ticket to execute the request. Raises IdempotencyConflict for a key of another
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
    """A run's key as people see it; a key derived from a request is hidden."""
    return None if key is not None and key.startswith(_MADE) else key


def fingerprint(actor: str, method: str, path: str, body: bytes) -> str:
    """A hash of the caller and the request: another caller's request with the same key never gets this answer."""
    parts = msgspec.msgpack.encode([actor, method.upper(), path, hashlib.sha256(body).digest()])
    return hashlib.sha256(parts).hexdigest()
