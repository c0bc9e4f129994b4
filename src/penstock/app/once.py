"""Idempotency keys: a request that is sent again is done once, and gets the answer that it got."""

from __future__ import annotations

import hashlib
import secrets

import msgspec
from msgspec.structs import replace

from penstock.errors import BadInput, IdempotencyConflict, RequestRunning
from penstock.host.clock import Clock, SystemClock
from penstock.store.contract import Store
from penstock.store.contract_admin import REQUESTS_KEPT_MS, RequestRow

_LONGEST = 200
#: after so long without an answer, whoever worked on it is not there any more
LEASE_MS = 60_000
_AGAIN_S = 1


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes


class Ticket:
    """A request that is ours to do. Either `done` or `dropped` is said of it at the end."""

    def __init__(self, store: Store, row: RequestRow) -> None:
        self._store, self._row = store, row

    def done(self, answer: Answer) -> None:
        """Whoever sends it again gets this."""
        kept = replace(
            self._row, status=answer.status, headers=msgspec.msgpack.encode(answer.headers), body=answer.body
        )
        self._store.answer_request(kept)

    def dropped(self) -> None:
        """Nothing came of it: it may be sent again, and is then done."""
        self._store.drop_request(self._row.tenant, self._row.key, self._row.holder)


class Once:
    """`alone`: no other process serves this store, so what another one has left was left by one that is dead."""

    def __init__(self, store: Store, clock: Clock | None = None, *, alone: bool = True) -> None:
        self._store, self._clock, self._alone = store, clock or SystemClock(), alone
        self._boot = secrets.token_hex(8)

    def begin(self, tenant: str, key: str, print: str) -> Answer | Ticket:
        """The answer that there is, or the ticket to make one. Raises IdempotencyConflict for a key of another
        request, RequestRunning while the same one is worked on. After a crash it may be done a second time: give what
        it starts a key that is made of this one."""
        if not 0 < len(key) <= _LONGEST or not key.isascii() or not key.isprintable():
            why = f"it has 1 to {_LONGEST} printable ASCII characters"
            raise BadInput(what="the Idempotency-Key", why=why, hint="A UUID will do.")
        now = self._clock.now()
        mine = RequestRow(tenant, key, print, f"{self._boot}:{secrets.token_hex(8)}", now)
        there = self._store.put_request(mine)
        if there is None:
            return Ticket(self._store, mine)
        if there.at <= now - REQUESTS_KEPT_MS:  # over, and not tidied yet
            return self._taken(mine, there)
        if there.fingerprint != print:
            raise IdempotencyConflict(key=key)
        if there.status is not None:
            headers = msgspec.msgpack.decode(there.headers or b"\x80", type=dict[str, str])
            return Answer(there.status, headers, there.body or b"")
        dead = self._alone and not there.holder.startswith(f"{self._boot}:")
        if dead or there.at <= now - LEASE_MS:
            return self._taken(mine, there)
        raise RequestRunning(key=key, retry_s=_AGAIN_S)

    def _taken(self, mine: RequestRow, there: RequestRow) -> Ticket:
        if not self._store.take_request(mine, there):
            raise RequestRunning(key=mine.key, retry_s=_AGAIN_S)
        return Ticket(self._store, mine)


def fingerprint(actor: str, method: str, path: str, body: bytes) -> str:
    """Who asks for what: the same key of somebody else is another request, and shows nobody another's answer."""
    parts = msgspec.msgpack.encode([actor, method.upper(), path, hashlib.sha256(body).digest()])
    return hashlib.sha256(parts).hexdigest()
